"""Commands that start a pool from past games or a saved learner: import, learner."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairup.cli.app import LOCAL_URL, AsJson, Key, Url, app
from pairup.cli.output import show
from pairup.errors import ClientError

if TYPE_CHECKING:
    from pairup.client import Client

Pool = Annotated[str, typer.Option(help="Name of the pool.")]
_INTERRUPTED = 130

learner_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(learner_app, name="learner", help="Save the learner of a pool, or load one into it.")


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="History: .csv, .parquet, .jsonl or .ndjson.")],
    pool: Annotated[str, typer.Option(help="Name of the pool; it is created if it is missing.")],
    url: Url = LOCAL_URL,
    key: Key = None,
    id: Annotated[
        str | None,
        typer.Option(help="Id of the import, which is done once.", show_default="digest of FILE"),
    ] = None,
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Leave out bad rows instead of stopping.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import past games into a pool, so that it knows its players before they meet.

    A row is a game. Columns: player_a, player_b, and played, or accepted_a and accepted_b, which
    may be empty if they follow from the others. Bad rows are listed by line, and nothing is
    imported unless they are to be skipped. Each row is learnt exactly once: after Ctrl-C or a
    crash, the same command continues where it stopped.

    Example: pairup import history.csv --pool chess
    """
    with _client(url, key) as client:
        from pairup.client.history import import_history

        with _bar(f"importing {file.name}", as_json) as advance:
            found = import_history(
                client,
                pool,
                file,
                id,
                skip_bad_rows=skip_bad_rows,
                create_pool=True,
                progress=advance,
            )
    if as_json:
        shown = asdict(found) | {"listed": [row._asdict() for row in found.listed]}
        typer.echo(json.dumps({"pool": pool, **shown}, indent=1))
        return
    if found.bad_rows:
        show(f"{found.bad_rows:,} bad rows were left out:", highlight=False)
        show(found.describe_bad_rows(), markup=False, highlight=False, soft_wrap=True)
    show(
        f"pool {pool!r} has learnt {found.games:,} games of {found.rows:,} rows, import {found.id}",
        highlight=False,
        soft_wrap=True,
    )


@learner_app.command("save")
def save_learner(
    file: Annotated[Path, typer.Argument(help="File to write, which must not exist yet.")],
    pool: Pool,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Save what a pool has learnt in a file that Learner.from_bytes reads.

    Example: pairup learner save chess.learner --pool chess
    """
    with _client(url, key) as client:
        data = client.save_learner(pool)
    try:
        with file.open("xb") as written:
            written.write(data)
    except OSError as error:
        raise ClientError(
            f"{file} cannot be written, {error.strerror}: give another name"
        ) from error
    show(f"{file}: {len(data):,} bytes", highlight=False, soft_wrap=True)


@learner_app.command("load")
def load_learner(
    file: Annotated[Path, typer.Argument(help="Learner, as Learner.to_bytes saved it.")],
    pool: Pool,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Load a saved learner into a pool with the same policy.

    It replaces what the pool has learnt so far. Players who are not in the pool join it, away.

    Example: pairup learner load chess.learner --pool chess
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ClientError(f"{file} cannot be read, {error.strerror}: correct the name") from error
    with _client(url, key) as client:
        loaded = client.load_learner(pool, data)
    players = sum(loaded.players.model_dump().values())
    show(f"pool {pool!r} has {players:,} players now", highlight=False, soft_wrap=True)


@contextmanager
def _client(url: str, key: str | None) -> Iterator[Client]:
    try:
        from pairup.client import Client, Patience
    except ModuleNotFoundError as error:
        raise ClientError(str(error)) from None
    with Client(url, key, Patience(tries=10)) as client:  # outlasts a restart of the service
        yield client


@contextmanager
def _bar(what: str, hidden: bool) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of the block; Ctrl-C ends it with one line."""
    from pairup.simulation.progress_bar import progress_bar

    try:
        with progress_bar(what, not hidden) as show_share:
            yield lambda done, total: show_share(done / max(total, 1), f"{done:,}/{total:,}")
    except KeyboardInterrupt:
        typer.echo("interrupted: the same command continues where it stopped", err=True)
        raise typer.Exit(_INTERRUPTED) from None
