"""A live cluster: `kwhatif schedule` against fetching the same lists raw and decoding the same bytes from a file.

The API server is the tests' fake one, on loopback, with TLS, a client certificate and pages of 500, in a process of its
own; its answers are encoded beforehand.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.context import Context
from benchmarks.dump import Generator, Shape
from benchmarks.process import KWHATIF, ROOT, costs_of
from benchmarks.rows import Row, times

PAGE = 500
#: 10,000 pods.
SHAPE = Shape(nodes=500, pods_per_node=20, budgets=400)
CERTS = ROOT / "tests" / "http" / "certs"
#: In the head of a page: its list goes on.
_MORE = re.compile(rb'"continue":"([^"]+)"')
POD = ROOT / "fixtures" / "demo" / "pods" / "small.yaml"


TITLE = "A live cluster"


def rows(context: Context) -> Iterator[Row]:
    """The whole command, beside its unavoidable parts."""
    shape = replace(SHAPE, nodes=5) if context.quick else SHAPE
    body = context.folder / "bodies.json"
    module = (sys.executable, "-m", "benchmarks.live")
    with _serving(context.folder, shape) as kubeconfig:
        fetched = costs_of(context.runs, {"fetch": (*module, "fetch", kubeconfig, body)})
        costs = fetched | costs_of(
            context.runs,
            {
                "decode": (*module, "decode", body),
                "live": (*KWHATIF, "schedule", POD, "--kubeconfig", kubeconfig, "-o", "json"),
            },
        )
    bare = costs["fetch"].seconds + costs["decode"].seconds
    what = f"`schedule`, {shape.nodes * shape.pods_per_node:,} pods in lists of {PAGE}"
    yield Row(what, costs["live"].seconds, "s", "fetching raw, and decoding the bytes", bare, times(1.5))


@contextmanager
def _serving(folder: Path, shape: Shape) -> Iterator[Path]:
    """A kubeconfig for a server that runs meanwhile."""
    command = [sys.executable, "-m", "benchmarks.live", "serve", str(shape.nodes)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        url = server.stdout.readline().decode().strip()
        path = folder / "config"
        cluster = {"server": url, "certificate-authority": str(CERTS / "ca.crt")}
        user = {"client-certificate": str(CERTS / "client.crt"), "client-key": str(CERTS / "client.key")}
        config = {
            "current-context": "bench",
            "contexts": [{"name": "bench", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
        }
        path.write_text(json.dumps(config))
        try:
            yield path
        finally:
            server.stdin.close()  # it ends with its input


def serve(nodes: int) -> None:
    """The server, until its input ends."""
    from kwhatif.sources.resources import BY_KIND
    from tests.http.fake_api import FakeAPI

    api = FakeAPI()
    objects: dict[str, list[Any]] = {kind: [] for kind in BY_KIND}
    for obj in Generator(replace(SHAPE, nodes=nodes)).objects():
        objects[obj["kind"]].append(obj)
    for kind, found in objects.items():
        api.pages[BY_KIND[kind].path] = dict(_pages(BY_KIND[kind].api_version, kind, found))
    with api.serve() as url:
        print(url, flush=True)
        sys.stdin.read()


def _pages(api_version: str, kind: str, objects: list[Any]) -> Iterator[tuple[str, bytes]]:
    for start in range(0, max(len(objects), 1), PAGE):
        rest = len(objects) - start - PAGE
        meta = {"resourceVersion": "1"} | (
            {"continue": str(start + PAGE), "remainingItemCount": rest} if rest > 0 else {}
        )
        page = {
            "kind": f"{kind}List",
            "apiVersion": api_version,
            "metadata": meta,
            "items": objects[start : start + PAGE],
        }
        yield str(start) if start else "", json.dumps(page, separators=(",", ":")).encode()


def fetch(kubeconfig: Path, target: Path) -> None:
    """All lists with nothing but an HTTP client; the bodies go to a file, a line each."""
    import urllib3

    from kwhatif.sources.resources import RESOURCES

    config = json.loads(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    pool = urllib3.PoolManager(
        maxsize=8,
        ca_certs=cluster["certificate-authority"],
        cert_file=user["client-certificate"],
        key_file=user["client-key"],
    )

    def bodies(path: str) -> list[bytes]:
        found: list[bytes] = []
        token = ""
        while True:
            body = pool.request("GET", f"{cluster['server']}{path}?limit={PAGE}&continue={token}").data
            found.append(body)
            match = _MORE.search(body, 0, 500)
            if match is None:
                return found
            token = match[1].decode()

    with ThreadPoolExecutor(8) as threads, target.open("wb") as file:
        for found in threads.map(bodies, [resource.path for resource in RESOURCES]):
            file.writelines(body + b"\n" for body in found)


def decode(source: Path) -> None:
    """Those bodies, decoded into the types that hold only what scheduling needs."""
    import gc

    import msgspec

    from kwhatif.sources.resources import BY_KIND

    class Head(msgspec.Struct):
        kind: str

    gc.disable()
    lists = {
        kind: msgspec.json.Decoder(msgspec.defstruct("Items", [("items", tuple[resource.type, ...])]))  # type: ignore[name-defined]
        for kind, resource in BY_KIND.items()
    }
    kept = []
    for body in source.read_bytes().splitlines():
        head = msgspec.json.decode(body, type=Head)
        kept.append(lists[head.kind.removesuffix("List")].decode(body))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", nodes]:
            serve(int(nodes))
        case ["fetch", kubeconfig, target]:
            fetch(Path(kubeconfig), Path(target))
        case ["decode", source]:
            decode(Path(source))
