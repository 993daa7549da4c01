"""`kwhatif schedule` on a live cluster, against fetching the same lists raw and decoding the same bytes from a file.

The API server is the tests' fake one, on loopback, with TLS, a client certificate and pages of 500, in a process of its
own; its answers are encoded beforehand.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.context import Context
from benchmarks.dump import Generator, Shape
from benchmarks.fetching import PAGE
from benchmarks.process import KWHATIF, ROOT, costs_of
from benchmarks.rows import Row, times
from kwhatif.sources.decoding.kinds import BY_KIND, RESOURCES

TITLE = "A live cluster"
NOTE = """\
Raw is: past all models. The official client, which kwhatif uses for configuration and authentication, takes some 0.3 s
to be imported as a whole; urllib3 alone knows neither exec plugins nor tokens, and is the stricter measure. Beyond
reading, a third of the live command's time goes into imports, and as much into admission, the snapshot, the answer on
500 full nodes, and the table."""
CERTS = ROOT / "tests" / "http" / "certs"
THIS = (sys.executable, "-m", "benchmarks.live")
RATIO = times(1.5)
REFERENCE = (sys.executable, "-m", "benchmarks.fetching")


def rows(context: Context) -> Iterator[Row]:
    """Ten thousand pods."""
    shape = Shape(nodes=10 if context.quick else 500, pods_per_node=20, budgets=400)
    pods = shape.nodes * shape.pods_per_node
    body = context.folder / "bodies.json"
    paths = [resource.path for resource in RESOURCES]
    with _serving(context.folder, shape) as kubeconfig:
        costs = costs_of(
            1 if context.quick else 5,
            {
                "bare": (*REFERENCE, "urllib3", kubeconfig, body, *paths),
                "client": (*REFERENCE, "client", kubeconfig, body, *paths),
                "decode": (*REFERENCE, "decode", body),
                "live": (*KWHATIF, "schedule", context.manifest(), "--kubeconfig", kubeconfig),
            },
        )
    seconds = {name: cost.seconds for name, cost in costs.items()}
    what = f"`schedule`, live, {pods:,} pods, {body.stat().st_size / 2**20:.0f} MiB in lists of {PAGE}"
    bare, official = (seconds[name] + seconds["decode"] for name in ("bare", "client"))
    yield Row(what, seconds["live"], "s", "fetching them raw with the official client, and msgspec", official, RATIO)
    strictly = "`schedule`, live, by the stricter measure"
    yield Row(strictly, seconds["live"], "s", "fetching them raw with urllib3 alone, and msgspec", bare, RATIO)
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


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", nodes, pods, budgets]:
            serve(Shape(nodes=int(nodes), pods_per_node=int(pods), budgets=int(budgets)))
