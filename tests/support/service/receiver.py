"""An address that a webhook tells: it checks each message and answers as it is told to."""

import base64
import hashlib
import hmac
import http.server
import json
import threading
import time
from contextlib import contextmanager

KEY = bytes(range(32))
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"


class Receiver:
    """Messages in the order in which they came, as (id, message), and what they were answered."""

    def __init__(self):
        self.messages, self.statuses = [], []
        self.refuse = lambda message: False
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                id, sent = self.headers["webhook-id"], self.headers["webhook-timestamp"]
                signed = hmac.new(KEY, f"{id}.{sent}.".encode() + body, hashlib.sha256).digest()
                expected = f"v1,{base64.b64encode(signed).decode()}"
                message = json.loads(body)
                fine = self.headers["webhook-signature"] == expected
                fine &= abs(time.time() - int(sent)) < 60
                status = 400 if not fine else 500 if outer.refuse(message) else 204
                outer.messages.append((id, message))
                outer.statuses.append(status)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/pairup"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def settings(self):
        return {"webhook_url": self.url, "webhook_secret": SECRET}

    def taken(self, pool):
        """The messages about a pool that were taken, by id."""
        sent = zip(self.messages, self.statuses, strict=True)
        mine = [each for each, status in sent if status == 204]
        return [(id, message) for id, message in mine if message["data"]["pool"] == pool]

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def receiving():
    receiver = Receiver()
    try:
        yield receiver
    finally:
        receiver.close()
