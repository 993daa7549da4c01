"""The law of harm: a question that changes nothing does none, whatever happens anyway."""

import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.policy.fail_on import fails
from kwhatif.report import Report
from kwhatif.scheduler.framework.reference import use_reference
from tests.examples import examples
from tests.objects import manifest

MANY = settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
Json = dict[str, Any]
#: What `simulate`, `drain` and `outage` answer with exit code 1 to.
CONDITIONS = ("harm", "pending", "stalled", "cycling", "failed")
APPS = ("x", "y", "z")
CLASSES = [
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
    for name, value in (("low", 1), ("mid", 10), ("high", 100))
]
#: A quota under which some of the pods are refused.
QUOTA: Json = manifest(
    "ResourceQuota",
    {"name": "few", "namespace": "default"},
    spec={"hard": {"pods": "4"}},
    status={"hard": {"pods": "4"}, "used": {"pods": "0"}},
)


def node(name: str, cpu: int, *, cordoned: bool = False) -> Json:
    resources = {"cpu": str(cpu), "memory": "32Gi", "pods": "20"}
    return manifest(
        "Node",
        {"name": name, "uid": f"node-{name}", "labels": {"kubernetes.io/hostname": name}},
        spec={"unschedulable": cordoned},
        status={"capacity": resources, "allocatable": resources, "conditions": [{"type": "Ready", "status": "True"}]},
    )


def pod_spec(cpu: int, priority: str, grace: int, hates: str) -> Json:
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": str(cpu)}}}
    spec: Json = {"containers": [container], "priorityClassName": priority, "terminationGracePeriodSeconds": grace}
    if hates:
        term = {"labelSelector": {"matchLabels": {"app": hates}}, "topologyKey": "kubernetes.io/hostname"}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return spec


def workload(kind: str, name: str, replicas: int, spec: Json) -> Json:
    labels = {"app": name}
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "serviceName": name,
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


@st.composite
def worlds(draw: st.DrawFn) -> list[Json]:
    """A small cluster in which much may be under way; its node `empty` is cordoned, and nothing runs there."""
    nodes = [node(name, draw(st.integers(1, 4))) for name in ("a", "b")[: draw(st.integers(1, 2))]]
    objects: list[Json] = [*CLASSES, *nodes, node("empty", 8, cordoned=True)]
    for app in APPS[: draw(st.integers(1, 3))]:
        spec = pod_spec(
            draw(st.integers(1, 3)),
            draw(st.sampled_from(("low", "mid", "high"))),
            draw(st.sampled_from((0, 30))),
            draw(st.sampled_from(("", "", *APPS))),
        )
        kind = draw(st.sampled_from(("Deployment", "StatefulSet", "Pod")))
        made = workload(kind, app, draw(st.integers(1, 4)), spec)
        if kind == "Deployment":
            made["spec"].pop("serviceName")
        objects.append(made)
    return [*objects, *([QUOTA] if draw(st.booleans()) else [])]


def questions(world: list[Json]) -> list[Report]:
    """Questions about the empty node, each of which changes nothing for anybody."""
    session = kwhatif.load(world)
    return [
        kwhatif.drain(session, "empty"),
        kwhatif.outage(session, "empty"),
        kwhatif.outage(session, "empty", deleted=True),
        kwhatif.simulate(session, then=["drain empty"]),
        kwhatif.simulate(session, then=["label node/empty a=b"]),
        kwhatif.simulate(kwhatif.edited(session, "label node/empty a=b")),
        kwhatif.outage(session, each="kubernetes.io/hostname"),
    ]


@MANY
@given(worlds())
def test_what_changes_nothing_does_no_harm(world: list[Json]) -> None:
    *single, sweep = questions(world)
    for report in single:
        story = report.story
        assert story is not None
        assert not fails(report, CONDITIONS), report
        assert story.outcome in ("settled", "terminating"), story.outcome
        assert all(row.anyway for rows in (story.pending, story.refused, story.gone) for row in rows)
        assert story.cycle is None or story.cycle.anyway
        assert story.verdict is None or (story.verdict.ok, story.verdict.preempted, story.verdict.broken) == (
            True,
            0,
            (),
        )
    (row,) = [row for row in sweep.scenarios if row.scenario == "empty"]
    assert row.verdict.ok


@settings(MANY, max_examples=examples(8))
@given(worlds(), st.randoms(use_true_random=False))
def test_the_world_without_the_question_is_what_it_is_played_plainly(world: list[Json], dice: random.Random) -> None:
    """It is played once, and forked: that saves time, and changes nothing; nor does the order of the questions."""
    names = [each["metadata"]["name"] for each in world if each["kind"] == "Node"]
    dice.shuffle(names)
    session = kwhatif.load(world)
    fast = [kwhatif.outage(session, name).to_json() for name in names]
    together = {row.scenario: row.verdict for row in kwhatif.outage(session, each="kubernetes.io/hostname").scenarios}
    use_reference(on=True)
    try:
        plain = [kwhatif.outage(session, name) for name in names]
    finally:
        use_reference(on=False)
    assert fast == [report.to_json() for report in plain]
    for name, report in zip(names, plain, strict=True):
        assert report.story is not None
        assert together[name] == report.story.verdict
