"""Commands of the service: serve, keys, verify, back up, restore, archive, erase, repair."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from pairup.cli.app import AsJson, app, settings
from pairup.cli.output import print_rows
from pairup.errors import PairupError, ServiceError

Database = Annotated[
    str | None,
    typer.Option(help="Database: an SQLite file, or postgresql://...", show_default="pairup.db"),
]
_DAY = 86_400_000_000  # microseconds
keys_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(
    keys_app, name="keys", help="Create, list, rotate and revoke API keys of the service."
)


@app.command()
def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on, 0 for any free one.", show_default="8000")
    ] = None,
    database: Database = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Number of processes; more than one need PostgreSQL.", show_default="1"),
    ] = None,
    policies: Annotated[
        str | None,
        typer.Option(
            help="Third-party policies that pools may use: module:Class, separated by commas."
        ),
    ] = None,
) -> None:
    """Serve pools of live players over HTTP; see docs/how-to/serve-pools.md.

    Every setting can also be given in the environment, for example as PAIRUP_PORT. Exit code 2: the
    service cannot start as asked, and nothing in the database was changed.

    Example: pairup serve --database pools.db
    """
    with serving():
        from pairup.service.server import serve as serve_pools
        from pairup.service.settings import read_settings

        given = {"host": host, "port": port, "database": database}
        serve_pools(read_settings(**given, workers=workers, policies=policies))


@app.command("openapi")
def print_openapi() -> None:
    """Print the OpenAPI description of the service as JSON; clients can be generated from it.

    It is what a service with these settings shows at /openapi.json; no service need be running.

    Example: pairup openapi > pairup.json
    """
    with serving():
        from pairup.service.api.openapi import describe
        from pairup.service.settings import read_settings

        typer.echo(json.dumps(describe(read_settings().needs_keys), indent=2))


@app.command()
def verify(database: Database = None, as_json: AsJson = False) -> None:
    """Replay the log of every pool and compare it with what is stored; changes nothing.

    Exit code 1: something differs.

    Example: pairup verify --database pools.db
    """
    with serving(), open_store(database, inspect=True) as store:
        from pairup.service.maintenance.verify import verify as verify_pools

        _print_verdicts(verify_pools(store), as_json)


def _print_verdicts(found: Iterable[Any], as_json: bool) -> None:
    """Print what was verified; exit with 1 if something differs."""
    rows = [each.as_json() for each in found]
    print_rows(rows, ("pool", "events", "games", "digest", "verdict"), as_json)
    if any(row["verdict"] != "sound" for row in rows):
        raise typer.Exit(1)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="File to write, which must not exist yet.")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Copy a database into one file of SQLite while it is served, and verify the copy.

    Archives are copied to the folder FILE.archive beside it. Exit code 1: something in the
    database, and so in the copy, differs from its log.

    Example: pairup backup /backup/pools-2026-11-16.db --database pools.db
    """
    with serving(), open_store(database) as store:
        from pairup.service.maintenance.backup import back_up

        _print_verdicts(back_up(store, file), as_json)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="Backup, as `pairup backup` wrote it.")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Copy a backup into a new file, or into an empty database of PostgreSQL, if it is sound.

    The backup is not changed. Exit code 1: something in it differs from its log, and nothing was
    restored; a copy of the backup can be repaired with `pairup repair`.

    Example: pairup restore /backup/pools-2026-11-16.db --database postgresql://pairup@db/pairup
    """
    with serving():
        from pairup.service.maintenance.backup import restore as restore_backup
        from pairup.service.settings import read_settings

        _print_verdicts(restore_backup(file, read_settings(database=database).database), as_json)


_MOMENT = {"formats": ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]}


@app.command()
def archive(
    before: Annotated[
        datetime | None,
        typer.Option(**_MOMENT, help="Moment before which events are moved, in UTC."),
    ] = None,
    drop_before: Annotated[
        datetime | None,
        typer.Option(**_MOMENT, help="Moment before which archives are deleted for good, in UTC."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the archives, which PostgreSQL needs.",
            show_default="DATABASE.archive",
        ),
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Move old events into compressed files, and delete old records of games.

    Every pool is verified first, and a damaged one is left as it is (exit code 1). The service may
    run meanwhile; while a file of SQLite shrinks, its writers wait. With --drop-before, files whose
    events all happened before that moment are deleted, and the log begins with a snapshot; files
    that are missing are recorded as deleted, and the pool is then not verified.

    Example: pairup archive --before 2026-01-01 --database pools.db
    """
    if before is None and drop_before is None:
        raise typer.BadParameter("give --before, --drop-before or both")
    with serving(), open_store(database) as store:
        from pairup.service.domain.events import WallClock
        from pairup.service.maintenance import archive as archiving

        dropped, moved = [], []
        if drop_before is not None:
            found = archiving.drop_archives(store, _moment(drop_before), WallClock().now())
            dropped = [each.as_json("dropped") for each in found if each.files or each.error]
        if before is not None:
            moved = [each.as_json() for each in archiving.archive(store, _moment(before), to)]
    if drop_before is not None:
        print_rows(dropped, ("pool", "events", "files", "bytes", "verdict"), as_json)
    if before is not None:
        print_rows(moved, ("pool", "events", "games", "files", "bytes", "verdict"), as_json)
    if any(row["verdict"] not in ("archived", "dropped") for row in (*dropped, *moved)):
        raise typer.Exit(1)


def _moment(date: datetime) -> int:
    from pairup.service.domain.events import SECOND

    return round(date.replace(tzinfo=UTC).timestamp()) * SECOND


@app.command()
def erase(
    player: Annotated[str, typer.Argument(help="Name of the player.")],
    pool: Annotated[str, typer.Option(help="Pool of the player.")],
    database: Database = None,
) -> None:
    """Erase a player: they leave, and what was learnt about them is forgotten with their name.

    The log, its archives and later backups no longer contain the name; earlier backups do. The
    service may run meanwhile. Deleted pools of that name are searched too. Erasing a name that is
    not stored changes nothing.

    Example: pairup erase ann --pool chess --database pools.db
    """
    with serving(), open_store(database) as store:
        from pairup.service.domain.names import normalized_name
        from pairup.service.pools.service import Service
        from pairup.service.problems import RefusalError
        from pairup.service.settings import read_settings

        service = Service(read_settings(database=database), store)
        try:
            name = normalized_name(player)
            found = service.erase_player(pool, name)
        except (RefusalError, ValueError) as refusal:
            raise ServiceError(str(refusal)) from None
        if not service.empty_log():
            raise ServiceError(
                f"player {name!r} was erased, but while others read the database, the name may be "
                "in its write-ahead log: erase the player again in a moment"
            )
    typer.echo(f"erased {name!r}" if found else f"nobody was called {name!r} in pool {pool!r}")


@keys_app.command("create")
def create_key(
    name: Annotated[str, typer.Argument(help="Name of the key, for example that of its user.")],
    scope: Annotated[
        list[str], typer.Option(help="Scope: POOL:read, POOL:write or POOL:admin; * is every pool.")
    ],
    days: Annotated[
        float | None,
        typer.Option(
            min=0, help="Days for which the key is valid.", show_default="until it is revoked"
        ),
    ] = None,
    database: Database = None,
) -> None:
    """Create an API key and print it; it cannot be shown again.

    Example: pairup keys create backend --scope chess:write
    """
    with serving(), open_store(database, make=True) as store:
        from pairup.service import api_keys
        from pairup.service.domain.events import WallClock

        now = WallClock().now()
        expires_at = None if days is None else now + round(days * _DAY)
        _, key = api_keys.create(store, name, api_keys.parse_scopes(scope), now, expires_at)
        typer.echo(key)


@keys_app.command("rotate")
def rotate_api_key(
    key: Annotated[str, typer.Argument(help="Id of the key, as `pairup keys list` shows it.")],
    hours: Annotated[
        float, typer.Option(min=0, help="Hours for which the former key is valid too.")
    ] = 24.0,
    database: Database = None,
) -> None:
    """Replace an API key by a new one and print it; for some hours both are valid.

    They are one key to the service: scopes, limits and idempotent replies stay as they are.

    Example: pairup keys rotate 3f9a0c51be77 --hours 48
    """
    with serving(), open_store(database) as store:
        from pairup.service import api_keys
        from pairup.service.domain.events import WallClock

        now = WallClock().now()
        typer.echo(api_keys.rotate(store, key, now, now + round(hours * _DAY / 24)))


@keys_app.command("list")
def list_keys(database: Database = None, as_json: AsJson = False) -> None:
    """List API keys, without their secrets.

    Example: pairup keys list
    """
    with serving(), open_store(database) as store:
        from pairup.service import api_keys

        rows = api_keys.list_keys(store)
        print_rows(
            rows, ("id", "name", "scopes", "created", "expires", "former_until", "revoked"), as_json
        )


@keys_app.command("revoke")
def revoke_api_key(
    key: Annotated[str, typer.Argument(help="Id of the key, as `pairup keys list` shows it.")],
    database: Database = None,
) -> None:
    """Revoke an API key, from the next request on.

    Example: pairup keys revoke 3f9a0c51be77
    """
    with serving(), open_store(database) as store:
        from pairup.service import api_keys
        from pairup.service.domain.events import WallClock

        api_keys.revoke(store, key, WallClock().now())


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

    With --apply, damaged snapshots and replies are dropped and records are written again from the
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
def audit(
    pool: Annotated[str | None, typer.Option(help="Name of the pool; by default all.")] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List who created, configured or deleted pools or loaded learners, the oldest first.

    Deleted pools are listed too. Who did it is the name of an API key, empty where none was needed.

    Example: pairup audit --pool chess --database pools.db
    """
    with serving(), open_store(database) as store:
        from pairup.service.maintenance.export import audited

        print_rows(audited(store, pool), ("at", "pool", "event", "kind", "by", "what"), as_json)


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


@contextmanager
def serving() -> Iterator[None]:
    """Turn an error that keeps the service from starting into one line and exit code 2."""
    try:
        yield
    except (ModuleNotFoundError, PairupError) as error:
        if settings["debug"]:
            raise
        said = str(error)
        if isinstance(error, ModuleNotFoundError):
            said = f'the service needs {error.name}: pip install "pairup[serve]"'
        typer.echo(f"pairup: {said}", err=True)
        raise typer.Exit(2) from None


@contextmanager
def open_store(database: str | None, inspect: bool = False, make: bool = False) -> Iterator[Any]:
    """Open the database of the settings while the block runs; `make` creates a missing one."""
    from pairup.service.settings import read_settings
    from pairup.service.store import Store
    from pairup.service.store.engine import is_missing

    given = read_settings(database=database)
    given.allow_policies()
    named = given.database
    if is_missing(named):
        if not make:
            raise ServiceError(
                f"there is no database {named!r}: correct the name, or make it with `pairup serve`"
            )
        typer.echo(f"a new database is made, {named}", err=True)
    with closing(Store(named, inspect)) as store:
        yield store
