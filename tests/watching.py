"""A cluster's objects as JSON, which change at random; and what a watch would say of that."""

import json
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

from kwhatif.api.sessions import admitted, follow_release, scheduler_source
from kwhatif.questions.session.session import Session
from kwhatif.sources.decoding.kinds import ASKED, Asked
from kwhatif.sources.decoding.stand_ins import stand_in
from kwhatif.sources.decoding.workload_kinds import KnownKinds
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.live.cache import Cache
from kwhatif.sources.live.lists import ListEnded, ListEvent, ListRestarted, Page, _reader
from kwhatif.sources.live.read import Intake, take_in
from kwhatif.sources.live.watches import WatchEvent
from kwhatif.state.change import ChangedObject
from kwhatif.state.state import State
from kwhatif.workloads.adopted import stand_in_for_missing

Json = dict[str, Any]
NOW = "2026-01-01T12:00:00Z"
KINDS = KnownKinds()
SOURCE = scheduler_source({"kubernetes_version": "1.36"})
BY_NAME = {asked.name: asked for asked in ASKED}
#: Lists of which the objects change at random.
CHANGING = (
    "Node",
    "Pod",
    "PodDisruptionBudget",
    "PriorityClass",
    "Namespace",
    "Service",
    "ReplicaSet",
    "ResourceQuota",
    "PersistentVolumeClaim",
    "ServiceAccount",
    "Event FailedScheduling",
    "Event Scheduled",
    "clonesets.apps.kruise.io",
)
_NAMES = ("a", "b", "c", "d")


class World:
    """All objects, by list and key."""

    def __init__(self) -> None:
        self.objects: dict[Asked, dict[str, Json]] = {asked: {} for asked in ASKED}

    def put(self, name: str, obj: Json) -> WatchEvent:
        """The object is there."""
        asked = BY_NAME[name]
        obj = {"apiVersion": asked.api_version(asked.versions[0]), "kind": asked.kind} | obj
        known = self.objects[asked]
        type_ = "MODIFIED" if _key(obj) in known else "ADDED"
        known[_key(obj)] = obj
        return _event(asked, type_, obj)

    def remove(self, name: str, key: str) -> WatchEvent | None:
        """The object is not there; None: it was not."""
        asked = BY_NAME[name]
        obj = self.objects[asked].pop(key, None)
        return None if obj is None else _event(asked, "DELETED", obj)

    def change(self, random: Random) -> WatchEvent | None:
        """Something happens; None: nothing does."""
        name = random.choice(("Pod", "Pod", "Pod", "Node", "Node", *CHANGING))
        keys = sorted(self.objects[BY_NAME[name]])
        if keys and random.randrange(4) == 3:
            return self.remove(name, random.choice(keys))
        return self.put(name, _MADE[name](random))

    def listed(self, asked: Asked) -> Iterator[ListEvent]:
        """What reading the list gives, in the order of the API server."""
        objects = [obj for _, obj in sorted(self.objects[asked].items(), key=lambda each: each[0].replace("/", "\0"))]
        yield ListRestarted(asked)
        yield page_of(asked, objects)
        yield ListEnded(asked, version=asked.versions[0])

    def all_listed(self) -> Iterator[ListEvent]:
        """All lists."""
        for asked in ASKED:
            yield from self.listed(asked)


def page_of(asked: Asked, objects: Sequence[Json]) -> Page:
    """A page of a list."""
    api_version = asked.api_version(asked.versions[0])
    body = {"apiVersion": api_version, "kind": f"{asked.kind}List", "metadata": {}, "items": objects}
    return read_page(asked, json.dumps(body).encode())


def read_page(asked: Asked, body: bytes) -> Page:
    """The page, as a client decodes it."""
    objects = getattr(_reader(asked)(body).head, "items", None)
    return Page(asked, asked.api_version(asked.versions[0]), body, objects)


def _event(asked: Asked, type_: str, obj: Json) -> WatchEvent:
    return WatchEvent(asked, asked.api_version(asked.versions[0]), type_, json.dumps(obj).encode())


def _key(obj: Json) -> str:
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]


def _namespaced(random: Random, **more: Any) -> Json:
    return {"metadata": {"namespace": random.choice(("x", "x-y")), "name": random.choice(_NAMES), **more}}


def _of_cluster(random: Random, **more: Any) -> Json:
    return {"metadata": {"name": random.choice(_NAMES), **more}}


def _node(random: Random) -> Json:
    made = _of_cluster(random)
    name = made["metadata"]["name"]
    made["metadata"]["labels"] = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": random.choice("uv")}
    images = [{"names": ["app:1"], "sizeBytes": random.choice((100, 200)) << 20}]
    made["spec"] = {"unschedulable": random.randrange(4) == 3}
    if random.randrange(4) == 3:
        made["spec"]["taints"] = [{"key": "hard", "effect": "NoSchedule"}]
    amounts = {"cpu": random.choice(("1", "2")), "memory": "4Gi", "pods": "5"}
    made["status"] = {"allocatable": amounts, "capacity": amounts, "images": images[: random.randrange(2)]}
    made["metadata"]["creationTimestamp"] = _time(random)
    return made


def _time(random: Random) -> str | None:
    """Mostly as the API server writes it."""
    if not random.randrange(500):
        return f"2026-01-01T{random.randrange(10, 14)}:00:00.25+01:00"
    return f"2026-01-01T{random.randrange(10, 14)}:0{random.randrange(3)}:00Z" if random.randrange(3) else None


_OWNERS: tuple[Json, ...] = (
    *({"apiVersion": "apps/v1", "kind": "ReplicaSet"},) * 3,
    {"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet"},
    {"apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster"},
)


def _pod(random: Random) -> Json:
    owner = random.choice(_OWNERS) | {"name": "a", "uid": "1", "controller": True}
    made = _namespaced(random, labels={"app": random.choice(("web", "db"))}, ownerReferences=[owner])
    made["metadata"]["uid"] = f"{_key(made)}-{random.randrange(2)}"
    request = {"cpu": random.choice(("100m", "400m", "900m")), "memory": "64Mi"}
    container: Json = {"name": "main", "image": "app:1", "resources": {"requests": request}}
    if random.randrange(4) == 3:
        container["ports"] = [{"containerPort": 80, "hostPort": 80}]
    spec: Json = {"containers": [container], "schedulerName": "default-scheduler"}
    match random.randrange(5):
        case 3:
            spec["priorityClassName"] = random.choice(_NAMES)  # as where the plugin Priority is turned off
        case 4:
            spec |= {"priority": -10, "preemptionPolicy": "PreemptLowerPriority"}
        case _:
            spec |= {"priority": random.choice((0, 10)), "preemptionPolicy": "PreemptLowerPriority"}
    if random.randrange(3):
        spec["nodeName"] = random.choice((*_NAMES, "gone"))
    if random.randrange(4) == 3:
        term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "topology.kubernetes.io/zone"}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if random.randrange(6) == 5:
        spec["schedulingGates"] = [{"name": "wait"}]
    if random.randrange(8) == 7:
        made["metadata"] |= {
            "deletionTimestamp": f"2026-01-01T12:{random.randrange(60):02}:00Z",
            "deletionGracePeriodSeconds": random.choice((30, 3600)),
        }
    status: Json = {"phase": random.choice(("Pending", "Running", "Running", "Succeeded"))}
    if "nodeName" not in spec and random.randrange(2):
        status["nominatedNodeName"] = random.choice(_NAMES)
    if random.randrange(2):
        ready = {"type": "Ready", "status": random.choice(("True", "False")), "lastTransitionTime": _time(random)}
        status["conditions"] = [ready]
    status["startTime"], made["metadata"]["creationTimestamp"] = _time(random), _time(random)
    if random.randrange(2):
        del made["metadata"]["ownerReferences"]
    elif random.randrange(4) == 3:
        owner["name"], owner["uid"] = random.choice(_NAMES), random.choice("12")
    return made | {"spec": spec, "status": status}


def _budget(random: Random) -> Json:
    made = _namespaced(random) | {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}
    if random.randrange(3):
        counts = {"disruptionsAllowed": random.randrange(2), "currentHealthy": 2, "desiredHealthy": 1}
        made["status"] = counts | {"expectedPods": 2}
    return made


def _failure(random: Random) -> Json:
    made = _namespaced(random)
    about = {"kind": "Pod", "namespace": made["metadata"]["namespace"], "name": random.choice(_NAMES)}
    times = {"lastTimestamp": f"2026-01-01T00:0{random.randrange(5)}:00Z", "count": random.randrange(1, 4)}
    made["metadata"]["name"] += ".failed"
    said = {"message": "0/4 nodes are available", "source": {"component": "default-scheduler"}}
    return made | {"reason": "FailedScheduling", "involvedObject": about} | times | said


def _scheduled(random: Random) -> Json:
    made = _namespaced(random)
    made["metadata"]["name"] += ".scheduled"
    uid = f"x/{random.choice(_NAMES)}-{random.randrange(2)}"
    return made | {"reason": "Scheduled", "involvedObject": {"kind": "Pod", "uid": uid}}


def _replica_set(random: Random) -> Json:
    template = _pod(random)
    made = _namespaced(random)
    labels = {"matchLabels": template["metadata"]["labels"]}
    pod = {"metadata": {"labels": template["metadata"]["labels"]}, "spec": template["spec"] | {"nodeName": ""}}
    return made | {"spec": {"replicas": random.randrange(3), "selector": labels, "template": pod}}


def _clone_set(random: Random) -> Json:
    """Mostly with what is needed to stand for it."""
    made, template = _replica_set(random), {"updateStrategy": {"partition": 1}}
    if not random.randrange(6):
        del made["spec"]["template"]
    return made | {"spec": made["spec"] | template}


_MADE = {
    "Node": _node,
    "Pod": _pod,
    "PodDisruptionBudget": _budget,
    "PriorityClass": lambda random: _of_cluster(random) | {"value": random.choice((5, 50))},
    "Namespace": lambda random: {"metadata": {"name": random.choice(("x", "x-y")), "labels": {"tier": "gold"}}},
    "Service": lambda random: _namespaced(random) | {"spec": {"selector": {"app": "web"}}},
    "ReplicaSet": _replica_set,
    "ResourceQuota": lambda random: _namespaced(random) | {"spec": {"hard": {"pods": str(random.randrange(9))}}},
    "PersistentVolumeClaim": lambda random: _namespaced(random) | {"spec": {"accessModes": ["ReadWriteOnce"]}},
    "ServiceAccount": _namespaced,
    "Event FailedScheduling": _failure,
    "Event Scheduled": _scheduled,
    "clonesets.apps.kruise.io": _clone_set,
}


def _collected() -> Collected:
    return Collected(sources=["context test"], live=True, server_version="1.36")


def read(events: Iterable[ListEvent]) -> Session:
    """As `load_live` reads it."""
    collected, intake = _collected(), Intake("the server")
    take_in(iter(events), intake, collected)
    found = intake.decoder.bystanders.workloads
    collected.caveats += stand_in(collected.cluster, found, KINDS, "default")
    stand_in_for_missing(collected.cluster, KINDS.of_owner)
    collected.cluster.update_facts(taken_at=NOW)
    scheduler = follow_release(collected, SOURCE)
    loaded = admitted(collected, None, strict=False)
    return scheduler.session(loaded, State(loaded.cluster), loaded.caveats, 0)


class Watched:
    """As `kwhatif.watch` keeps it, without threads and a server."""

    def __init__(self, events: Iterable[ListEvent | WatchEvent]) -> None:
        collected = _collected()
        self._cache = Cache(collected, Intake("the server"))
        self.take(events)
        assert self._cache.is_complete
        self._cache.note_unfinished()
        self._scheduler = follow_release(collected, SOURCE)
        self._loaded = admitted(collected, None, strict=False)
        self._cache.begin(self._loaded.cluster)

    def take(self, events: Iterable[ListEvent | WatchEvent]) -> list[ChangedObject]:
        return self._cache.take(events)

    def as_read(self, taken_at: str) -> Collected:
        return self._cache.as_read(taken_at)

    @property
    def session(self) -> Session:
        state = self._cache.moment(NOW)
        return self._scheduler.session(self._loaded, state, self._cache.caveats(state), 0)
