"""The server: starts the application, and shuts it down in order."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from typing import Any

import structlog
import uvicorn

from pairup.errors import ServiceError
from pairup.service.app import create_app, freeze_imports
from pairup.service.operations import logs
from pairup.service.operations.metrics import SHARED
from pairup.service.operations.settings import Settings
from pairup.service.store import Store

log = structlog.get_logger()
_FACTORY = "pairup.service.app:from_environment"


def serve(settings: Settings) -> None:
    """Serve until a signal says to stop; then finish requests and save pools."""
    settings.check()
    check_address(settings)
    logs.set_up(settings.log_level)
    store = open_store(settings)
    # Uvicorn raises the signal that stopped it once more, which would make the exit a failure.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: None)
    options: dict[str, Any] = {
        "host": settings.host,
        "port": settings.port,
        "log_config": None,
        "access_log": False,
        "timeout_graceful_shutdown": settings.graceful_s,
        "server_header": False,
    }
    if settings.workers > 1:
        store.close()
        for name, value in settings.model_dump().items():  # to where workers find them
            os.environ[f"PAIRUP_{name.upper()}"] = str(value)
        with tempfile.TemporaryDirectory(prefix="pairup-metrics-") as shared:
            os.environ[SHARED] = shared
            uvicorn.run(_FACTORY, factory=True, workers=settings.workers, **options)
    else:
        app = create_app(settings, store=store)
        freeze_imports()
        uvicorn.run(app, **options)


def check_address(settings: Settings) -> None:
    """Refuse an address that cannot be listened on, before anything else is done."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        socket.create_server((settings.host, settings.port), family=family).close()
    except OSError as error:
        why = str(error.strerror).partition(" (")[0]
        raise ServiceError(
            f"port {settings.port} of {settings.host!r} cannot be listened on ({why}): "
            "give another --port or --host, or stop what listens there"
        ) from None


def open_store(settings: Settings) -> Store:
    """Open the database; refuse to start where keys are needed and there are none."""
    store = Store(settings.database)
    if store.file is not None and store.file.created:
        log.warning("created a new, empty database", database=store.name)
    elif store.file is not None and store.file.readable_by_others:
        advice = f"chmod 600 {store.file.path}"
        log.warning("other users can read the database", database=store.name, advice=advice)
    with store.reading() as transaction:
        valid = [row for row in transaction.api_keys() if row.revoked_at is None]
    if settings.needs_keys and not valid:
        store.close()
        raise ServiceError(
            "without API keys the service listens on loopback only, got host "
            f"{settings.host!r}: make a key with `pairup keys create --database {store.name} "
            "--scope '*:admin' NAME`, or give --host 127.0.0.1"
        )
    return store
