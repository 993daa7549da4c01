"""The law of not asking: where changes do not concern an answer, asking again would give the same fates."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import kwhatif
from kwhatif.kube.model.bystanders import (
    CrossVersionObjectReference,
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerSpec,
    ServiceAccount,
)
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import ApiObject, LabelSelector
from kwhatif.kube.model.node import Node, NodeCondition
from kwhatif.kube.model.pod import (
    ContainerState,
    ContainerStateWaiting,
    ContainerStatus,
    Pod,
    PodCondition,
    PodMeta,
    PodSpec,
    PodStatus,
    PodTemplateSpec,
)
from kwhatif.kube.model.pod_spec import Container
from kwhatif.kube.model.policy import (
    LimitRange,
    LimitRangeItem,
    LimitRangeSpec,
    ResourceQuota,
    ResourceQuotaSpec,
    RuntimeClass,
    RuntimeClassOverhead,
)
from kwhatif.kube.model.resource import ResourceClaimTemplate
from kwhatif.kube.model.workload import CronJob, CronJobSpec, DaemonSet, DaemonSetSpec, Job, JobSpec
from kwhatif.questions.again import Concern, sight_of
from kwhatif.questions.session.session import AttemptLog, Session
from kwhatif.report import Report
from kwhatif.sources.live.lists import ListEnded
from kwhatif.state.change import ChangedObject, Delete, SetFacts, Upsert
from tests import FIXTURES
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


def _asked(session: Session, manifest: Any) -> tuple[Report, Concern]:
    session = replace(session, attempts=AttemptLog())
    report = kwhatif.preempt(session) if manifest is None else kwhatif.schedule(session, manifest)
    return report, Concern(report, session)


def _saved(random: Random) -> int:
    """How many questions were not asked again."""
    world = World()
    for _ in range(random.randrange(5, 25)):
        world.change(random)
    world.objects[BY_NAME["ResourceQuota"]].clear()  # or most pods would be refused
    watched = Watched(world.all_listed())
    manifest = _manifest(random) if random.randrange(5) else None
    session = watched.session
    (report, concern), saved = _asked(session, manifest), 0
    for _ in range(12):
        events = [event for event in (world.change(random) for _ in range(random.randrange(1, 3))) if event]
        changes = watched.take(events)
        session = watched.session
        is_due = concern.is_of(changes, session.cluster, session.cluster.facts.scheduling_events)
        again, next_concern = _asked(session, manifest)
        if not is_due:
            assert _fates(again) == _fates(report), changes
            saved += bool(changes)
            continue
        report, concern = again, next_concern
    return saved


@given(RANDOMS)
@settings(max_examples=examples(60))
def test_what_is_not_asked_again_is_the_same(random: Random) -> None:
    _saved(random)


def test_many_questions_are_not_asked_again() -> None:
    assert sum(_saved(Random(seed)) for seed in range(20)) > 5


def test_a_pod_that_uses_up_a_quota_concerns_a_new_one() -> None:
    world = World()
    world.put("Node", {"metadata": {"name": "a"}, "spec": {}, "status": {"allocatable": {"cpu": "1", "pods": "9"}}})
    world.put("ResourceQuota", {"metadata": {"namespace": "x", "name": "q"}, "spec": {"hard": {"pods": "1"}}})
    big = _manifest(Random(0))
    big["spec"] = {"containers": [{"name": "c", "image": "c:1", "resources": {"requests": {"cpu": "9"}}}]}
    watched = Watched(world.all_listed())
    report, concern = _asked(watched.session, big)
    assert report.decisions[0].outcome == "Unschedulable"
    other = {"nodeName": "a", "containers": [{"name": "c", "image": "c:1"}]}
    changes = watched.take([world.put("Pod", {"metadata": {"namespace": "x", "name": "b"}, "spec": other})])
    assert concern.is_of(changes, watched.session.cluster, watched.session.cluster.facts.scheduling_events)
    assert _asked(watched.session, big)[0].decisions[0].outcome == "Denied"


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
    silent.state.apply(SetFacts.of(silent.cluster, scheduling_events={}))
    for question in (kwhatif.drain, kwhatif.outage):
        assert _answer(question, session, nodes[0]) == _answer(question, silent, nodes[0])


def _answer(question: Any, session: Any, node: str) -> Any:
    """The report, or why the question is refused."""
    try:
        return question(session, node, jobs=1)
    except kwhatif.InputError as refused:
        return str(refused)


# --- what an answer was not made of ------------------------------------------------------------------------------

STORIES = sorted((FIXTURES / "stories").glob("*/cluster.yaml"))
_NEW = kwhatif.text("""
apiVersion: v1
kind: Pod
metadata: {name: brand-new, namespace: default, labels: {app: web}}
spec:
  priorityClassName: system-cluster-critical
  containers: [{name: main, image: "app:1", resources: {requests: {cpu: 500m, memory: 64Mi}}}]
""")
_QUESTIONS: dict[str, Callable[[Session], Report]] = {
    "queue": kwhatif.pending,
    "capacity": lambda session: kwhatif.capacity(session, _NEW, limit=4),
    "shapes": lambda session: kwhatif.capacity(session, limit=3),
    "schedule": lambda session: kwhatif.schedule(session, _NEW),
    "preempt": kwhatif.preempt,
    "advise": lambda session: kwhatif.advise(session, _NEW),
    "drain": lambda session: kwhatif.drain(session, *session.state.by_name, each=True, jobs=1, force=True),
    "outage": lambda session: kwhatif.outage(session, each="kubernetes.io/hostname", jobs=1),
}
#: Values of which a field may get one, by the type of what it has: also such as have a meaning elsewhere.
_VALUES: dict[type, tuple[Any, ...]] = {
    bool: (False, True),
    int: (0, 1, 2, 7),
    str: ("", "True", "False", "Unknown", "Ready", "PodScheduled", "Error", "kubelet", "web", "Unschedulable"),
}
_TIMES = ("2026-01-01T00:00:00Z", "2026-11-20T12:00:00Z", "2026-11-24T05:06:07Z")


class _Loaded:
    """A story's cluster, as if it had been watched, and the answers to all questions."""

    def __init__(self, path: Path) -> None:
        self.session = kwhatif.load(path, kubernetes_version="1.36")
        cluster, random = self.session.cluster, Random(path.parent.name)
        self.session = replace(self.session, age=0)
        self.session.state.apply(SetFacts.of(cluster, is_whole=True))
        there = list(cluster.all(Pod).values())
        there += [_waiting(random.choice(there), priority) for priority in (0, 1_000)] if there else []
        pods = (_said_before(pod, random) for pod in there)
        nodes = (_reported(node, random) for node in cluster.all(Node).values())
        self.session.state.apply(*map(Upsert, (*pods, *nodes)))
        self._answers: dict[str, Any] = {}

    def answer(self, name: str) -> Any:
        """The report, or None where the question is refused."""
        if name not in self._answers:
            self._answers[name] = _ask(name, self.session)
        return self._answers[name]


def _ask(name: str, session: Session) -> Any:
    try:
        report = _QUESTIONS[name](session)
    except (kwhatif.InputError, TypeError):
        return None
    return replace(report, snapshot=type(report.snapshot)())


@cache
def _loaded(path: Path) -> _Loaded:
    return _Loaded(path)


def _elsewhere(value: Any, random: Random, donor: Any) -> Any:
    """Another value, or the same struct with another value somewhere in it."""
    if isinstance(value, msgspec.Struct) and random.randrange(8):
        names = value.__struct_fields__
        if "status" in names and random.randrange(3):  # there is most of what changes all day
            names = ("status",)
        name = random.choice(names)
        other = getattr(donor, name, None) if type(donor) is type(value) else None
        return replace(value, **{name: _elsewhere(getattr(value, name), random, other)})
    if isinstance(value, tuple) and value:
        place = random.randrange(len(value))
        match random.randrange(4):
            case 0:
                return value[:place] + value[place + 1 :]
            case 1:
                return (*value, _elsewhere(value[place], random, None))
        other = donor[place % len(donor)] if isinstance(donor, tuple) and donor else None
        return (*value[:place], _elsewhere(value[place], random, other), *value[place + 1 :])
    if isinstance(value, str) and value[:2] == "20" and value[-1:] == "Z":
        return random.choice(_TIMES)
    if donor is not None and type(donor) is type(value) and donor != value:
        return donor
    choices = _VALUES.get(type(value))
    return value if choices is None else random.choice(choices)


_META = PodMeta(name="another", namespace="default", uid="another", labels={"app": "web"})
_TEMPLATE = PodTemplateSpec(metadata=PodMeta(labels={"app": "web"}), spec=PodSpec(containers=(Container(name="main"),)))
_WEB = LabelSelector(match_labels={"app": "web"})
#: Objects of kinds that some questions do not read, as far as they could matter.
_OTHERS: tuple[ApiObject, ...] = (
    CronJob(metadata=_META, spec=CronJobSpec(schedule="* * * * *")),
    DaemonSet(metadata=_META, spec=DaemonSetSpec(selector=_WEB, template=_TEMPLATE)),
    HorizontalPodAutoscaler(
        metadata=_META,
        spec=HorizontalPodAutoscalerSpec(
            scale_target_ref=CrossVersionObjectReference(kind="Deployment", name="web"), max_replicas=3
        ),
    ),
    Job(metadata=_META, spec=JobSpec(parallelism=2, completions=2, selector=_WEB, template=_TEMPLATE)),
    LimitRange(
        metadata=_META, spec=LimitRangeSpec(limits=(LimitRangeItem(type="Container", default_request={"cpu": "2"}),))
    ),
    ResourceClaimTemplate(metadata=_META),
    ResourceQuota(metadata=_META, spec=ResourceQuotaSpec(hard={"pods": "0"})),
    RuntimeClass(metadata=_META, handler="other", overhead=RuntimeClassOverhead(pod_fixed={"cpu": "1"})),
    ServiceAccount(metadata=_META),
)


def _changed(session: Session, random: Random) -> ChangedObject | None:
    """An object of the cluster, and what may have become of it; None: nothing."""
    cluster = session.cluster
    if not random.randrange(6):
        return ChangedObject(None, random.choice(_OTHERS))
    kind = random.choice([kind for kind in cluster.counts() if cluster.all(kind)])
    if random.randrange(3):
        kind = random.choice((Pod, Pod, Node))
    objects: list[Any] = list(cluster.all(kind).values())
    before = random.choice(objects) if objects else None
    if before is None or not random.randrange(10):
        return None if before is None else ChangedObject(before, None)
    after: Any = before
    if random.randrange(3):
        after = _reported(before, random) if random.randrange(2) else _dated(before, random)
    for _ in range(random.randrange(3) if after != before else 2):
        after = _elsewhere(after, random, random.choice(objects))
    named = replace(after.metadata, name=before.metadata.name, namespace=before.metadata.namespace)
    after = replace(after, metadata=named)
    return None if after == before else ChangedObject(before, after)


def _waiting(pod: Pod, priority: int) -> Pod:
    """One like it that has no node yet."""
    meta = replace(pod.metadata, name=f"{pod.metadata.name}-{priority}", uid=f"{priority}", owner_references=())
    return replace(pod, metadata=meta, spec=replace(pod.spec, node_name="", priority=priority), status=PodStatus())


def _said_before(pod: Pod, random: Random) -> Pod:
    """The pod with more of what kubelets and the scheduler say of it."""
    waits = PodCondition(type="PodScheduled", status="False", reason="Unschedulable", last_transition_time=_TIMES[1])
    ready = PodCondition(type="Ready", status=random.choice(("True", "False")), last_transition_time=_TIMES[0])
    said = ready if pod.spec.node_name else waits
    kept = tuple(each for each in pod.status.conditions if each.type != said.type)
    pod = replace(pod, status=replace(pod.status, conditions=(*kept, said) if random.randrange(4) else kept))
    return _reported(pod, random) if random.randrange(2) else pod


def _reported(obj: Any, random: Random) -> Any:
    """What a kubelet says of its node or of a pod now and then."""
    time, status = random.choice(_TIMES), random.choice(("True", "False", "Unknown"))
    if isinstance(obj, Node):
        name = random.choice(("Ready", "MemoryPressure", "DiskPressure", "KernelDeadlock"))
        said = NodeCondition(type=name, status=status, last_heartbeat_time=time, last_transition_time=time)
        others = tuple(each for each in obj.status.conditions if each.type != name)
        annotated = replace(obj.metadata, annotations={"volumes": time})
        return replace(obj, metadata=annotated, status=replace(obj.status, conditions=(*others, said)))
    if not isinstance(obj, Pod):
        return obj
    name = random.choice(("Ready", "ContainersReady", "Initialized", "PodScheduled", "PodReadyToStartContainers"))
    condition = PodCondition(type=name, status=status, reason="Error", last_transition_time=time)
    kept = tuple(each for each in obj.status.conditions if each.type != name)
    state = ContainerState(waiting=ContainerStateWaiting(reason="CrashLoopBackOff"))
    containers = [ContainerStatus(name=each.name, restart_count=random.randrange(4)) for each in obj.spec.containers]
    if random.randrange(2):
        containers = [replace(each, state=state) for each in containers]
    said_of = {"conditions": (*kept, condition)} if random.randrange(2) else {"container_statuses": tuple(containers)}
    return replace(obj, status=replace(obj.status, **said_of))


def _dated(obj: Any, random: Random) -> Any:
    """Its conditions, since other times."""
    conditions = getattr(obj.status, "conditions", ()) if hasattr(obj, "status") else ()
    if not conditions or not hasattr(conditions[0], "last_transition_time"):
        return obj
    dated = tuple(replace(each, last_transition_time=random.choice(_TIMES)) for each in conditions)
    return replace(obj, status=replace(obj.status, conditions=dated))


def _unseen(random: Random) -> Iterator[str]:
    """Changes a cluster so that a question does not see it, and asks: yields which one it was."""
    loaded = _loaded(random.choice(STORIES))
    change = _changed(loaded.session, random)
    if change is None:
        return
    name = random.choice(tuple(_QUESTIONS))
    before = loaded.answer(name)
    if before is None:
        return
    sight = sight_of(before)
    if sight.differs(change):
        return
    other = loaded.session.at(loaded.session.state.fork())
    obj = change.before if change.after is None else change.after
    assert obj is not None
    other.state.apply(Delete(type(obj), key_of(obj)) if change.after is None else Upsert(obj))
    assert _ask(name, other) == before, (name, sight, change)
    yield name


@given(st.integers(0, 2**32))
@settings(max_examples=examples(400))
def test_what_was_not_read_does_not_matter(seed: int) -> None:
    list(_unseen(Random(seed)))


def test_many_changes_are_not_seen() -> None:
    found = {name for seed in range(200) for name in _unseen(Random(seed))}
    assert found == set(_QUESTIONS)


def test_what_could_be_read_is_heard_of() -> None:
    watched = Watched(World().all_listed())
    budgets, cache = BY_NAME["PodDisruptionBudget"], watched._cache
    for unread, is_news in (("forbidden", True), ("forbidden", False), ("", True)):
        assert watched.session is not None
        watched.take([ListEnded(budgets, unread=unread, version="v1")])
        assert cache.has_remarks is is_news
