"""Commands for a damaged database: repair it, or export the events of a pool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pairup.cli.app import AsJson, app
from pairup.cli.output import print_rows
from pairup.cli.serving import Database, open_store, serving


@app.command()
def repair(
    database: Database = None,
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Repair what can be repaired; otherwise it is only listed."),
    ] = False,
    cut: Annotated[
        list[str] | None,
        typer.Option(
            help="Pool whose log is cut after the last event that can be applied: what happened "
            "later is lost.",
            show_default=False,
        ),
    ] = None,
    copy: Annotated[
        Path, typer.Option(help="File for the rows that are replaced, one per line.")
    ] = Path("repaired-rows.jsonl"),
    as_json: AsJson = False,
) -> None:
    """List what does not follow from the log, and what can be done about it.

    With --apply, damaged snapshots and answers are dropped and records are written again from the
    log. The log itself is changed only with --cut. Stop the service first. Exit code 1: something
    is still wrong.

    Example: pairup repair --database pools.db --apply
    """
    with serving(), open_store(database, inspect=True) as store:
        from pairup.service.maintenance.repair import find_remedies
        from pairup.service.maintenance.repair import repair as repair_pools

        remedies = found = find_remedies(store, cut or ())
        if apply and remedies:
            repair_pools(store, remedies, copy)
            remedies = find_remedies(store)
            typer.echo(f"the rows that were replaced are in {copy}", err=True)
    print_rows([remedy.as_json() for remedy in found], ("pool", "found", "remedy"), as_json)
    if remedies:
        raise typer.Exit(1)


@app.command()
def export(
    pool: Annotated[str, typer.Argument(help="Name of the pool, or its id if it was deleted.")],
    database: Database = None,
) -> None:
    """Print the events of a pool, one JSON object per line, even if the pool cannot be read.

    A body that is damaged is printed as it is stored, under "damaged".

    Example: pairup export chess --database pools.db
    """
    with serving(), open_store(database) as store:
        from pairup.service.maintenance.export import exported_events

        for line in exported_events(store, pool):
            typer.echo(line)
