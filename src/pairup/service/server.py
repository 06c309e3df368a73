"""The server: starts the application, and shuts it down in order."""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
import tempfile
from contextlib import ExitStack
from typing import Any

import structlog
import uvicorn

from pairup.errors import ServiceError
from pairup.service.app import create_app, end_in_time, freeze_imports, store_of
from pairup.service.connections import run_processes
from pairup.service.observability import logs
from pairup.service.observability.metrics import SHARED
from pairup.service.settings import PREFIX, Settings
from pairup.service.store import Store

_FACTORY = "pairup.service.app:from_environment"
_BACKLOG = 2_048  # connections that wait to be accepted
_OTHER_FILES = 100  # of the database, the log, workers and what is read at times
log = structlog.get_logger()


def serve(settings: Settings) -> None:
    """Serve until a signal says to stop; then finish requests and save pools."""
    settings.check()
    settings.allow_policies()
    logs.set_up(settings)
    with ExitStack() as stack:
        sockets = listen(settings, stack)  # before anything else is done
        _serve(settings, sockets, open_store(settings))


def _serve(settings: Settings, sockets: list[socket.socket], store: Store) -> None:
    settings = limit_connections(settings)
    # Uvicorn raises the signal that stopped it once more, which would make the exit a failure.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: None)
    options: dict[str, Any] = {
        "loop": "pairup.service.connections:Loop",
        "http": "pairup.service.connections:Connection",
        "h11_max_incomplete_event_size": settings.max_header_bytes,
        "log_config": None,
        "access_log": False,
        "timeout_graceful_shutdown": settings.graceful_s,
        "server_header": False,
    }
    for each in sockets:
        host, port = each.getsockname()[:2]
        log.info("listening", page=f"http://{f'[{host}]' if ':' in host else host}:{port}/")
    if settings.workers > 1:
        store.close()
        for name, value in settings.model_dump().items():  # to where workers find them
            os.environ[PREFIX + name.upper()] = str(value)
        with tempfile.TemporaryDirectory(prefix="pairup-metrics-") as shared:
            os.environ[SHARED] = shared
            config = uvicorn.Config(_FACTORY, factory=True, workers=settings.workers, **options)
            run_processes(config, sockets)
    else:
        app = create_app(settings, store=store)
        freeze_imports()
        end_in_time(app)
        uvicorn.Server(uvicorn.Config(app, **options)).run(sockets)


def listen(settings: Settings, stack: ExitStack) -> list[socket.socket]:
    """Listen on the address until the stack is closed, or refuse it."""
    host, port = settings.host, settings.port
    sockets = list[socket.socket]()
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in found[: None if port else 1]:
            try:
                made = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
            except OSError as error:  # of the addresses of localhost, a machine may lack one
                if error.errno != errno.EADDRNOTAVAIL or len(found) == 1:
                    raise
            else:
                sockets.append(stack.enter_context(made))
    except OSError as error:
        why = str(error.strerror).partition(" (")[0]
        raise ServiceError(
            f"port {port} of {host!r} cannot be listened on ({why}): "
            "give another --port or --host, or stop what listens there"
        ) from None
    return sockets


def limit_connections(settings: Settings) -> Settings:
    """Return settings with no more connections than the limit on open files leaves room for."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.max_connections + _OTHER_FILES
    if limit < wanted:
        limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
    if limit >= wanted:
        return settings
    if limit < 2 * _OTHER_FILES:
        raise ServiceError(
            f"this process may open {limit} files only, and needs {2 * _OTHER_FILES}: raise the "
            "limit (ulimit -n, LimitNOFILE= of systemd)"
        )
    log.warning("fewer connections", most=limit - _OTHER_FILES, open_files=limit)
    return settings.model_copy(update={"max_connections": limit - _OTHER_FILES})


def open_store(settings: Settings) -> Store:
    """Open the database; refuse to start where keys are needed and there are none."""
    store = store_of(settings)
    if store.file is not None and store.file.created:
        log.warning("created a new, empty database", database=store.name)
    elif store.file is not None and store.file.readable_by_others:
        advice = f"chmod 600 {store.file.path}"
        log.warning("other users can read the database", database=store.name, advice=advice)
    with store.reading() as transaction:
        valid = [row for row in transaction.api_keys() if row.revoked_at is None]
    if settings.needs_keys and not valid:
        store.close()
        make = f"make one with `pairup keys create --database {store.name} --scope '*:admin' NAME`"
        if settings.keys == "required":
            raise ServiceError(f"API keys are required, and the database has none: {make}")
        raise ServiceError(
            f"without API keys the service listens on loopback only, got host {settings.host!r}: "
            f"{make}, or give --host 127.0.0.1"
        )
    return store
