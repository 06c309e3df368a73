"""The application: its routes, its error handlers, and the threads that run beside it."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import structlog
from anyio import CapacityLimiter
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI

from pairup.errors import ServiceError
from pairup.service import dashboard
from pairup.service.api.forwarding import Forwarding
from pairup.service.api.middleware import RequestObserver, SizeLimits
from pairup.service.api.openapi import make_api
from pairup.service.api.responses import HANDLERS
from pairup.service.domain.events import Clock
from pairup.service.pools.service import Service
from pairup.service.settings import Settings
from pairup.service.store import Store
from pairup.service.webhook import Webhook

log = structlog.get_logger()
_MEASURE_EVERY_S = 5.0  # seconds between two looks at what others have changed in pools
_FORGET_EVERY_S = 60.0  # seconds between two searches for old idempotent replies


def create_app(
    settings: Settings,
    clock: Clock | None = None,
    store: Store | None = None,
    address: str = "",
) -> FastAPI:
    """Make the application; unless a store is given, the database is opened and migrated.

    With an address, other processes on the same server reach it there, and each pool is served by
    one of them.
    """
    settings.check()
    settings.allow_policies()
    app = make_api(settings.needs_keys, lifespan=_lifespan)
    app.state.service = service = Service(settings, store or store_of(settings), clock)
    app.state.ready, app.state.stopping = threading.Event(), threading.Event()
    app.state.address = address
    app.state.health_limiter, app.state.open_streams = CapacityLimiter(2), 0
    dashboard.add_to(app)
    for kind, handler in HANDLERS.items():
        app.add_exception_handler(kind, handler)
    app.add_middleware(Forwarding, service=service)
    app.add_middleware(SizeLimits, settings=settings)
    app.add_middleware(RequestObserver, metrics=service.metrics)
    return app


def store_of(settings: Settings) -> Store:
    """Open the database of the settings."""
    return Store(settings.database, min_free_bytes=settings.min_free_bytes, wait_s=settings.wait_s)


def end_in_time(app: FastAPI) -> None:
    """End this process soon after a signal to stop, whatever its requests do meanwhile."""
    stopping, graceful_s = app.state.stopping, app.state.service.settings.graceful_s

    def end() -> None:
        stopping.wait()
        time.sleep(2 * graceful_s)  # for requests to finish, and for pools to be saved
        log.error("ended by force", seconds=2 * graceful_s)
        sys.stdout.flush()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def freeze_imports() -> None:
    """Exclude what was imported from the search for garbage, which took a third of a second.

    Large batches make thousands of objects, none of them garbage: searches are rarer than usual.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    service, stopping = app.state.service, app.state.stopping
    _note_signals(stopping)
    settings, ready = service.settings, app.state.ready
    if app.state.address:
        service.share_pools(app.state.address)
    current_default_thread_limiter().total_tokens = settings.threads
    warming = threading.Thread(target=_warm_up, args=(service, ready, stopping), daemon=True)
    warming.start()
    sweeper = threading.Thread(target=_sweep, args=(service, stopping), daemon=True)
    sweeper.start()
    repeated = [_repeat(service.watch_streams, settings.poll_s, stopping)]
    webhook = None
    if settings.webhook_url:
        webhook = Webhook(settings, service.store, service.pools, service.clock, service.metrics)
        repeated.append(_repeat(webhook.tell, settings.sweep_s, stopping))
    log.info("started", database=service.store.name, keys=settings.needs_keys)
    yield {"settings": settings, "metrics": service.metrics}  # for `connections`
    stopping.set()
    sweeper.join()
    for each in repeated:
        each.join()
    if webhook is not None:
        webhook.close()
    warming.join(settings.graceful_s)  # it may read a pool; longer, for a compiler, is not worth it
    service.close()
    service.metrics.close()
    log.info("stopped")


def _warm_up(service: Service, ready: threading.Event, stopping: threading.Event) -> None:
    began = time.monotonic()
    try:
        service.warm_up(stopping.is_set)
        log.info("ready", seconds=round(time.monotonic() - began, 1))
    except ServiceError as error:  # a store in trouble, which each request will report
        log.warning("warm-up failed", why=str(error))
    finally:
        ready.set()


def _note_signals(stopping: threading.Event) -> None:
    """Set `stopping` at a signal to stop: streams, which never end by themselves, must end."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)

        def note(number: int, frame: Any, before: Any = before) -> None:
            stopping.set()
            if callable(before):
                before(number, frame)

        signal.signal(number, note)


def _repeat(
    what: Callable[[], None], every_s: float, stopping: threading.Event
) -> threading.Thread:
    """Do something again and again in a thread of its own, until the service stops."""

    def run() -> None:
        while not stopping.wait(every_s):
            try:
                what()
            except ServiceError as error:  # a store in trouble
                log.warning(what.__name__, why=str(error))
            except Exception:
                log.exception(what.__name__)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def _sweep(service: Service, stopping: threading.Event) -> None:
    measured = 0.0
    waited = _FORGET_EVERY_S  # at once, which also counts the replies that are kept
    while not stopping.wait(service.settings.sweep_s):
        waited += service.settings.sweep_s
        try:
            if waited >= _FORGET_EVERY_S:
                waited = 0.0
                service.forget_replies()
            service.store.probe()
            service.expire_games()
            service.pools.hand_over()
            if (measured := measured + service.settings.sweep_s) >= _MEASURE_EVERY_S:
                measured = 0.0
                service.measure_pools(update=True)
        except ServiceError as error:  # a store in trouble
            log.warning("sweep", why=str(error))
        except Exception:  # a bug of the service, after which games must go on to expire
            log.exception("sweep")
    try:
        service.leave()  # at once: requests may take a while to end
    except ServiceError as error:
        log.warning("lease not ended", why=str(error))
