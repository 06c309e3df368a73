"""Commands that play on a service: simulate-players, load."""

from __future__ import annotations

import itertools
import json
import math
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pairup.cli.app import LOCAL_URL, AsJson, Key, Seed, Url, app
from pairup.cli.output import print_rows, show
from pairup.errors import ClientError, ExperimentError

if TYPE_CHECKING:
    from pairup.client.demo import Crowd, PlayedRound

_PRINT_EVERY_S = 10.0  # where no terminal shows a line that changes


@app.command("simulate-players")
def simulate_players(  # noqa: PLR0913 - a parameter is an option
    url: Url = LOCAL_URL,
    pool: Annotated[
        str, typer.Option(help="Pool to play in; it is created if it does not exist.")
    ] = "demo",
    theta: Annotated[str, typer.Option(help="Acceptance rates, such as 0.9,0.5,0.2.")] = "",
    players: Annotated[
        int | None, typer.Option(help="Number of players, instead of --theta.", show_default="24")
    ] = None,
    distribution: Annotated[
        str, typer.Option(help="Distribution of the rates of players and newcomers.")
    ] = "beta:2,3",
    churn: Annotated[
        float, typer.Option(help="Probability that a player leaves in a round.")
    ] = 0.01,
    away: Annotated[
        float, typer.Option(help="Probability that a player is away for a round.")
    ] = 0.0,
    late: Annotated[float, typer.Option(help="Probability that a game is reported late.")] = 0.02,
    twice: Annotated[float, typer.Option(help="Probability that a game is reported twice.")] = 0.01,
    contradict: Annotated[
        float, typer.Option(help="Probability that a second report contradicts the first.")
    ] = 0.01,
    rated: Annotated[
        bool,
        typer.Option(
            "--rated",
            help="Give players ratings and regions; a pool that is created has rules on them.",
        ),
    ] = False,
    patience: Annotated[
        float | None,
        typer.Option(
            help="Seconds without a game after which a player leaves.", show_default="without end"
        ),
    ] = None,
    outcomes: Annotated[
        bool, typer.Option("--outcomes", help="Report outcomes instead of each player's answer.")
    ] = False,
    rounds: Annotated[
        int | None, typer.Option(help="Number of rounds.", show_default="until Ctrl-C")
    ] = None,
    pace: Annotated[float, typer.Option(help="Seconds per round.")] = 0.5,
    game: Annotated[
        float, typer.Option(help="Seconds that a game lasts; 0: players wait again at once.")
    ] = 0.0,
    lifetime: Annotated[float, typer.Option(help="Seconds until a proposal expires.")] = 5.0,
    wait: Annotated[float, typer.Option(help="Seconds to wait for the service to start.")] = 0.0,
    key: Key = None,
    among_others: Annotated[
        bool, typer.Option("--among-others", help="Play in a pool that has other players too.")
    ] = False,
    seed: Seed = 0,
) -> None:
    """Simulate players who join a service, play, leave, report late and contradict themselves.

    Open the service's address in a browser to watch. Ctrl-C or SIGTERM ends it.

    Example: pairup simulate-players --url http://localhost:8000 --theta 0.9,0.8,0.5,0.3,0.2,0.1
    """
    try:
        from pairup.client import Client, Patience, UnreachableError
        from pairup.client.demo import Habits, Pace, Simulation
    except ModuleNotFoundError as error:
        raise ClientError(str(error)) from None

    signal.signal(signal.SIGTERM, _end)
    habits = Habits(
        churn=churn,
        late=late,
        twice=twice,
        contradict=contradict,
        away=away,
        patience_s=patience,
        answers=not outcomes,
    )
    crowd = _crowd(theta, players, distribution, seed, rated=rated)
    # As many tries as there is time for.
    waiting = Patience(tries=10**9, pause_s=1.0, max_pause_s=1.0, max_wait_s=wait)
    with Client(url, key, waiting) as first:
        first.ready()
    with Client(url, key, Patience(tries=10)) as client:  # outlasts a restart of the service
        simulation = Simulation(
            client, pool, crowd, habits, Pace(round_s=pace, game_s=game, lifetime_s=lifetime)
        )
        simulation.begin(among_others)
        count = len(crowd.rates)
        show(f"{count} players in pool {pool!r}: {client.url}/pools/{pool}", soft_wrap=True)
        _watch(simulation, rounds)
    # Ctrl-C may have ended the service too: then there is nobody left to send away.
    with Client(url, key, Patience(tries=1)) as last, suppress(UnreachableError):
        simulation.end(last)


@app.command()
def load(
    url: Url = LOCAL_URL,
    key: Key = None,
    pools: Annotated[int, typer.Option(help="Number of pools; each is played by one thread.")] = 4,
    players: Annotated[int, typer.Option(help="Number of players of each pool.")] = 100,
    seconds: Annotated[float, typer.Option(help="Seconds that it lasts at most.")] = 10.0,
    requests: Annotated[
        int, typer.Option(help="Number of requests at most, of all pools together.")
    ] = 100_000,
    confirm_host: Annotated[
        str | None,
        typer.Option(help="Host of the address, to be repeated where it is another machine."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put load on a service: how many requests it answers, and how fast.

    Pools of its own are made, played as fast as the service answers, and deleted. Their logs stay
    in the database, so use one for tests. Exit code 1 says that some requests failed.

    Example: pairup load --pools 8 --players 200 --seconds 30
    """
    try:
        from pairup.client.load import Load, run_load
    except ModuleNotFoundError as error:
        raise ClientError(str(error)) from None

    signal.signal(signal.SIGTERM, _end)
    found = run_load(url, key, Load(pools, players, seconds, requests), confirm_host)
    rows = found["operations"]
    failed = any(row["errors"] for row in rows)
    if as_json:
        typer.echo(json.dumps(found, indent=1))
    else:
        for row in rows:
            row["errors"] = ", ".join(f"{count} {kind}" for kind, count in row["errors"].items())
        print_rows(rows, list(rows[0]), as_json)
        line = f"{found['games_per_s']:,} games and {found['outcomes_per_s']:,} outcomes per second"
        show(f"{line}, {pools} pools of {players} players, {found['seconds']} s", highlight=False)
    if failed:
        raise typer.Exit(1)


def _end(number: int, frame: FrameType | None) -> None:
    """End as Ctrl-C does, at the first SIGTERM: a group's end may reach each process twice."""
    signal.signal(number, signal.SIG_IGN)
    signal.default_int_handler(number, frame)


def _crowd(theta: str, players: int | None, distribution: str, seed: int, *, rated: bool) -> Crowd:
    from pairup.client.demo import Crowd
    from pairup.problem import Problem
    from pairup.problem.rates import parse_distribution

    if not theta:
        shape = parse_distribution(distribution)
        rates = Problem.random(players or 24, seed, shape).rates.tolist()
        return Crowd(rates, shape, seed, rated)
    if players is not None:
        raise ExperimentError(
            f"--theta says how many players there are: leave out --players {players}"
        )
    try:
        rates = [float(rate) for rate in theta.split(",")]
    except ValueError:
        raise ExperimentError(f"rates are numbers such as 0.9,0.5,0.2, got {theta!r}") from None
    return Crowd(rates, None, seed, rated)


def _watch(simulation: Iterable[PlayedRound], rounds: int | None) -> None:
    """Show the share of games played, until the rounds are over or Ctrl-C."""
    console, line, printed = Console(), "no round was played", time.monotonic()
    games = played = random = best = 0.0
    try:
        with console.status("players are joining") as status:
            for each in itertools.islice(simulation, rounds):
                games, played = games + each.games, played + each.played
                random, best = random + each.random, best + each.best
                share = played / max(games, 1.0)
                line = f"round {each.round + 1}: {share:.1%} of {games:,.0f} games played"
                if not math.isnan(random):
                    line += f"; random pairing {random / games:.1%}, "
                    line += f"best possible {best / games:.1%}"
                status.update(line)
                if not console.is_terminal and time.monotonic() - printed >= _PRINT_EVERY_S:
                    console.print(line, soft_wrap=True, highlight=False)
                    printed = time.monotonic()
    except KeyboardInterrupt:
        pass  # the usual end, unless --rounds is given
    console.print(line, soft_wrap=True, highlight=False)
