"""An HTTP server on loopback that answers as an extender, and notes what it was asked."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests import FIXTURES

RECORDED = FIXTURES / "extender"

#: Answers one request in its own way; whatever it sends is all that is sent.
Behaviour = Callable[["Handler"], None]


def recorded(name: str) -> tuple[dict[str, Any], Any]:
    """What a real kube-scheduler sent, and what it was answered."""
    exchange = json.loads((RECORDED / f"{name}.json").read_text())
    return exchange["request"]["body"], exchange["answer"]


class FakeExtender:
    """Answers by path: a value is sent as JSON, a function does as it likes."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        #: (path, body, headers) of every request.
        self.requests: list[tuple[str, Any, dict[str, str]]] = []
        self.released = threading.Event()

    def bodies(self, path: str) -> list[Any]:
        """What was sent to a path."""
        return [body for asked, body, _ in self.requests if asked == path]

    @contextmanager
    def serve(self, context: ssl.SSLContext | None = None) -> Iterator[str]:
        """The server's `host:port`, while it runs."""
        server = _Server(("127.0.0.1", 0), Handler)
        server.extender = self
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            self.released.set()
            server.shutdown()
            server.server_close()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    extender: FakeExtender

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that give up, or do not trust the certificate, are part of the tests."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        """Answer."""
        extender = self.server.extender
        text = self.rfile.read(int(self.headers["Content-Length"]))
        extender.requests.append(
            (self.path, json.loads(text), {name.title(): value for name, value in self.headers.items()})
        )
        answer = extender.answers.get(self.path)
        if callable(answer):
            answer(self)
        else:
            self.send(200 if self.path in extender.answers else 404, json.dumps(answer).encode())

    def send(self, status: int, body: bytes, **headers: str) -> None:
        """A whole response."""
        self.send_response(status)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
