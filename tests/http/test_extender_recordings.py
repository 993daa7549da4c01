"""kwhatif sends extenders what a real kube-scheduler sent, field for field, and makes of the answers what it made."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.report.decision import Decision
from tests.http.fake_extender import FakeExtender, recorded

FORMS = {"full": False, "cached": True}
_ANY_ORDER = ("Nodes", "NodeNames")


def stored(kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    """The object as `kubectl get -o json` shows it."""
    managed = {"managedFields": [{"manager": "kubectl", "operation": "Update"}]}
    return {"apiVersion": "v1", "kind": kind, **obj, "metadata": obj["metadata"] | managed}


def low_pods(form: str) -> list[dict[str, Any]]:
    """The pods that run, with the UIDs of that recording."""
    whole = recorded("full-big-preempt")[0]["NodeNameToVictims"]
    pods = {name: copy.deepcopy(victims["Pods"][0]) for name, victims in whole.items()}
    if form == "cached":
        for name, victims in recorded("cached-big-preempt")[0]["NodeNameToMetaVictims"].items():
            pods[name]["metadata"]["uid"] = victims["Pods"][0]["UID"]
    return list(pods.values())


def cluster(form: str, *more: dict[str, Any]) -> dict[str, Any]:
    """The cluster of the recordings, as far as they show it."""
    nodes = recorded("full-small-filter")[0]["Nodes"]["items"]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "low", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "low"}}, "minAvailable": 3},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 3, "desiredHealthy": 3, "expectedPods": 3},
    }
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    pods = [*low_pods(form), *more]
    items = [*(stored("Node", node) for node in nodes), *(stored("Pod", pod) for pod in pods), budget, high]
    return {"apiVersion": "v1", "kind": "List", "items": items}


class Asked:
    """A session whose extender answers as recorded."""

    def __init__(self, form: str, tmp_path: Path, extender: FakeExtender) -> None:
        self.form = form
        self._tmp = tmp_path
        self._extender = extender

    def about(self, pod: dict[str, Any], *running: dict[str, Any], admission: bool = False) -> Decision:
        extender = self._extender
        for verb_of, name in (
            ("filter", "small-filter"),
            ("prioritize", "small-prioritize"),
            ("preempt", "big-preempt"),
        ):
            extender.answers[f"/scheduler/{verb_of}"] = recorded(f"{self.form}-{name}")[1]
        with extender.serve() as address:
            config = {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "extenders": [
                    {
                        "urlPrefix": f"http://{address}/scheduler/",
                        "filterVerb": "filter",
                        "prioritizeVerb": "prioritize",
                        "preemptVerb": "preempt",
                        "weight": 1,
                        "nodeCacheCapable": FORMS[self.form],
                    }
                ],
            }
            session = kwhatif.load(
                self._write("cluster.json", cluster(self.form, *running)),
                scheduler_config=self._write("config.json", config),
                call_extenders=True,
            )
            report = kwhatif.schedule(session, self._write("pod.json", pod), admission=admission)
        assert not [caveat for caveat in report.caveat_details if caveat.code.startswith("extender-")]
        (decision,) = report.decisions
        return decision

    def _write(self, name: str, value: object) -> Path:
        path = self._tmp / name
        path.write_text(json.dumps(value))
        return path

    def sent(self, verb: str) -> Any:
        """The one body that was sent to that verb."""
        (body,) = self._extender.bodies(f"/scheduler/{verb}")
        return in_order(body)


def in_order(body: dict[str, Any]) -> dict[str, Any]:
    """The body with its nodes by name: kube-scheduler sends them as its parallel filters happen to finish."""
    body = copy.deepcopy(body)
    if body.get("Nodes"):
        body["Nodes"]["items"].sort(key=lambda node: node["metadata"]["name"])
    if body.get("NodeNames"):
        body["NodeNames"].sort()
    return body


@pytest.fixture(params=list(FORMS))
def asked(request: pytest.FixtureRequest, tmp_path: Path) -> Asked:
    return Asked(request.param, tmp_path, FakeExtender())


def test_filter_and_prioritize(asked: Asked) -> None:
    pod = recorded(f"{asked.form}-small-filter")[0]["Pod"]
    decision = asked.about(stored("Pod", pod))
    assert asked.sent("filter") == in_order(recorded(f"{asked.form}-small-filter")[0])
    assert asked.sent("prioritize") == in_order(recorded(f"{asked.form}-small-prioritize")[0])
    assert (decision.outcome, decision.ties) == ("Placed", ("general-b1",))
    assert [(row.node, row.code, row.reasons) for row in decision.rejected] == [
        ("general-c1", "Unschedulable", ("no network bandwidth left",))
    ]


def test_preempt(asked: Asked) -> None:
    small = copy.deepcopy(recorded(f"{asked.form}-small-filter")[0]["Pod"])
    small["spec"]["nodeName"] = "general-b1"
    pod = recorded(f"{asked.form}-big-preempt")[0]["Pod"]
    decision = asked.about(stored("Pod", pod), small)
    assert asked.sent("preempt") == recorded(f"{asked.form}-big-preempt")[0]
    assert (decision.outcome, decision.ties) == ("Preempts", ("general-c1",))


def test_a_manifest_is_sent_as_the_api_server_would_have_stored_it(asked: Asked) -> None:
    """All but what only it knows: UID, resource version and time."""
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "small", "annotations": {"only-for": "the extender"}},
        "spec": {"containers": [{"name": "c", "image": "app", "resources": {"requests": {"cpu": 0.5}}}]},
    }
    asked.about(manifest, admission=True)
    sent, wanted = asked.sent("filter")["Pod"], recorded(f"{asked.form}-small-filter")[0]["Pod"]
    assert sent["metadata"] == {
        "name": "small",
        "namespace": "default",
        "uid": sent["metadata"]["uid"],
        "creationTimestamp": sent["metadata"]["creationTimestamp"],
        "generation": 1,
        "annotations": {"only-for": "the extender"},
    }
    assert sent["spec"] == wanted["spec"]
    assert sent["status"] == wanted["status"]
