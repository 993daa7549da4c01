"""The API server of a simulation: what is stored, who is told, and what a refusal leaves behind."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.admission.outcome import Denied
from kwhatif.controllers.contract import Create, Remove
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import ResourceQuota, ResourceQuotaSpec
from kwhatif.simulation.api_server import ApiServer
from kwhatif.state.change import Delete, Upsert
from tests.builders import node, snapshot
from tests.unit.simulation.test_engine import new

QUOTA = ResourceQuota(metadata=ObjectMeta(name="pods", namespace="default"), spec=ResourceQuotaSpec(hard={"pods": "1"}))
LACKS_CLASS = new("p", priority_class_name="nope", priority=None)


class Told:
    """An API server, and what its watchers were told."""

    def __init__(self, *objects: Any) -> None:
        self.server = ApiServer.standing(snapshot(node("n1"), *objects))
        self.changes: list[tuple[str, str]] = []
        self.decided: list[tuple[str, bool]] = []
        self.server.watchers.append(self._changed)
        self.server.admission_watchers.append(
            lambda pod, outcome: self.decided.append((key_of(pod), not isinstance(outcome, Denied)))
        )

    def _changed(self, before: Any, after: Any, _: int | None) -> None:
        what = "created" if before is None else "deleted" if after is None else "changed"
        self.changes.append((what, key_of(after if before is None else before)))

    @property
    def verbs(self) -> list[str]:
        return [event.verb for event in self.server.history.events]


def test_a_pod_is_admitted_stored_and_announced() -> None:
    told = Told(QUOTA)
    assert told.server.write(Create(new("p")), "user", None) is None
    made = told.server.state.cluster.all(Pod)["default/p"]
    assert made.metadata.uid
    assert (made.status.phase, made.spec.priority) == ("Pending", 0)
    assert (told.changes, told.decided) == ([("created", "default/p")], [("default/p", True)])
    assert told.verbs == ["created"]
    quota = told.server.state.cluster.all(ResourceQuota)["default/pods"]
    assert quota.status is not None
    assert quota.status.used == {"pods": "1"}


@pytest.mark.parametrize("stored", [False, True])
def test_a_refused_pod_leaves_an_event_and_tells_who_watches_admission(stored: bool) -> None:
    """Also one that was admitted before: its class may be gone."""
    told = Told()
    denied = told.server.write(Create(LACKS_CLASS, stored=stored), "user", None)
    assert denied is not None
    assert "no PriorityClass with name nope was found" in denied.message
    assert not told.server.state.cluster.all(Pod)
    assert (told.changes, told.decided, told.verbs) == ([], [("default/p", False)], ["was refused"])


def test_what_exists_and_what_a_quota_has_no_room_for_is_refused() -> None:
    told = Told(QUOTA)
    assert told.server.write(Create(new("p")), "user", None) is None
    twice = told.server.write(Create(new("p")), "user", None)
    full = told.server.write(Create(new("q")), "user", None)
    assert twice is not None
    assert full is not None
    assert twice.message == 'pods "p" already exists'
    assert "exceeded quota: pods" in full.message
    assert list(told.server.state.cluster.all(Pod)) == ["default/p"]


def test_put_announces_what_it_stores_and_admits_nothing() -> None:
    told = Told()
    told.server.put(LACKS_CLASS, None)
    told.server.put(replace(LACKS_CLASS, spec=replace(LACKS_CLASS.spec, node_name="n1")), None)
    assert told.changes == [("created", "default/p"), ("changed", "default/p")]
    assert (told.decided, told.verbs) == ([], [])
    assert [info.key for info in told.server.state.by_name["n1"].pods] == ["default/p"]


def test_an_assumption_changes_the_state_and_no_watcher_sees_it() -> None:
    told = Told()
    told.server.assume(Upsert(LACKS_CLASS))
    assert "default/p" in told.server.state.cluster.all(Pod)
    told.server.assume(Delete(Pod, "default/p"))
    assert not told.server.state.cluster.all(Pod)
    assert (told.changes, told.decided, told.verbs) == ([], [], [])


def test_a_fork_has_the_past_and_no_watchers() -> None:
    told = Told()
    told.server.write(Create(new("p")), "user", None)
    fork = told.server.fork()
    fork.write(Remove(Pod, "default/p"), "user", None)
    assert [event.verb for event in fork.history.events] == ["created", "removed"]
    assert (told.changes, told.verbs) == ([("created", "default/p")], ["created"])
    assert "default/p" in told.server.state.cluster.all(Pod)
