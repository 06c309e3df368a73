"""The commands that assess a history, and simulate one: assess, simulate-history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairup.cli.app import AsJson, Seed, app
from pairup.cli.output import print_rows, show
from pairup.errors import AssessmentError

if TYPE_CHECKING:
    from pairup.assessment import Assessment


@app.command()
def assess(
    files: Annotated[list[Path], typer.Argument(help="History: .csv, .parquet, .jsonl, .ndjson.")],
    columns: Annotated[
        str, typer.Option(help="Names of columns, such as player_a=home,player_b=guest.")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Page to write.", show_default="none")] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Assess what matching players would bring, from a history of their games.

    A row is a game. Columns: player_a, player_b, and played, or accepted_a and accepted_b;
    optionally time, rating_a, rating_b, region_a, region_b.

    Example: pairup assess history.csv --out assessment.html
    """
    from pairup.assessment import assess as assess_history
    from pairup.simulation.progress_bar import progress_bar

    with progress_bar("assessing", not as_json) as bar:
        found = assess_history(
            files, _columns(columns), seed=seed, progress=lambda what, share: bar(share, what)
        )
    if out is not None:
        from pairup.reporting.assessment_page import write_assessment

        write_assessment(out, found)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=1))
        return
    _show(found)
    if out is not None:
        show(out, soft_wrap=True)


def _columns(text: str) -> dict[str, str]:
    pairs = [each.partition("=") for each in text.split(",") if each]
    for name, sign, actual in pairs:
        if not (sign and actual.strip()):
            raise AssessmentError(
                f"columns are given as player_a=home,player_b=guest, got {name!r}: add = and the "
                "name in the file"
            )
    return {name.strip(): actual.strip() for name, _, actual in pairs}


def _rates(text: str) -> list[float]:
    try:
        return [float(each) for each in text.split(",")] if text else []
    except ValueError:
        raise AssessmentError(
            f"rates are numbers with commas between them, got {text!r}: try 0.2,0.9"
        ) from None


def _show(found: Assessment) -> None:
    from pairup.assessment import sentences

    show(sentences.describe_verdict(found), highlight=False)
    show(sentences.describe_history(found), highlight=False)
    for line in sentences.describe_skipped(found):
        show(f"  {line}", highlight=False, markup=False)
    show(sentences.describe_population(found), highlight=False)
    rows = [
        {
            "players": f"{pool.players:,}",
            "random": sentences.percent(pool.random.estimate),
            "best": sentences.percent(pool.best.estimate),
            "gain": sentences.points(pool.gain),
        }
        for pool in (found.pool, *found.pools)
    ]
    print_rows(rows, ("players", "random", "best", "gain"), as_json=False)
    _show_tenths(found)
    show(f"The model, that couples play as products of rates say, {found.fit}.", highlight=False)
    checks = [
        {"question": each.question, "answer": each.verdict, "p": f"{each.p_value:.3f}"}
        for each in found.checks
    ]
    print_rows(checks, ("question", "answer", "p"), as_json=False)
    if found.unchecked:
        show(sentences.describe_unchecked(found), highlight=False)
    show(sentences.describe_learning(found), highlight=False)
    show("A pool to begin with, for POST /v1/pools:", highlight=False)
    show(json.dumps(found.rules), highlight=False, markup=False, soft_wrap=True)


def _show_tenths(found: Assessment) -> None:
    """Show how often players accept, and what matching does to each tenth of them."""
    from pairup.assessment.sentences import describe_tenths

    show(
        "Games in 100 rounds beyond those of random pairing, by tenth of the players and by floor:",
        highlight=False,
    )
    rows = describe_tenths(found)
    print_rows(rows, tuple(rows[0]), as_json=False)


@app.command("simulate-history")
def simulate_history(  # noqa: PLR0913 - a parameter is an option
    file: Annotated[Path, typer.Argument(help="File to write: .csv, .parquet, .jsonl.")],
    players: Annotated[int, typer.Option(help="Number of players at a time, even.")] = 300,
    rounds: Annotated[int, typer.Option(help="Number of rounds, an hour apart.")] = 120,
    distribution: Annotated[
        str, typer.Option(help="Distribution of the acceptance rates.")
    ] = "beta:2,3",
    rates: Annotated[
        str,
        typer.Option(
            help="Rates of which each player has one, in place of a distribution: 0.2,0.9.",
            show_default="none",
        ),
    ] = "",
    churn: Annotated[
        float, typer.Option(help="Probability that a player leaves in a round.")
    ] = 0.0,
    rating_effect: Annotated[
        float, typer.Option(help="Log odds that a game loses per 200 points of rating distance.")
    ] = 0.0,
    pattern: Annotated[
        float, typer.Option(help="Strength of a hidden pattern among players.")
    ] = 0.0,
    pairing: Annotated[str, typer.Option(help="Pairing: random, or by rating.")] = "random",
    told: Annotated[bool, typer.Option("--told", help="Write who accepted.")] = False,
    seed: Seed = 0,
) -> None:
    """Simulate a history of games, to try `pairup assess` and `pairup import` with.

    Example: pairup simulate-history history.csv --distribution beta:5,2
    """
    from pairup.assessment import simulated_history as simulated
    from pairup.problem.rates import parse_distribution

    writer = simulated.WRITERS.get(file.suffix.lower())
    if writer is None:
        raise AssessmentError(
            f"the name of a history ends with {', '.join(simulated.WRITERS)}, got {file.name!r}"
        )
    frame = simulated.simulate_history(
        players,
        rounds,
        parse_distribution(distribution),
        rates=_rates(rates),
        churn=churn,
        rating_effect=rating_effect,
        pattern=pattern,
        pairing=pairing,
        told=told,
        seed=seed,
    )
    writer(frame, file)
    show(f"{file}: {len(frame):,} games", highlight=False, soft_wrap=True)
