"""The command that lets simulated players use a service."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pairup.cli.app import Seed, app
from pairup.cli.output import show
from pairup.errors import ExperimentError

if TYPE_CHECKING:
    from pairup.client.simulated_players import Played

_SAY_EVERY_S = 10.0  # where no terminal shows a line that changes


@app.command("simulate-players")
def simulate_players(  # noqa: PLR0913 - a parameter is an option
    url: Annotated[str, typer.Option(help="Address of the service.")] = "http://localhost:8000",
    pool: Annotated[str, typer.Option(help="Pool to play in; made where there is none.")] = "demo",
    theta: Annotated[str, typer.Option(help="Acceptance rates, as 0.9,0.5,0.2.")] = "",
    players: Annotated[
        int | None, typer.Option(help="In place of --theta, players.", show_default="24")
    ] = None,
    law: Annotated[str, typer.Option(help="Their rates' law, and newcomers'.")] = "beta:2,3",
    churn: Annotated[float, typer.Option(help="Of a player in a round, to leave.")] = 0.01,
    away: Annotated[float, typer.Option(help="Of a player in a round, to be away.")] = 0.0,
    late: Annotated[float, typer.Option(help="Of a game, to be reported late.")] = 0.02,
    twice: Annotated[float, typer.Option(help="Of a game, to be reported twice.")] = 0.01,
    contradict: Annotated[
        float, typer.Option(help="Of a game, to be reported again, otherwise.")
    ] = 0.01,
    outcomes: Annotated[
        bool, typer.Option("--outcomes", help="Report outcomes, not each player's answer.")
    ] = False,
    rounds: Annotated[int | None, typer.Option(help="Rounds.", show_default="until Ctrl-C")] = None,
    pace: Annotated[float, typer.Option(help="Seconds of a round.")] = 0.5,
    game: Annotated[
        float, typer.Option(help="Seconds that a game lasts; 0: players wait again at once.")
    ] = 0.0,
    lifetime: Annotated[float, typer.Option(help="Seconds until a proposal expires.")] = 5.0,
    wait: Annotated[float, typer.Option(help="Seconds to wait for the service to start.")] = 0.0,
    key: Annotated[
        str | None, typer.Option(envvar="PAIRUP_KEY", help="An API key, where one is needed.")
    ] = None,
    among_others: Annotated[
        bool, typer.Option("--among-others", help="Play in a pool that has other players too.")
    ] = False,
    seed: Seed = 0,
) -> None:
    """Let simulated players join a service, play, leave, be late and contradict themselves.

    Open the service's address in a browser to watch. Ctrl-C ends it.

    Example: pairup simulate-players --url http://localhost:8000 --theta 0.9,0.8,0.5,0.3,0.2,0.1
    """
    from pairup.client import Client, Patience, UnreachableError
    from pairup.client.simulated_players import Crowd, Habits, Pace, Simulation, parse_law
    from pairup.problem import Problem

    habits = Habits(churn, late, twice, contradict, away, answers=not outcomes)
    if theta and players is not None:
        raise ExperimentError(
            f"--theta says how many players there are: leave out --players {players}"
        )
    shape = None if theta else parse_law(law)
    rates = _rates(theta) if shape is None else Problem.random(players or 24, seed, shape).rates
    crowd = Crowd([float(rate) for rate in rates], shape, seed)
    waiting = Patience(tries=1 + round(wait / 0.5), pause_s=0.5, longest_pause_s=0.5)
    with Client(url, key, waiting) as first:
        first.ready()
    with Client(url, key, Patience(tries=8)) as client:  # outlasts a restart of the service
        simulation = Simulation(client, pool, crowd, habits, Pace(pace, game, lifetime))
        simulation.begin(among_others)
        show(f"{len(rates)} players in pool {pool!r}: {client.url}/pools/{pool}", soft_wrap=True)
        _watch(simulation, rounds)
    # Ctrl-C may have ended the service too: then nobody is left who could be proposed to anyone.
    with Client(url, key, Patience(tries=1)) as last, suppress(UnreachableError):
        simulation.end(last)


def _rates(theta: str) -> list[float]:
    try:
        return [float(rate) for rate in theta.split(",")]
    except ValueError:
        raise ExperimentError(f"rates are numbers such as 0.9,0.5,0.2, got {theta!r}") from None


def _watch(simulation: Iterable[Played], rounds: int | None) -> None:
    """Show how simulated players fare, until they are done or Ctrl-C."""
    console, line, said = Console(), "no round played", time.monotonic()
    games = played = random = best = 0.0
    try:
        with console.status("players join") as status:
            for each in itertools.islice(simulation, rounds):
                games, played = games + each.games, played + each.played
                random, best = random + each.random, best + each.best
                line = (
                    f"round {each.round + 1}: {played / games:.1%} of {games:,.0f} games played; "
                    f"random pairing {random / games:.1%}, best possible {best / games:.1%}"
                )
                status.update(line)
                if not console.is_terminal and time.monotonic() - said >= _SAY_EVERY_S:
                    console.print(line, soft_wrap=True, highlight=False)
                    said = time.monotonic()
    except KeyboardInterrupt:
        pass  # how it ends, unless rounds are given
    console.print(line, soft_wrap=True, highlight=False)
