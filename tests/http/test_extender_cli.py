"""Extenders from the command line: what becomes of the pod, what the report says, and the exit code."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run
from tests.http.fake_extender import FakeExtender

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: %s}
status: {capacity: {cpu: 4, memory: 8Gi, pods: 10}}
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: app}]}\n"


@pytest.fixture
def server() -> FakeExtender:
    return FakeExtender()


@pytest.fixture
def url(server: FakeExtender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    Path("cluster.yaml").write_text("---".join(CLUSTER % name for name in ("a", "b", "c")))
    Path("pod.yaml").write_text(POD)
    with server.serve() as address:
        yield f"http://{address}"


def ask(*extenders: dict[str, Any], call: bool = True) -> tuple[int, Any, list[str]]:
    """Exit code, decision, caveats about extenders."""
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    Path("config.json").write_text(json.dumps(head | {"extenders": extenders}))
    calling = "--call-extenders" if call else ""
    ran = run(f"kwhatif schedule pod.yaml --from cluster.yaml --scheduler-config config.json {calling} -o json")
    report = json.loads(ran.stdout)
    about = [row["message"] for row in report["caveatDetails"] if row["code"].startswith("extender-")]
    return ran.code, report["decisions"][0], about


def extender(url: str, **fields: Any) -> dict[str, Any]:
    return {"urlPrefix": url, "filterVerb": "f", "nodeCacheCapable": True, "httpTimeout": "5s"} | fields


def test_without_leave_nobody_is_called(server: FakeExtender, url: str) -> None:
    code, decision, caveats = ask(extender(url), call=False)
    assert (code, decision["outcome"], server.requests) == (0, "Placed", [])
    assert caveats == [f"extender {url} was not asked to filter; --call-extenders asks it"]


def test_scores_decide(server: FakeExtender, url: str) -> None:
    server.answers |= {"/f": {"NodeNames": ["a", "b"]}, "/p": [{"Host": "b", "Score": 1}, {"Host": "c", "Score": 9}]}
    code, decision, caveats = ask(extender(url, prioritizeVerb="p", weight=2))
    assert (code, decision["ties"]) == (0, ["b"])
    scores = {row["node"]: row["score"] for row in decision["feasible"]}
    assert scores["b"] - scores["a"] == 20
    assert caveats == [
        f"extender {url}, asked to prioritize for default/web, scored nodes that are not feasible, which counts nothing:"
        " c"
    ]


def test_a_failure_ends_the_attempt(server: FakeExtender, url: str) -> None:
    server.answers["/f"] = {"Error": "no licence"}
    code, decision, caveats = ask(extender(url))
    assert (code, decision["outcome"], decision["message"]) == (1, "Unschedulable", "no licence")
    assert caveats == [f"extender {url}, asked to filter for default/web, failed, and the attempt with it: no licence"]


def test_a_failure_that_is_ignored_is_a_caveat(server: FakeExtender, url: str) -> None:
    server.answers["/f"] = lambda handler: handler.server.extender.released.wait(5)
    code, decision, caveats = ask(extender(url, ignorable=True))
    assert (code, decision["outcome"]) == (0, "Placed")
    assert caveats == [
        f"extender {url}, asked to filter for default/web, failed; kube-scheduler goes on without it:"
        f' Post "{url}/f": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    ]


def test_whoever_must_not_fail_is_asked_first(server: FakeExtender, url: str) -> None:
    server.answers |= {"/1/f": {"NodeNames": ["b"]}, "/2/f": {"NodeNames": ["a", "b"]}}
    _, decision, _ = ask(extender(f"{url}/1", ignorable=True), extender(f"{url}/2"))
    assert [(path, body["NodeNames"]) for path, body, _ in server.requests] == [
        ("/2/f", ["a", "b", "c"]),
        ("/1/f", ["a", "b"]),
    ]
    assert decision["node"] == "b"


def test_only_pods_that_use_what_it_manages_are_asked_about(server: FakeExtender, url: str) -> None:
    _, decision, caveats = ask(extender(url, managedResources=[{"name": "a.io/x"}]))
    assert (decision["outcome"], server.requests, caveats) == ("Placed", [], [])


def test_whole_nodes_that_come_back_are_empty_for_the_scores(server: FakeExtender, url: str) -> None:
    """So a node that is full of pods scores as an empty one."""
    with Path("cluster.yaml").open("a") as cluster:
        cluster.write("---\napiVersion: v1\nkind: Pod\nmetadata: {name: big}\nspec: {nodeName: a, containers: ")
        cluster.write("[{name: c, resources: {requests: {cpu: 3}}}]}\n")

    def send_back(handler: Any) -> None:
        _, body, _ = server.requests[-1]
        handler.send(200, json.dumps({"Nodes": body["Nodes"]}).encode())

    server.answers["/f"] = send_back
    _, decision, _ = ask(extender(url, nodeCacheCapable=False))
    assert decision["ties"] == ["a", "b", "c"]
    _, decision, _ = ask()
    assert decision["ties"] == ["b", "c"]


def test_a_certificate_that_is_not_there_is_only_missed_by_those_who_call(url: str) -> None:
    asked = extender("https://x", tlsConfig={"caFile": "/nowhere/ca.crt"})
    assert ask(asked, call=False)[0] == 0
    ran = run("kwhatif schedule pod.yaml --from cluster.yaml --scheduler-config config.json --call-extenders")
    assert (ran.code, ran.stdout) == (3, "")
    assert ran.stderr == (
        "error: config.json, line 1: extenders[0].tlsConfig.caFile: /nowhere/ca.crt cannot be read: No such file or"
        " directory (without --call-extenders it is not needed)\n"
    )
