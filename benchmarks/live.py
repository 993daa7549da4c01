"""`kwhatif schedule` on a live cluster, against fetching the same lists raw and decoding the same bytes from a file.

The API server is the tests' fake one, on loopback, with TLS, a client certificate and pages of 500, in a process of its
own; its answers are encoded beforehand.
"""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.context import Context
from benchmarks.dump import Generator, Shape
from benchmarks.process import KWHATIF, ROOT, costs_of
from benchmarks.rows import Row, times

TITLE = "A live cluster"
PAGE = 500
CERTS = ROOT / "tests" / "http" / "certs"
THIS = (sys.executable, "-m", "benchmarks.live")
#: In the head of a page: its list goes on.
MORE = re.compile(rb'"continue":"([^"]+)"')
RATIO = times(1.5)

#: Answers a GET of a URL with the body.
Get = Callable[[str], bytes]


def rows(context: Context) -> Iterator[Row]:
    """Ten thousand pods."""
    shape = Shape(nodes=10 if context.quick else 500, pods_per_node=20, budgets=400)
    pods = shape.nodes * shape.pods_per_node
    body = context.folder / "bodies.json"
    with _serving(context.folder, shape) as kubeconfig:
        costs = costs_of(
            1 if context.quick else 5,
            {
                "bare": (*THIS, "urllib3", kubeconfig, body),
                "client": (*THIS, "client", kubeconfig, body),
                "decode": (*THIS, "decode", body),
                "live": (*KWHATIF, "schedule", context.manifest(), "--kubeconfig", kubeconfig),
            },
        )
    seconds = {name: cost.seconds for name, cost in costs.items()}
    what = f"`schedule`, live, {pods:,} pods, {body.stat().st_size / 2**20:.0f} MiB in lists of {PAGE}"
    bare, official = (seconds[name] + seconds["decode"] for name in ("bare", "client"))
    yield Row(what, seconds["live"], "s", "fetching them raw with urllib3 alone, and msgspec", bare, RATIO)
    yield Row("the same", seconds["live"], "s", "fetching them with the official client, and msgspec", official)
    yield Row("the same: memory", costs["live"].peak, "GB", "the decoding", costs["decode"].peak)


@contextmanager
def _serving(folder: Path, shape: Shape) -> Iterator[Path]:
    """A kubeconfig for a server that runs meanwhile."""
    argv = [*THIS, "serve", str(shape.nodes), str(shape.pods_per_node), str(shape.budgets)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        cluster = {"server": server.stdout.readline().decode().strip(), "certificate-authority": str(CERTS / "ca.crt")}
        user = {"client-certificate": str(CERTS / "client.crt"), "client-key": str(CERTS / "client.key")}
        path = folder / "config"
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


def serve(shape: Shape) -> None:
    """The server, until its input ends."""
    from kwhatif.sources.resources import BY_KIND
    from tests.http.fake_api import FakeAPI

    api = FakeAPI()
    objects: dict[str, list[Any]] = {kind: [] for kind in BY_KIND}
    for obj in Generator(shape).objects():
        objects[obj["kind"]].append(obj)
    for kind, found in objects.items():
        api.pages[BY_KIND[kind].path] = dict(_pages(BY_KIND[kind].api_version, kind, found))
    with api.serve() as url:
        print(url, flush=True)
        sys.stdin.read()


def _pages(api_version: str, kind: str, objects: list[Any]) -> Iterator[tuple[str, bytes]]:
    for start in range(0, max(len(objects), 1), PAGE):
        rest = len(objects) - start - PAGE
        more = {"continue": str(start + PAGE), "remainingItemCount": rest} if rest > 0 else {}
        items = objects[start : start + PAGE]
        page = {"kind": f"{kind}List", "apiVersion": api_version, "metadata": more, "items": items}
        yield str(start) if start else "", json.dumps(page, separators=(",", ":")).encode()


def with_urllib3(kubeconfig: Path) -> tuple[str, Get]:
    """The server, and how to ask it with nothing but an HTTP client."""
    import urllib3

    config = json.loads(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    pool = urllib3.PoolManager(
        maxsize=8,
        ca_certs=cluster["certificate-authority"],
        cert_file=user["client-certificate"],
        key_file=user["client-key"],
    )
    return cluster["server"], lambda url: pool.request("GET", url).data


def with_client(kubeconfig: Path) -> tuple[str, Get]:
    """The same with the official client, past its models."""
    from kubernetes.client.configuration import Configuration
    from kubernetes.client.rest import RESTClientObject
    from kubernetes.config.kube_config import load_kube_config

    configuration = Configuration()
    load_kube_config(str(kubeconfig), client_configuration=configuration)
    configuration.connection_pool_maxsize = 8
    pool = RESTClientObject(configuration).pool_manager
    return configuration.host, lambda url: pool.request("GET", url).data


def fetch(server: str, get: Get, target: Path) -> None:
    """All lists; the bodies go to a file, a line each."""
    from kwhatif.sources.resources import RESOURCES

    def bodies(path: str) -> list[bytes]:
        found = [get(f"{server}{path}?limit={PAGE}")]
        while match := MORE.search(found[-1], 0, 500):
            found.append(get(f"{server}{path}?limit={PAGE}&continue={match[1].decode()}"))
        return found

    with ThreadPoolExecutor(8) as threads, target.open("wb") as file:
        for found in threads.map(bodies, [resource.path for resource in RESOURCES]):
            file.writelines(body + b"\n" for body in found)


def decode(source: Path) -> None:
    """Those bodies, decoded into the types that hold only what scheduling needs."""
    import msgspec

    from kwhatif.sources.resources import BY_KIND

    gc.disable()
    head = msgspec.json.Decoder(msgspec.defstruct("Head", [("kind", str)]))
    lists = {
        f"{kind}List": msgspec.json.Decoder(msgspec.defstruct("Items", [("items", tuple[resource.type, ...])]))  # type: ignore[name-defined]
        for kind, resource in BY_KIND.items()
    }
    kept = [lists[head.decode(body).kind].decode(body) for body in source.read_bytes().splitlines()]
    assert kept


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", nodes, pods, budgets]:
            serve(Shape(nodes=int(nodes), pods_per_node=int(pods), budgets=int(budgets)))
        case ["urllib3", kubeconfig, target]:
            fetch(*with_urllib3(Path(kubeconfig)), Path(target))
        case ["client", kubeconfig, target]:
            fetch(*with_client(Path(kubeconfig)), Path(target))
        case ["decode", source]:
            decode(Path(source))
