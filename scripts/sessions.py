"""What commands print that need a live cluster or somebody who asks: for their pages of the site.

The cluster is the tests' API server on loopback, with what a real one answered. Each session ends within seconds.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from generate import ROOT

sys.path.insert(0, str(ROOT))
from tests.http.conftest import kubeconfig_writer
from tests.http.fake_api import FakeAPI

_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "new", "namespace": "shop"},
    "spec": {"containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1500m"}}}]},
}
_NODES = "/api/v1/nodes"


def sessions() -> dict[str, str]:
    """The commands, and what a terminal shows of a session with each."""
    with tempfile.TemporaryDirectory() as folder, _cluster(Path(folder)) as (api, run):
        return {
            "watch": _watching(api, run),
            "serve": _serving(run),
            "snapshot save": _saving(run),
            "mcp": _conversation(run),
        }


class _Run:
    """Starts kwhatif in a folder, with the cluster as that of kubeconfig."""

    def __init__(self, folder: Path, kubeconfig: str) -> None:
        self.folder = folder
        self._environment = os.environ | {"KUBECONFIG": kubeconfig}

    def __call__(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "kwhatif", *words],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@contextmanager
def _cluster(folder: Path) -> Iterator[tuple[FakeAPI, _Run]]:
    api = FakeAPI()
    with api.serve() as url:
        yield api, _Run(folder, kubeconfig_writer(folder, url)())


def _watching(api: FakeAPI, run: _Run) -> str:
    (run.folder / "new.yaml").write_text(json.dumps(_POD))
    process = run("watch", "schedule", "new.yaml")
    lines = [_line(process)]
    nodes = [each for page in api.pages[_NODES].values() for each in page["items"]]
    for cordoned in (True, False):
        for node in nodes:
            spec = node.get("spec", {}) | {"unschedulable": cordoned}
            api.change(_NODES, node | {"apiVersion": "v1", "kind": "Node", "spec": spec})
        lines.append(_line(process))
    process.send_signal(signal.SIGINT)
    process.communicate()
    return _console("kwhatif watch schedule new.yaml | cat", "".join(lines))


def _serving(run: _Run) -> str:
    process = run("serve", "--metrics", "--listen", "127.0.0.1:0")
    said = _line(process)
    address = said.split()[-1]
    for _ in range(100):
        with urllib.request.urlopen(address) as answer:
            text = answer.read().decode()
        if "kwhatif_pods_pending" in text and "kwhatif_worst_loss" in text:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.communicate()
    own = [line for line in text.splitlines() if line.startswith(("kwhatif_pods", "kwhatif_nodes", "kwhatif_worst"))]
    asked = _console(f"curl -s {address} | grep ^kwhatif_", "\n".join(own))
    return f"{_console('kwhatif serve --metrics', said)}\n\n{asked}"


def _saving(run: _Run) -> str:
    shown = []
    for words in (("snapshot", "save", "cluster.json.gz"), ("snapshot", "info", "cluster.json.gz")):
        printed, _ = run(*words).communicate()
        shown.append(f"$ kwhatif {' '.join(words)}\n{printed.rstrip()}")
    return "```console\n" + "\n".join(shown) + "\n```"


def _conversation(run: _Run) -> str:
    """What is said on stdin and stdout, as any client of the protocol says it."""
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "page", "version": "1"}}
    asked = {"name": "drain", "arguments": {"nodes": ["general-a1"], "ignore_daemonsets": True}}
    with run("mcp", "--from", str(ROOT / "fixtures" / "demo" / "cluster.yaml")) as process:
        assert process.stdin is not None
        _say(process.stdin, {"id": 1, "method": "initialize", "params": start})
        _line(process)
        _say(process.stdin, {"method": "notifications/initialized"})
        question = _say(process.stdin, {"id": 2, "method": "tools/call", "params": asked})
        text = json.loads(_line(process))["result"]["content"][0]["text"]
        process.stdin.close()
    about = "A question, as a client of the protocol writes it to stdin, and the text of the answer:"
    return f"{about}\n\n```json\n{question}```\n\n```text\n{text}\n```"


def _say(stdin: IO[str], message: dict[str, Any]) -> str:
    text = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    stdin.write(text)
    stdin.flush()
    return text


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def _console(command: str, printed: str) -> str:
    return f"```console\n$ {command}\n{printed.rstrip()}\n```"


if __name__ == "__main__":
    for name, shown in sessions().items():
        print(f"== {name}\n{shown}")
