"""The service on loopback, in a thread of this process."""

import threading
import time
from contextlib import contextmanager

import uvicorn

from pairup.service.app import create_app
from pairup.service.settings import Settings


@contextmanager
def served(database, **settings):
    """Serve a database on any free port; yields the address."""
    app = create_app(Settings(database=database, sweep_s=3600, **settings))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
