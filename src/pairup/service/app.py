"""The application: routes, refusals, and what starts and ends with it."""

from __future__ import annotations

import gc
import signal
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import structlog
from anyio import CapacityLimiter
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from pairup.errors import ServiceError
from pairup.service import dashboard
from pairup.service.api.error_handlers import HANDLERS
from pairup.service.api.middleware import Limited, Observed
from pairup.service.api.routes import games, health, insight, matchings, players, pools
from pairup.service.domain.clock import Clock
from pairup.service.operations import logs
from pairup.service.operations.settings import Settings, read_settings
from pairup.service.store import Store
from pairup.service.use_cases.service import Service

log = structlog.get_logger()
_FORGET_EVERY_S = 60.0
_ABOUT = """Learns who to pair with whom, live.

A backend says who waits, asks for the next games, and reports which were played. Every refusal is a
problem (RFC 9457) with a stable `type`; every POST takes an `Idempotency-Key`.
"""


def create_app(
    settings: Settings, clock: Clock | None = None, store: Store | None = None
) -> FastAPI:
    """Make the application; its database is opened, checked and migrated here, unless it is given.

    Raises
    ------
    ServiceError
        The settings contradict each other, or the database cannot be used.
    """
    settings.check()
    service = Service(settings, store or Store(settings.database), clock)
    app = FastAPIOffline(
        title="pairup",
        version=version("pairup"),
        description=_ABOUT,
        lifespan=_lifespan,
        docs_url="/docs",
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.service = service
    app.state.warm, app.state.stopping = threading.Event(), threading.Event()
    app.state.looking = CapacityLimiter(2)
    for each in (pools, players, matchings, games, insight, health):
        app.include_router(each.router)
    dashboard.add_to(app)
    for kind, handler in HANDLERS.items():
        app.add_exception_handler(kind, handler)
    if not settings.needs_keys:
        # As FastAPI would have it replaced; a plain assignment to a method is none to mypy.
        setattr(app, "openapi", lambda: _described_as_open(app))  # noqa: B010
    app.add_middleware(Limited, most=settings.max_body_bytes)
    app.add_middleware(Observed, metrics=service.metrics)
    return app


def _described_as_open(app: FastAPI) -> dict[str, Any]:
    """Describe the service as it is where no keys are needed."""
    described = FastAPI.openapi(app)
    described["components"].pop("securitySchemes", None)
    for operations in described["paths"].values():
        for operation in operations.values():
            operation.pop("security", None)
    return described


def from_environment() -> FastAPI:
    """Make the application of a worker, whose settings are in its environment."""
    settings = read_settings()
    logs.set_up(settings.log_level)
    spare_garbage_search()
    return create_app(settings)


def spare_garbage_search() -> None:
    """Take what was imported for permanent.

    To look through all of it for garbage, every now and then, took a third of a second.
    """
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service, stopping = app.state.service, app.state.stopping
    _listen(stopping)
    current_default_thread_limiter().total_tokens = service.settings.threads
    threading.Thread(target=_warm, args=(service, app.state.warm, stopping), daemon=True).start()
    sweeper = threading.Thread(target=_sweep, args=(service, stopping), daemon=True)
    sweeper.start()
    settings = service.settings
    # How it is reached, if it listens on any port: uvicorn tells that one.
    page = f"http://{settings.host}:{settings.port}/"
    log.info("started", database=service.store.name, keys=settings.needs_keys, page=page)
    yield
    stopping.set()
    sweeper.join()
    service.close()
    service.metrics.close()
    log.info("stopped")


def _warm(service: Service, warm: threading.Event, stopping: threading.Event) -> None:
    began = time.monotonic()
    try:
        service.warm_up(stopping.is_set)
        log.info("ready", seconds=round(time.monotonic() - began, 1))
    except ServiceError as error:  # a store in trouble, which each request will tell
        log.warning("warming up", why=str(error))
    finally:
        warm.set()


def _listen(stopping: threading.Event) -> None:
    """Note the signal to stop as soon as it comes: streams, which never end, must end then."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)

        def note(number: int, frame: Any, before: Any = before) -> None:
            stopping.set()
            if callable(before):
                before(number, frame)

        signal.signal(number, note)


def _sweep(service: Service, stopping: threading.Event) -> None:
    waited = 0.0
    while not stopping.wait(service.settings.sweep_s):
        waited += service.settings.sweep_s
        try:
            if waited >= _FORGET_EVERY_S:
                waited = 0.0
                service.forget_answers()
            service.sweep()
        except ServiceError as error:  # a store in trouble
            log.warning("sweep", why=str(error))
        except Exception:  # an error of ours, after which games must go on to expire
            log.exception("sweep")
