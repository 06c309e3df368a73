"""The command line: thin, each command a few calls of the library."""

from __future__ import annotations

import dataclasses
import itertools
import json
import shlex
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pairup.errors import ExperimentError, PairupError

if TYPE_CHECKING:
    import polars as pl

    from pairup.costs import Costs
    from pairup.experiment import Experiment
    from pairup.simulated_players import Played
    from pairup.standings import Standing

app = typer.Typer(
    name="pairup",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
_settings = {"debug": False}
_SAY_EVERY_S = 10.0  # where no terminal shows a line that changes
_WIDE = 100  # letters of a terminal in which curves have room

_PAPER = ("experiment-1", "experiment-2")
_PROBLEM = "around:mean=0.5,pairs=4,gap=0.1"  # of a race where none is given
_RACE_ROUNDS = 100_000
_QUICK = {"rounds": 100_000, "replications": 8}

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Dask = Annotated[
    str, typer.Option(metavar="ADDRESS", help="Run on the Dask cluster of this scheduler.")
]
Replications = Annotated[int, typer.Option(help="Replications of each policy.")]
Seed = Annotated[int, typer.Option(help="Seed of all random numbers.")]
Database = Annotated[
    str | None, typer.Option(help="A file of SQLite, or postgresql://...; pairup.db.")
]


def main() -> None:
    """Run the command line; errors of the user's making are one line and exit code 1."""
    try:
        app()
    except PairupError as error:
        if _settings["debug"]:
            raise
        typer.echo(f"pairup: {error}", err=True)
        sys.exit(1)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pairup {version('pairup')}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Learn who to pair with whom.

    Exit codes: 0 done, 1 an error that one line explains, 2 wrong usage, 130 interrupted.
    """
    _settings["debug"] = debug


@app.command()
def reproduce(
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    quick: Annotated[bool, typer.Option("--quick", help="Small, in under two minutes.")] = False,
    dask: Dask = "",
) -> None:
    """Run the paper's two experiments, draw its figures, check its claims, write one page.

    Stop it as you like: the same command goes on where it was.

    Example: pairup reproduce --quick --out results
    """
    from pairup.experiment import load_experiment

    experiments = [load_experiment(name) for name in _PAPER]
    if quick:
        experiments = [each.scaled(**_QUICK) for each in experiments]
    folders = [out / each.name for each in experiments]
    with _engine(dask) as executor:
        for experiment, folder in zip(experiments, folders, strict=True):
            _run(experiment, folder, executor)
    _report(folders, out)


@app.command()
def run(
    file: Annotated[str, typer.Argument(help="A TOML file, or a shipped experiment's name.")],
    out: Annotated[Path, typer.Option(help="Folder of the results.")],
    dask: Dask = "",
    as_json: AsJson = False,
) -> None:
    """Run an experiment, or what is left of it, into a folder.

    Example: pairup run my-experiment.toml --out results/mine
    """
    from pairup.experiment import load_experiment
    from pairup.results import load_results

    experiment = load_experiment(file)
    with _engine(dask) as executor:
        summary = _run(experiment, out, executor)
    _show_finals(load_results(out), as_json)
    if not as_json:
        _show(
            f"{summary.computed} blocks computed, {summary.reused} reused, "
            f"{summary.seconds:.1f} s; results in {out}"
        )


@app.command()
def race(  # noqa: PLR0913 - a parameter is an option
    policies: Annotated[
        list[str] | None, typer.Argument(help="Policies as name or name:option=value,...")
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help="Every policy, on the problems of experiment field.")
    ] = False,
    problem: Annotated[
        str,
        typer.Option(
            help="A problem as family:parameter=value,...",
            show_default=f"{_PROBLEM}; with --all those of field",
        ),
    ] = "",
    rates: Annotated[str, typer.Option(help="Acceptance rates in place of --problem.")] = "",
    rounds: Annotated[
        int | None,
        typer.Option(
            help="Rounds of each replication.", show_default="100,000; with --all 1,000,000"
        ),
    ] = None,
    replications: Replications = 20,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(help="Keep results, pictures and a page here.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let policies play on common random numbers: a table, curves, what a round costs.

    With --out an interrupted race goes on where it was.

    Example: pairup race sam unimodal unimodal:compare=matchings,index=ucb --rates 0.9,0.8,0.3,0.1

    Example: pairup race --all --rounds 20000 --out results/field
    """
    from pairup.costs import measure_costs, write_costs
    from pairup.race import field_race, race_of
    from pairup.results import load_results

    posed = f"rates:rates=[{rates}]" if rates else problem
    left_out: dict[str, str] = {}
    if everyone and policies:
        raise ExperimentError(f"--all races every policy: leave it out, or {policies[0]!r}")
    if everyone:
        experiment, left_out = field_race(posed, rounds, replications, seed)
    else:
        named = policies or ["sam", "unimodal:compare=matchings", "unimodal"]
        length = _RACE_ROUNDS if rounds is None else rounds
        experiment = race_of(named, posed or _PROBLEM, length, replications, seed)
    with _kept(out) as folder:
        _run(experiment, folder, None)
        with Console(stderr=True).status("timing a round of each policy"):
            costs = measure_costs(experiment)
        write_costs(folder, experiment, costs)
        frame = load_results(folder)
        page = _write_report([folder], folder) if out else None
    _show_race(experiment, frame, costs, as_json)
    if as_json:
        return
    for label, why in left_out.items():
        _show(f"{label} left out: {why}", markup=False, soft_wrap=True)
    for path in _pages(experiment, page):
        _show(path, markup=False, soft_wrap=True)


@app.command()
def plot(
    folder: Annotated[Path, typer.Argument(help="Folder of an experiment's results.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the pictures.")] = None,
) -> None:
    """Draw the figures of an experiment as PNG, SVG and PDF.

    Example: pairup plot results/experiment-1
    """
    from pairup.figures import draw
    from pairup.results import load_results, read_experiment

    target = out or folder / "figures"
    for picture in draw(read_experiment(folder), load_results(folder), target):
        _show(f"{picture.stem}.png", soft_wrap=True)


@app.command()
def report(
    folders: Annotated[list[Path], typer.Argument(help="Folders of experiments' results.")],
    out: Annotated[Path, typer.Option(help="Folder of report.html.")] = Path("results"),
) -> None:
    """Write one self-contained page about finished experiments.

    Example: pairup report results/experiment-1 results/experiment-2
    """
    _report(folders, out)


@app.command()
def policies(as_json: AsJson = False) -> None:
    """List the policies and their options.

    Example: pairup policies --json
    """
    from pairup.policies import describe_policies

    rows = describe_policies()
    _print_rows(rows, ("name", "options", "about"), as_json)


@app.command()
def problems(as_json: AsJson = False) -> None:
    """List the families of problems and their parameters.

    Example: pairup problems
    """
    from pairup.families import describe_families

    _print_rows(describe_families(), ("family", "parameters", "about"), as_json)


@app.command("simulate-players")
def simulate_players(  # noqa: PLR0913 - a parameter is an option
    url: Annotated[str, typer.Option(help="Address of the service.")] = "http://localhost:8000",
    pool: Annotated[str, typer.Option(help="Pool to play in; made where there is none.")] = "demo",
    theta: Annotated[str, typer.Option(help="Acceptance rates, as 0.9,0.5,0.2.")] = "",
    players: Annotated[int, typer.Option(help="In place of --theta, players.")] = 24,
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
    seed: Seed = 0,
) -> None:
    """Let simulated players join a service, play, leave, be late and contradict themselves.

    Open the service's address in a browser to watch. Ctrl-C ends it.

    Example: pairup simulate-players --url http://localhost:8000 --theta 0.9,0.8,0.5,0.3,0.2,0.1
    """
    from pairup.client import Client, Patience
    from pairup.problem import Problem
    from pairup.simulated_players import Crowd, Habits, Pace, Simulation, parse_law

    habits = Habits(churn, late, twice, contradict, away, answers=not outcomes)
    shape = None if theta else parse_law(law)
    rates = _rates(theta) if shape is None else Problem.random(players, seed, shape).rates
    crowd = Crowd([float(rate) for rate in rates], shape, seed)
    waiting = Patience(tries=1 + round(wait / 0.5), pause_s=0.5, longest_pause_s=0.5)
    with Client(url, key, waiting) as first:
        first.ready()
    with Client(url, key, Patience(tries=8)) as client:  # outlasts a restart of the service
        simulation = Simulation(client, pool, crowd, habits, Pace(pace, game, lifetime))
        _show(f"{len(rates)} players in pool {pool!r}: {client.url}/pools/{pool}", soft_wrap=True)
        _watch(simulation, rounds)


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


keys_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(keys_app, name="keys", help="Make, list and revoke API keys of the service.")


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on, 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on, 8000.")] = None,
    database: Database = None,
    workers: Annotated[int | None, typer.Option(help="Processes, 1; more need PostgreSQL.")] = None,
) -> None:
    """Serve pools of live players over HTTP; see docs/service.md.

    Every setting can also be given in the environment, as PAIRUP_PORT and the like. Exit code 2: it
    cannot start as asked, and nothing in the database was changed.

    Example: pairup serve --database pools.db
    """
    with _serving():
        from pairup.service.server import serve as serve_pools
        from pairup.service.settings import read_settings

        serve_pools(read_settings(host=host, port=port, database=database, workers=workers))


@app.command()
def verify(database: Database = None, as_json: AsJson = False) -> None:
    """Replay the log of every pool, and compare all that follows from it; changes nothing.

    Exit code 1: something differs.

    Example: pairup verify --database pools.db
    """
    with _serving():
        from pairup.service.verify import verify as verify_pools

        with _store(database) as store:
            rows = [verdict.as_json() for verdict in verify_pools(store)]
    _print_rows(rows, ("pool", "events", "games", "digest", "verdict"), as_json)
    if any(row["verdict"] != "sound" for row in rows):
        raise typer.Exit(1)


@keys_app.command("create")
def create_key(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[
        list[str], typer.Option(help="POOL:SCOPE, read, write or admin; * is every pool.")
    ],
    database: Database = None,
) -> None:
    """Make an API key and print it, for the only time.

    Example: pairup keys create backend --scope chess:write
    """
    with _serving():
        from pairup.service import keys
        from pairup.service.clock import WallClock

        with _store(database) as store:
            _, key = keys.create(store, name, keys.parsed(scope), WallClock().now())
        typer.echo(key)


@keys_app.command("list")
def list_keys(database: Database = None, as_json: AsJson = False) -> None:
    """List API keys, without what is secret.

    Example: pairup keys list
    """
    with _serving():
        from pairup.service import keys

        with _store(database) as store:
            rows = keys.listed(store)
        _print_rows(rows, ("id", "name", "scopes", "created", "revoked"), as_json)


@keys_app.command("revoke")
def revoke_key(
    key: Annotated[str, typer.Argument(help="Its id, as `pairup keys list` shows it.")],
    database: Database = None,
) -> None:
    """Revoke an API key, from the next request on.

    Example: pairup keys revoke 3f9a0c51be77
    """
    with _serving():
        from pairup.service import keys
        from pairup.service.clock import WallClock

        with _store(database) as store:
            keys.revoke(store, key, WallClock().now())


@contextmanager
def _serving() -> Iterator[None]:
    """Turn what hinders the service from starting into a line and exit code 2."""
    try:
        yield
    except ModuleNotFoundError as error:
        said = f'the service needs {error.name}: pip install "pairup[serve]"'
        _refuse_to_serve(said, error)
    except PairupError as error:
        _refuse_to_serve(str(error), error)


def _refuse_to_serve(said: str, error: Exception) -> None:
    if _settings["debug"]:
        raise error
    typer.echo(f"pairup: {said}", err=True)
    raise typer.Exit(2)


@contextmanager
def _store(database: str | None) -> Iterator[Any]:
    from pairup.service.settings import read_settings
    from pairup.service.store import Store

    store = Store(read_settings(database=database).database)
    try:
        yield store
    finally:
        store.close()


def _show(what: Any, **options: Any) -> None:
    Console().print(what, **options)  # made anew, for the terminal as wide as it is now


def _run(experiment: Experiment, folder: Path, executor: Executor | None) -> Any:
    from pairup.sweep import run_experiment

    return run_experiment(experiment, folder, executor, progress=True)


def _report(folders: Sequence[Path], out: Path) -> None:
    started = time.perf_counter()
    path = _write_report(folders, out)
    _show(f"report: {path} (drawn in {time.perf_counter() - started:.1f} s)", soft_wrap=True)


def _write_report(folders: Sequence[Path], out: Path) -> Path:
    from pairup.costs import read_costs
    from pairup.report import Making, write_report
    from pairup.results import load_results, read_experiment

    results = [(read_experiment(folder), load_results(folder)) for folder in folders]
    costs = {
        experiment.name: read_costs(folder, experiment)
        for folder, (experiment, _) in zip(folders, results, strict=True)
    }
    return write_report(out, results, Making(_command(), _seconds(folders)), costs=costs)


def _pages(experiment: Experiment, page: Path | None) -> list[str]:
    """Say where the page of a race and its pictures are."""
    if page is None:
        return []
    pictures = [
        page.parent / "figures" / f"{experiment.name}-{figure.name}.png"
        for figure in experiment.figures
    ]
    return [f"report: {page}", *(f"picture: {picture}" for picture in pictures)]


def _command() -> str:
    return shlex.join(["pairup", *sys.argv[1:]])


def _seconds(folders: Sequence[Path]) -> float | None:
    """Add up the time that all runs into the folders took, if none was killed."""
    from pairup.results import read_runs

    times = [run["seconds"] for folder in folders for run in read_runs(folder)]
    return sum(times) if times and None not in times else None


@contextmanager
def _engine(address: str) -> Iterator[Executor | None]:
    if not address:
        yield None
        return
    from pairup.sweep import dask_executor

    with dask_executor(address) as executor:
        yield executor


@contextmanager
def _kept(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="pairup-") as folder:
        yield Path(folder)


def _show_finals(frame: pl.DataFrame, as_json: bool) -> None:
    """Print mean final regret of each policy on each problem."""
    from pairup.statistics import final, mean_intervals

    means = mean_intervals(final(frame)).select("problem", "policy", "estimate", "low", "high")
    if as_json:
        typer.echo(json.dumps(means.to_dicts(), indent=1))
        return
    table = Table(title="Final regret")
    for name in ("problem", "policy", "regret", "95% interval"):
        table.add_column(name, justify="right" if name == "regret" else "left")
    for row in means.to_dicts():
        table.add_row(
            escape(row["problem"]),
            escape(row["policy"]),
            f"{row['estimate']:,.1f}",
            _interval(row["low"], row["high"]),
        )
    _show(table)


def _show_race(experiment: Experiment, frame: pl.DataFrame, costs: Costs, as_json: bool) -> None:
    from pairup.race import sparklines
    from pairup.standings import COSTS_MEASURED, standings

    tables, curves = standings(experiment, frame, costs), sparklines(frame)
    if as_json:
        rows = [
            dataclasses.asdict(row) | {"curve": curves[row.problem, row.policy]}
            for table in tables.values()
            for row in table
        ]
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    for problem, table in tables.items():
        size = f"{experiment.rounds:,} rounds, {experiment.replications} times"
        _show_standings(f"{problem}: {size}", table, curves)
    _show(COSTS_MEASURED, markup=False)


def _show_standings(
    title: str, rows: Sequence[Standing], curves: Mapping[tuple[str, str], str]
) -> None:
    from pairup.standings import ties

    wide = Console().width >= _WIDE
    table = Table(title=title)
    for name in ("rank", "policy", "regret", "95% interval", "× limit", "ns a round"):
        right = name not in ("policy", "95% interval")
        table.add_column(
            name, justify="right" if right else "left", no_wrap=name != "policy", overflow="fold"
        )
    if wide:
        table.add_column("over time", no_wrap=True)
    for row in rows:
        table.add_row(
            str(row.rank),
            escape(row.policy),
            f"{row.estimate:,.1f}",
            _interval(row.low, row.high),
            "–" if row.times_limit is None else f"{row.times_limit:,.1f}",
            "–" if row.nanoseconds is None else f"{row.nanoseconds:,.0f}",
            *([curves[row.problem, row.policy]] if wide else []),
        )
    _show(table)
    for policy, others in ties(rows).items():
        _show(f"{policy}: no difference shown from {others}", markup=False, soft_wrap=True)


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None else f"{low:,.1f} to {high:,.1f}"


def _print_rows(rows: Sequence[dict[str, Any]], columns: Sequence[str], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    table = Table()
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(escape(str(row[column])) for column in columns))
    _show(table)


if __name__ == "__main__":
    main()
