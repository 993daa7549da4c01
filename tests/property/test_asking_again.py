"""The law of not asking: where changes do not concern an answer, asking again would give the same fates."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings

import kwhatif
from kwhatif.questions.session.again import Concern, Tried
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from tests.examples import examples
from tests.property.worlds import RANDOMS
from tests.watching import BY_NAME, Watched, World

#: Manifests of pods that often fit nowhere, each rejected by other plugins.
_SPECS: tuple[dict[str, Any], ...] = (
    {},
    {"nodeSelector": {"topology.kubernetes.io/zone": "u"}},
    {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}]}}},
    {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "topology.kubernetes.io/zone"}]}}},
    {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}]},
    {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"kubernetes.io/hostname": "a"}},
)  # fmt: skip


def _manifest(random: Random) -> Any:
    container: dict[str, Any] = {"name": "main", "image": "app:1"}
    container["resources"] = {"requests": {"cpu": random.choice(("900m", "1500m", "3"))}}
    if random.randrange(3) == 2:
        container["ports"] = [{"containerPort": 80, "hostPort": 80}]
    spec = random.choice(_SPECS) | {"containers": [container]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "new", "namespace": "x", "labels": {"app": random.choice(("web", "db"))}},
        "spec": spec,
    }


def _fates(report: Report) -> Any:
    return [(each.pod, each.outcome, each.node, [victim.pod for victim in each.victims]) for each in report.decisions]


def _asked(session: Session, manifest: Any) -> tuple[Report, Tried]:
    tried = session.tried = Tried()
    report = kwhatif.preempt(session) if manifest is None else kwhatif.schedule(session, manifest)
    return report, tried


def _saved(random: Random) -> int:
    """How many questions were not asked again."""
    world = World()
    for _ in range(random.randrange(5, 25)):
        world.change(random)
    world.objects[BY_NAME["ResourceQuota"]].clear()  # or most pods would be refused
    watched = Watched(world.all_listed())
    manifest = _manifest(random) if random.randrange(5) else None
    session = watched.session
    report, tried = _asked(session, manifest)
    concern, saved = Concern(report, tried, session.profiles), 0
    for _ in range(12):
        events = [event for event in (world.change(random) for _ in range(random.randrange(1, 3))) if event]
        changes = watched.take(events)
        session, news = watched.session, any(event.asked.kind == "Event" for event in events)
        is_due = concern.is_of(changes, session.cluster, news=news)
        again, tried = _asked(session, manifest)
        if not is_due:
            assert _fates(again) == _fates(report), changes
            saved += bool(changes)
            continue
        report, concern = again, Concern(again, tried, session.profiles)
    return saved


@given(RANDOMS)
@settings(max_examples=examples(60))
def test_what_is_not_asked_again_is_the_same(random: Random) -> None:
    _saved(random)


def test_many_questions_are_not_asked_again() -> None:
    assert sum(_saved(Random(seed)) for seed in range(8)) > 5


@given(RANDOMS)
@settings(max_examples=examples(5))
def test_drains_and_outages_do_not_read_events(random: Random) -> None:
    world = World()
    for _ in range(8):
        world.change(random)
    session = Watched(world.all_listed()).session
    nodes = [node.name for node in session.state.nodes]
    if not nodes:
        return
    silent = session.at(session.state.fork())
    silent.cluster.scheduling_events = {}
    for question in (kwhatif.drain, kwhatif.outage):
        assert _answer(question, session, nodes[0]) == _answer(question, silent, nodes[0])


def _answer(question: Any, session: Any, node: str) -> Any:
    """The report, or why the question is refused."""
    try:
        return question(session, node, jobs=1)
    except kwhatif.InputError as refused:
        return str(refused)
