"""The command that says what other rules of a pool would have given: evaluate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairup.cli.app import AsJson, Seed, app
from pairup.cli.output import print_rows, show
from pairup.cli.serving import Database, open_store, serving

if TYPE_CHECKING:
    from pairup.service.maintenance.evaluation import Evaluation


@app.command()
def evaluate(
    pool: Annotated[str, typer.Option(help="Pool whose log tells.")],
    policy: Annotated[
        str | None,
        typer.Option(help="Policy as name or name:option=value,...", show_default="the pool's own"),
    ] = None,
    floor: Annotated[
        float | None,
        typer.Option(
            help="Share of random pairing that players get at least.", show_default="the pool's own"
        ),
    ] = None,
    database: Database = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Estimate from the log of a pool what another policy, option or floor would have given.

    The pool is only read, and may be served meanwhile. Exit code 2: the log cannot tell, and why.

    Example: pairup evaluate --pool chess --policy rank_one_thompson:period=1 --floor 0.5
    """
    changes: dict[str, Any] = {}
    if policy is not None:
        from pairup.cli.specs import parse_policy

        changes["policy"], changes["options"] = parse_policy(policy)
    if floor is not None:
        changes["fairness"] = {"floor": floor}
    if not changes:
        raise typer.BadParameter("give --policy, --floor or both")
    with serving(), open_store(database) as store:
        from pairup.service.maintenance.evaluation import evaluate as evaluate_log
        from pairup.simulation.progress_bar import progress_bar

        with progress_bar("evaluating", not as_json) as bar:
            found = evaluate_log(
                store, pool, changes, seed=seed, progress=lambda what, share: bar(share, what)
            )
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=1))
    else:
        _show_evaluation(found)


def _show_evaluation(found: Evaluation) -> None:
    from pairup.assessment.sentences import percent, points

    rows = [
        {"by": by, "played": percent(share.estimate), "gain": points(gain)}
        for by, share, gain in (
            ("the log, doubly robust", found.doubly_robust, found.doubly_robust_gain),
            ("the model", found.model, found.model_gain),
        )
        if share is not None and gain is not None
    ]
    played = f"{percent(found.logged.estimate)} were played"
    show(f"Of {found.games:,} games that the pool proposed, {played}.", highlight=False)
    print_rows(rows, ("by", "played", "gain"), as_json=False)
    overlap = f"{percent(found.overlap)} of the games that these rules would have proposed"
    overlap += f" might have been proposed ({found.effective_games:.0f} by their weights)"
    more = "" if found.doubly_robust else ": too few to correct the model"
    show(f"{overlap}{more}.", highlight=False)
    show(f"The model, that couples play as products of rates say, {found.fit}.", highlight=False)
    if found.uncompared:
        show(f"{found.uncompared:,} rounds could not be compared.", highlight=False)
