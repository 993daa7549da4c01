"""`kwhatif serve --metrics`: what Prometheus reads, who may ask, and what is refused."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.cli.test_watch import NODES, POD, PODS, Running, a_node
from tests.http.conftest import kubeconfig_writer
from tests.http.fake_api import FakeAPI, answer, drop, status
from tests.http.test_watch import a_pod
from tests.unit.cli.test_metrics import EXAMPLES

Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]


class Page:
    def __init__(self, command: Running) -> None:
        assert command.process.stderr is not None
        self.url = re.sub(r"^serving |/metrics\n$", "", command.process.stderr.readline())

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urlopen(self.url + path, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as refused:
            return refused.code, refused.read().decode()

    def samples(self) -> Samples:
        found: Samples = {}
        for family in text_string_to_metric_families(self.get("/metrics")[1]):
            for sample in family.samples:
                found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
        return found

    def until(self, name: str, labels: dict[str, str], value: float) -> Samples:
        end = time.monotonic() + 60
        while True:
            samples = self.samples()
            if samples.get(name, {}).get(tuple(sorted(labels.items()))) == value:
                return samples
            assert time.monotonic() < end, samples.get(name)
            time.sleep(0.1)


@contextmanager
def serving(api: FakeAPI, tmp_path: Path, *, ready: bool = True) -> Iterator[tuple[Running, Any]]:
    manifest = tmp_path / "web.yaml"
    manifest.write_text(json.dumps(POD))
    with api.serve() as url:
        kubeconfig = kubeconfig_writer(tmp_path, url)()
        argv = ["serve", "--metrics", "--listen", "127.0.0.1:0", "--min-interval", "0.2s", "--sweep-interval", "0.2s"]
        command = Running([*argv, "--capacity-of", str(manifest), "--kubeconfig", kubeconfig], tmp_path)
        try:
            yield command, Page(command) if ready else None
        finally:
            command.close()


def test_what_is_served(tmp_path: Path) -> None:
    api = FakeAPI()
    api.change(NODES, a_node("3"))
    api.change(PODS, a_pod("stuck", nodeSelector={"kubernetes.io/hostname": "nowhere"}))
    template = {"template": str(tmp_path / "web.yaml")}
    with serving(api, tmp_path) as (command, page):
        samples = page.until("kwhatif_capacity_fit", template, 3)
        assert samples["kwhatif_pods_pending"] == {(): 1}
        assert samples["kwhatif_pods_waiting"] == {(("plugin", "NodeAffinity"), ("reason", "Unschedulable")): 1}
        assert samples["kwhatif_watch_restarts_total"] == {(): 0}
        assert samples["kwhatif_state_lists_missing"] == {(): 0}
        assert {question for ((_, question),) in samples["kwhatif_answer_seconds"]} >= {"queue", "capacity"}
        assert page.get("/healthz") == (200, "ok\n")
        assert page.get("/readyz") == (200, "ok\n")
        assert page.get("/../etc/passwd")[0] == 404
        assert page.get("/metrics?file=/etc/passwd")[0] == 200

        (tmp_path / "web.yaml").unlink()  # a question reads no file
        api.change(NODES, a_node("5"))
        page.until("kwhatif_capacity_fit", template, 5)
        end = time.monotonic() + 60
        while "kwhatif_worst_loss_pods_pending" not in page.samples():
            assert time.monotonic() < end
        assert "kwhatif_nodes_undrainable" in page.samples()
        check_examples(page)

        api.always[NODES] = drop
        api.cut()
        page.until("kwhatif_state_lists_missing", {}, 1)
        assert command.interrupt() == (130, "")


def check_examples(page: Any) -> None:
    """The alert rules and the dashboard ask for what is served, by labels that it has."""
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(page.get("/metrics")[1]):
        labels[f"{family.name}_total" if family.type == "counter" else family.name] = {
            label for sample in family.samples for label in sample.labels
        }
    rules = yaml.safe_load((EXAMPLES / "alerts.yaml").read_text())["groups"][0]["rules"]
    panels = json.loads((EXAMPLES / "dashboard.json").read_text())["panels"]
    asked = [(rule["expr"], rule["annotations"]["summary"]) for rule in rules]
    asked += [(each["expr"], each.get("legendFormat", "")) for panel in panels for each in panel["targets"]]
    for expr, shown in asked:
        names = re.findall(r"kwhatif_\w+", expr)
        assert names, expr
        assert labels.keys() >= set(names), expr
        named = {name.strip() for group in re.findall(r"by \(([^)]*)\)", expr) for name in group.split(",")}
        named |= set(re.findall(r"(\w+)=", expr)) | set(re.findall(r"\$labels\.(\w+)", shown))
        named |= set(re.findall(r"\{\{(\w+)\}\}", shown))
        assert named <= labels[names[0]], (expr, shown)


def test_a_cluster_that_cannot_be_read_is_not_served(tmp_path: Path) -> None:
    api = FakeAPI()
    api.always[PODS] = answer(403, status(403, "Forbidden", "pods is forbidden"))
    with serving(api, tmp_path, ready=False) as (command, _):
        assert command.process.wait(60) == 4
        assert command.process.stderr is not None
        said = command.process.stderr.read()
    assert "serving" not in said
    assert "403" in said


def test_only_get_is_answered(tmp_path: Path) -> None:
    with serving(FakeAPI(), tmp_path) as (_, page), pytest.raises(HTTPError, match="501"):
        urlopen(Request(page.url + "/metrics", data=b"x", method="POST"), timeout=20)


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        ((), 2, "say what to serve: --metrics"),
        (("--metrics", "--listen", "nowhere"), 2, "is not an address and a port"),
        (("--metrics", "--min-interval", "soon"), 2, "--min-interval"),
        (("--metrics", "--capacity-of", "not-there.yaml"), 3, "not-there.yaml: cannot be read: No such file"),
        (("--metrics", "--listen", "192.0.2.1:9095"), 3, "cannot be listened at"),
    ],
)
def test_what_is_refused(tmp_path: Path, argv: tuple[str, ...], code: int, said: str) -> None:
    command = [sys.executable, "-m", "kwhatif", "serve", *argv]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == code
    assert said in done.stderr
