"""The server: starts the application, and shuts it down in order."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import signal
import socket
import tempfile
import threading
from contextlib import ExitStack
from multiprocessing.process import BaseProcess

import structlog
import uvicorn
from prometheus_client.multiprocess import mark_process_dead

from pairup.errors import ServiceError
from pairup.service.app import create_app, end_in_time, freeze_imports, store_of
from pairup.service.domain.events import WallClock
from pairup.service.observability import logs
from pairup.service.observability.metrics import SHARED
from pairup.service.settings import Settings
from pairup.service.store import Store

_LOOK_S = 1.0  # between two looks at workers, which are started again if they have ended
_BACKLOG = 2_048  # connections that wait to be accepted
_OTHER_FILES = 100  # of the database, the log, workers and what is read at times
log = structlog.get_logger()


def serve(settings: Settings) -> None:
    """Serve until a signal says to stop; then finish requests and save pools."""
    settings.check()
    settings.allow_policies()
    logs.set_up(settings)
    with ExitStack() as stack:
        sockets = listen(settings.host, settings.port, stack)  # before anything else is done
        store = open_store(settings)
        settings = limit_connections(settings)
        for each in sockets:
            log.info("listening", page=f"{_address(each)}/")
        if settings.workers == 1:
            work(settings, sockets, store=store)
        else:
            store.close()
            _run_workers(settings, sockets)


def work(
    settings: Settings,
    sockets: list[socket.socket],
    number: int = 0,
    store: Store | None = None,
) -> None:
    """Serve in this process, one of several that share the sockets, or the only one."""
    # Uvicorn raises the signal that stopped it once more, which would make the exit a failure.
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda number, frame: None)
    logs.set_up(settings)
    with ExitStack() as stack:
        peers = list[socket.socket]()
        if settings.on_server:
            port = settings.peer_port and settings.peer_port + number
            peers = listen(settings.peer_host, port, stack)[:1]
        address = _address(peers[0]) if peers else ""
        app = create_app(settings, store=store, address=address)
        freeze_imports()
        end_in_time(app)
        config = uvicorn.Config(
            app,
            loop="pairup.service.connections:Loop",
            http="pairup.service.connections:Connection",
            h11_max_incomplete_event_size=settings.max_header_bytes,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=settings.graceful_s,
            server_header=False,
        )
        uvicorn.Server(config).run([*sockets, *peers])


def _run_workers(settings: Settings, sockets: list[socket.socket]) -> None:
    """Serve from several processes, which own some of the pools each, until a signal to stop."""
    stopping, spawning = threading.Event(), multiprocessing.get_context("spawn")
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda number, frame: stopping.set())
    with tempfile.TemporaryDirectory(prefix="pairup-metrics-") as shared:
        os.environ[SHARED] = shared

        def start(number: int) -> BaseProcess:
            made = spawning.Process(target=work, args=(settings, sockets, number))
            made.start()
            return made

        workers = [start(number) for number in range(settings.workers)]
        while not stopping.wait(_LOOK_S):
            for number, worker in enumerate(workers):
                if not worker.is_alive():
                    log.error("worker ended", pid=worker.pid, status=worker.exitcode)
                    mark_process_dead(worker.pid)
                    workers[number] = start(number)
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join(3 * settings.graceful_s)  # it ends by itself before
            worker.kill()


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def listen(host: str, port: int, stack: ExitStack) -> list[socket.socket]:
    """Listen on the address until the stack is closed, or refuse it."""
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
    if store.server is not None:
        log.info("server", version=store.server.version, **store.server.settings)
        for each in store.server.unsafe:
            log.warning("unsafe database", why=each)
    with store.reading() as transaction:
        valid = transaction.valid_api_keys(WallClock().now())
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
