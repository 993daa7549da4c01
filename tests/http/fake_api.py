"""An HTTPS server on loopback that answers as a real API server did (fixtures/live), and misbehaves when a test asks for it."""

import gzip
import json
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kwhatif.sources.decoding.kinds import ASKED
from tests import FIXTURES

RECORDED = FIXTURES / "live"
CERTS = Path(__file__).parent / "certs"
TOKEN = "a-test-token"

#: Answers one request in its own way; whatever it sends is all that is sent.
Behaviour = Callable[["Handler"], None]


def recorded(name: str) -> dict[str, Any]:
    """A recorded exchange: request, status, contentType, body."""
    return json.loads((RECORDED / f"{name}.json").read_text())


class FakeAPI:
    """The server: what it holds, what it was asked, and what it is to do wrong."""

    def __init__(self) -> None:
        #: Path -> `continue` token of the request -> body.
        self.pages: dict[str, dict[str, Any]] = {}
        #: What happens instead of the next answers for a path; "" is any path.
        self.behaviours: dict[str, deque[Behaviour]] = {}
        #: The same, for every request.
        self.always: dict[str, Behaviour] = {}
        self.token = TOKEN
        self.requests: list[tuple[str, str, dict[str, list[str]]]] = []
        #: By what its clients were known: the subject of a certificate, or an Authorization header.
        self.credentials: set[str] = set()
        #: The names by which they asked for it, in the TLS handshake.
        self.server_names: set[str] = set()
        self.released = threading.Event()
        #: What happened to the objects of a path, for who watches: resourceVersion, type, object.
        self.journal: dict[str, list[tuple[int, str, Any]]] = {}
        self.happened = threading.Condition()
        #: The state of the cluster; the oldest of which it is known what happened since; how often watches were cut.
        self.version, self.oldest, self.cuts = 10_000, 0, 0
        #: How many watches are open.
        self.watches = 0
        for asked in ASKED:
            if asked.is_everywhere:
                version = asked.versions[0]
                self.pages[asked.path(version)] = {"": empty_list(asked.api_version(version), asked.kind)}
        for path in sorted(RECORDED.glob("*.json")):
            exchange = json.loads(path.read_text())
            if exchange["status"] == 200:
                url = urlsplit(exchange["request"]["path"])
                token = parse_qs(url.query).get("continue", [""])[0]
                self.pages.setdefault(url.path, {})[token] = exchange["body"]

    def next(self, path: str, *behaviours: Behaviour) -> None:
        """Misbehave so, in turn, when the path is asked for."""
        self.behaviours.setdefault(path, deque()).extend(behaviours)

    def change(self, path: str, obj: Any, *, gone: bool = False) -> None:
        """An object comes, changes or goes, and who watches is told."""
        with self.happened:
            self.version += 1
            obj = obj | {"metadata": obj["metadata"] | {"resourceVersion": str(self.version)}}
            pages = [page if isinstance(page, dict) else json.loads(page) for page in self.pages[path].values()]
            items = {_name(item): item for page in pages for item in page["items"]}
            kind = "DELETED" if gone else "MODIFIED" if _name(obj) in items else "ADDED"
            items[_name(obj)] = obj
            if gone:
                del items[_name(obj)]
            meta = {"resourceVersion": str(self.version)}
            in_order = [items[name] for name in sorted(items)]
            self.pages[path] = {"": pages[0] | {"metadata": meta, "items": in_order}}
            self.journal.setdefault(path, []).append((self.version, kind, obj))
            self.happened.notify_all()

    def compact(self) -> None:
        """Forget what happened so far, and end all watches."""
        with self.happened:
            self.oldest = self.version
            for path, events in self.journal.items():
                self.journal[path] = [event for event in events if event[0] > self.oldest]
        self.cut()

    def cut(self) -> None:
        """End all watches, as a server does that is restarted."""
        with self.happened:
            self.cuts += 1
            self.happened.notify_all()

    def watched(self, path: str) -> int:
        """How often the path was watched."""
        asked = (urlsplit(each) for _, each, _ in self.requests)
        return sum(url.path == path and "watch=true" in url.query for url in asked)

    def asked(self, path: str) -> int:
        """How often the path was asked for."""
        return sum(urlsplit(asked).path == path for _, asked, _ in self.requests)

    @contextmanager
    def serve(self) -> Iterator[str]:
        """The server's URL, while it runs."""
        server = _Server(("127.0.0.1", 0), Handler)
        server.api = self
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTS / "server.crt", CERTS / "server.key")
        context.load_verify_locations(CERTS / "ca.crt")
        context.verify_mode = ssl.CERT_OPTIONAL
        context.sni_callback = lambda _socket, name, _context: self.server_names.add(name)
        server.context = context
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_port}"
        finally:
            self.released.set()
            server.shutdown()
            server.server_close()
            thread.join()


def empty_list(api_version: str, kind: str) -> dict[str, Any]:
    """What the API answers where there is nothing."""
    return {"kind": f"{kind}List", "apiVersion": api_version, "metadata": {"resourceVersion": "956"}, "items": []}


def _name(obj: Any) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _selected(page: Any, selector: str) -> Any:
    """The entries of a page that a field selector wants, such as `reason=Scheduled`."""
    if not selector:
        return page
    field, _, value = selector.partition("=")
    return page | {"items": [item for item in page["items"] if item.get(field) == value]}


class _Socket(ssl.SSLSocket):
    """A socket that is closed with its last reference where there was no handshake.

    `SSLContext.wrap_socket`, on either side, leaves the new socket open, and unknown to its caller, where the peer has
    reset the connection. (One that is left open after its handshake is still warned about.)
    """

    def __del__(self) -> None:
        if self._sslobj is None:  # type: ignore[attr-defined]
            self.close()


ssl.SSLContext.sslsocket_class = _Socket


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    api: FakeAPI
    context: ssl.SSLContext

    def finish_request(self, request: Any, client_address: Any) -> None:
        # Here, not in accept(): one slow handshake must not keep others waiting.
        try:
            with self.context.wrap_socket(request, server_side=True) as secure:
                self.RequestHandlerClass(secure, client_address, self)  # type: ignore[arg-type] # nobody derives from this class
        except (OSError, ssl.SSLError):
            pass  # the client did not like our certificate, or went away

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        api = self.server.api
        url = urlsplit(self.path)
        headers = {name: self.headers.get_all(name) or [] for name in self.headers}
        api.requests.append((self.command, self.path, headers))
        for path in (url.path, ""):
            if api.behaviours.get(path):
                api.behaviours[path].popleft()(self)
                return
            if path in api.always:
                api.always[path](self)
                return
        if not self._knows_client():
            answer(401, status(401, "Unauthorized", "Unauthorized"))(self)
            return
        query = parse_qs(url.query)
        if "watch" in query and url.path in api.pages:
            self.watch(url.path, query)
        else:
            self._serve(url.path, query)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do_GET

    def _knows_client(self) -> bool:
        assert isinstance(self.connection, ssl.SSLSocket)
        header = self.headers.get("authorization", "")
        certificate: Any = self.connection.getpeercert() or {}
        subject = "/".join(f"{key}={value}" for ((key, value),) in certificate.get("subject", ()))
        self.server.api.credentials |= {subject, header} - {""}
        return bool(certificate) or header.casefold() == f"bearer {self.server.api.token}".casefold()

    def watch(self, path: str, query: dict[str, list[str]]) -> None:
        """What happens to the objects of a path, until the watches are cut."""
        api = self.server.api
        seen = int(query["resourceVersion"][0] or 0)
        selector = query.get("fieldSelector", [""])[0]
        if seen < api.oldest and api.journal.get(path) is not None:
            answer(410, status(410, "Expired", f"too old resource version: {seen} ({api.oldest})"))(self)
            return
        _head(self, 200, "application/json", {"Transfer-Encoding": "chunked"})
        cuts = api.cuts
        api.watches += 1
        try:
            while not api.released.is_set():
                with api.happened:
                    api.happened.wait_for(lambda seen=seen: self._is_due(path, seen, cuts), timeout=0.2)  # type: ignore[misc]
                    events = [each for each in api.journal.get(path, ()) if each[0] > seen]
                    is_over, version = api.cuts != cuts, api.version
                for seen, kind, obj in events:  # noqa: B007
                    if not selector or _selected({"items": [obj]}, selector)["items"]:
                        self.line({"type": kind, "object": obj})
                if is_over:
                    break
                if not events:  # a real server does so every minute
                    seen = version
                    meta = {"resourceVersion": str(version)}
                    self.line({"type": "BOOKMARK", "object": {"metadata": meta}})
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True
        finally:
            api.watches -= 1

    def _is_due(self, path: str, seen: int, cuts: int) -> bool:
        api = self.server.api
        events = api.journal.get(path)
        return api.cuts != cuts or api.released.is_set() or bool(events and events[-1][0] > seen)

    def line(self, event: Any) -> None:
        """One event of a watch."""
        data = json.dumps(event).encode() + b"\n"
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _serve(self, path: str, query: dict[str, list[str]]) -> None:
        pages = self.server.api.pages.get(path)
        token = query.get("continue", [""])[0]
        if pages is None:
            answer(404, recorded("group-not-served")["body"])(self)
        elif token not in pages:
            answer(410, recorded("continue-expired")["body"])(self)
        else:
            answer(200, _selected(pages[token], query.get("fieldSelector", [""])[0]))(self)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def status(code: int, reason: str, message: str, **metadata: str) -> dict[str, Any]:
    """A `metav1.Status`."""
    head = {"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure"}
    return head | {"message": message, "reason": reason, "code": code}


def answer(code: int, body: Any, content_type: str = "application/json", **headers: str) -> Behaviour:
    """A whole answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    def behave(handler: Handler) -> None:
        _head(handler, code, content_type, {"Content-Length": str(len(data)), **headers})
        handler.wfile.write(data)

    return behave


def drop(handler: Handler) -> None:
    """Close the connection without a word, as a crashed server does."""
    handler.close_connection = True
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def cut(body: Any, *, said: bool = True) -> Behaviour:
    """Half of a body, and the end of the connection; with `said` the head has said how long it is."""
    data = json.dumps(body).encode()

    def behave(handler: Handler) -> None:
        _head(handler, 200, "application/json", {"Content-Length": str(len(data))} if said else {"Connection": "close"})
        handler.wfile.write(data[: len(data) // 2])
        handler.close_connection = True

    return behave


def cut_chunk(handler: Handler) -> None:
    """A chunk that is shorter than it says."""
    _head(handler, 200, "application/json", {"Transfer-Encoding": "chunked"})
    handler.wfile.write(b'ffff\r\n{"kind": "PodList"')
    handler.close_connection = True


def hang(handler: Handler) -> None:
    """Never answer."""
    handler.close_connection = True
    handler.server.api.released.wait(30)


def drip(handler: Handler) -> None:
    """A byte now and then, forever."""
    _head(handler, 200, "application/json", {"Content-Length": "1000000"})
    handler.close_connection = True
    try:
        while not handler.server.api.released.wait(0.05):
            handler.wfile.write(b" ")
            handler.wfile.flush()
    except OSError:
        pass


def _trickle(handler: Handler, first: bytes, again: bytes) -> None:
    handler.close_connection = True
    try:
        handler.wfile.write(first)
        while not handler.server.api.released.wait(0.02):
            handler.wfile.write(again)
            handler.wfile.flush()
    except OSError:
        pass


def drip_headers(handler: Handler) -> None:
    """A header that goes on forever, byte by byte."""
    _trickle(handler, b"HTTP/1.1 200 OK\r\nX-Endless: ", b"x")


def drip_continue(handler: Handler) -> None:
    """`100 Continue`, forever."""
    _trickle(handler, b"", b"HTTP/1.1 100 Continue\r\n\r\n")


def drip_chunk_size(handler: Handler) -> None:
    """The length of a chunk that goes on forever, byte by byte."""
    _trickle(handler, b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n", b"0")


def endless(handler: Handler) -> None:
    """A body without an end, as fast as it is taken."""
    _head(handler, 200, "application/json", {"Connection": "close"})
    handler.close_connection = True
    try:
        while not handler.server.api.released.is_set():
            handler.wfile.write(b" " * (1 << 16))
    except OSError:
        pass


def inflated(handler: Handler) -> None:
    """A small body that becomes a very large one."""
    packed = gzip.compress(b" " * (8 << 20))
    answer(200, packed, Content_Encoding="gzip")(handler)


def pages(kind: str, tokens: Iterator[str]) -> Behaviour:
    """An empty page, with the next of the tokens to go on."""

    def behave(handler: Handler) -> None:
        page = {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {"continue": next(tokens)}, "items": []}
        answer(200, page)(handler)

    return behave


def _head(handler: Handler, code: int, content_type: str, headers: dict[str, str]) -> None:
    handler.send_response(code)
    handler.send_header("Content-Type", content_type)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
