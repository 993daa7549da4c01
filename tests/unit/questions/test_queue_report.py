"""The queue as a dump shows it, and what edits mean for those who wait."""

from typing import Any

import pytest
from msgspec.structs import replace

import kwhatif
from kwhatif.kube.model.caveat.reading import ScheduledMeanwhile
from kwhatif.kube.model.caveat.scheduling import QueueNotSeen
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.pod import PodCondition, SchedulingEvents
from kwhatif.policy.fail_on import fails, parse_fail_on
from kwhatif.questions.session.session import Session
from kwhatif.report.causes import Flush
from kwhatif.report.queue import AfterEditsRow, QueuedPodRow
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.profile import Profile
from tests import devices
from tests.builders import NodeBuilder, PodBuilder, affinity_term, cluster, node, pod, selector
from tests.objects import manifest
from tests.storage import claim, storage_class, volume

ZONE = "topology.kubernetes.io/zone"
Object = KubernetesObject | NodeBuilder | PodBuilder


def rejected(name: str, reason: str = "Unschedulable", created: str = "2026-01-01T00:00:00Z") -> PodBuilder:
    """A pod that the scheduler has tried in vain."""
    return sleeping(pod(name), name, reason, created)


def sleeping(
    pod: PodBuilder, name: str, reason: str = "Unschedulable", created: str = "2026-01-01T00:00:00Z"
) -> PodBuilder:
    """The pod under this name, rejected."""
    condition = PodCondition(type="PodScheduled", status="False", reason=reason, last_transition_time=created)
    return pod.meta(name=name, creation_timestamp=created, uid=f"uid-{name}").status(conditions=(condition,))


def rows(*objects: Object, edits: tuple[str, ...] = (), pods: tuple[str, ...] = ()) -> dict[str, QueuedPodRow]:
    session = Session.of(cluster(*objects))
    if edits:
        session = kwhatif.edited(session, *edits)
    report = kwhatif.pending(session, *pods)
    assert report.queue is not None
    assert [row.pod for row in report.queue.pods] == [decision.pod for decision in report.decisions]
    return {row.pod.removeprefix("default/"): row for row in report.queue.pods}


def after(*objects: Object, edits: tuple[str, ...]) -> dict[str, AfterEditsRow]:
    return {name: row.after for name, row in rows(*objects, edits=edits).items() if row.after is not None}


# --- the queue -----------------------------------------------------------------------------------------------


def test_priority_goes_first_then_age_and_whoever_is_not_taken_comes_last() -> None:
    found = rows(
        node("n"),
        rejected("young", created="2026-01-02T00:00:00Z"),
        rejected("old"),
        rejected("important", created="2026-01-03T00:00:00Z").priority(5),
        pod("gated").gates("a").priority(9),
        pod("foreign").spec(scheduler_name="other").priority(9),
    )
    assert [(name, row.position) for name, row in found.items()] == [
        ("important", 1),
        ("old", 2),
        ("young", 3),
        ("foreign", None),
        ("gated", None),
    ]


def test_states_are_what_the_dump_shows() -> None:
    found = rows(
        node("n"),
        rejected("rejected"),
        rejected("failed", "SchedulerError"),
        pod("new"),
        pod("gated").gates("a"),
        rejected("ungated", "SchedulingGated"),
        pod("foreign").spec(scheduler_name="other"),
    )
    assert {name: row.state for name, row in found.items()} == {
        "rejected": "Unschedulable",
        "failed": "BackingOff",
        "new": "Active",
        "gated": "Gated",
        "ungated": "Active",
        "foreign": "OtherScheduler",
    }
    assert found["rejected"].since == "2026-01-01T00:00:00Z"


def test_every_pod_names_who_rejects_it_also_replicas() -> None:
    found = rows(
        node("n").allocatable(cpu="2"),
        *(rejected(f"web-{number}").owner("ReplicaSet", "web").cpu("1") for number in range(4)),
        rejected("picky").node_selector(disk="ssd"),
        pod("gated").gates("a"),
    )
    assert {name: row.rejected_by for name, row in found.items()} == {
        "picky": ("NodeAffinity",),
        "web-0": (),
        "web-1": (),
        "web-2": ("NodeResourcesFit",),
        "web-3": ("NodeResourcesFit",),
        "gated": ("SchedulingGates",),
    }


def test_replicas_that_evict_name_who_rejects_them() -> None:
    low = (pod(f"low-{number}").cpu("2").on("n") for number in range(2))
    found = rows(
        node("n"), *low, *(pod(f"w-{number}").owner("ReplicaSet", "w").cpu("2").priority(5) for number in range(3))
    )
    assert [(row.outcome, row.rejected_by) for row in found.values()] == [
        ("Preempts", ("NodeResourcesFit",)),
        ("Preempts", ("NodeResourcesFit",)),
        ("Unschedulable", ("NodeResourcesFit",)),
    ]


def test_only_pods_that_are_named_are_explained() -> None:
    objects = (node("n"), rejected("big").cpu("9"), rejected("huge").cpu("99"))
    assert all(row.wake_ups is None for row in rows(*objects).values())
    found = rows(*objects, pods=("big",))
    assert [*found] == ["big"]
    assert found["big"].position == 1
    assert found["big"].wake_ups


def test_a_rejected_pod_that_fits_now_waits_for_the_flush() -> None:
    (wake_up,) = rows(node("n"), rejected("p"), pods=("p",))["p"].wake_ups or ()
    assert wake_up.cause == Flush(fits=True)


# --- Events --------------------------------------------------------------------------------------------------

TAKEN = "2026-01-01T10:00:05Z"


def rows_with(
    events: dict[str, SchedulingEvents], *objects: Object, profile: Profile | None = None
) -> dict[str, QueuedPodRow]:
    """The queue of a dump that was taken at 10:00:05, with these Events."""
    made = cluster(*objects)
    made.update_facts(scheduling_events={f"default/{name}": seen for name, seen in events.items()})
    profiles = {profile.scheduler_name: profile} if profile else None
    report = kwhatif.pending(Session.of(made, taken_at=TAKEN, age=0, profiles=profiles))
    assert report.queue is not None
    return {row.pod.removeprefix("default/"): row for row in report.queue.pods}


def tried_at(second: float, attempts: int = 1, **fields: Any) -> SchedulingEvents:
    return SchedulingEvents(attempts=attempts, last_attempt=f"2026-01-01T10:00:{second:06.3f}Z", **fields)


@pytest.mark.parametrize(
    ("seen", "ends"),
    [
        (tried_at(4.5), "2026-01-01T10:00:05Z"),
        (tried_at(3.5), None),
        (tried_at(3.5, 2), "2026-01-01T10:00:05Z"),
        (tried_at(4.5, 3), "2026-01-01T10:00:08Z"),
        (tried_at(0.5, 9), "2026-01-01T10:00:10Z"),
        # There may have been later attempts.
        (tried_at(4.5, is_last=False), None),
    ],
)
def test_a_backoff_that_is_not_over_is_shown(seen: SchedulingEvents, ends: str | None) -> None:
    row = rows_with({"p": seen}, node("n"), rejected("p").cpu("99"))["p"]
    assert (row.state, row.attempts, row.last_attempt) == ("Unschedulable", seen.attempts, seen.last_attempt)
    assert row.backoff_ends == ends


def test_a_backoff_follows_the_configuration() -> None:
    profile = replace(default_profile(), backoff_seconds=(3, 4))
    found = {number: tried_at(4.5, number) for number in (1, 2)}
    ends = [
        rows_with({"p": seen}, node("n"), rejected("p").cpu("99"), profile=profile)["p"].backoff_ends
        for seen in found.values()
    ]
    assert ends == ["2026-01-01T10:00:07Z", "2026-01-01T10:00:08Z"]


@pytest.mark.parametrize(
    ("seen", "reason", "state"),
    [
        (tried_at(4.5, errored=True), "SchedulerError", "BackingOff"),
        (tried_at(1.5, errored=True), "SchedulerError", "Active"),
        (tried_at(1.5, errored=True, is_last=False), "SchedulerError", "BackingOff"),
        # There were no nodes: no event wakes it, its backoff ends.
        (tried_at(4.5, errored=True), "Unschedulable", "BackingOff"),
        (tried_at(1.5), "Unschedulable", "Unschedulable"),
    ],
)
def test_who_backs_off_is_active_once_that_is_over(seen: SchedulingEvents, reason: str, state: str) -> None:
    assert rows_with({"p": seen}, node("n"), rejected("p", reason))["p"].state == state


def test_an_event_comes_before_the_condition() -> None:
    found = rows_with({"p": tried_at(4.5), "q": tried_at(4.5, errored=True)}, node("n"), pod("p"), pod("q"), pod("r"))
    assert {name: row.state for name, row in found.items()} == {
        "p": "Unschedulable",
        "q": "BackingOff",
        "r": "Active",
    }


def test_without_nodes_pods_back_off() -> None:
    assert rows(rejected("p"))["p"].state == "BackingOff"


def test_whoever_was_tried_later_is_tried_again_later() -> None:
    found = rows_with(
        {"old": tried_at(3), "older": tried_at(2.5)},
        node("n"),
        rejected("old", created="2026-01-01T09:00:00Z"),
        rejected("older", created="2026-01-01T09:30:00Z"),
        rejected("new", created="2026-01-01T09:59:00Z"),
        rejected("first", created="2026-01-01T10:00:04Z").priority(1),
    )
    assert [*found] == ["first", "new", "older", "old"]


def test_a_pod_that_was_given_a_node_meanwhile_is_a_caveat() -> None:
    made = cluster(node("n"), pod("p"), pod("q"))
    made.update_facts(scheduling_events={"default/p": SchedulingEvents(scheduled=True)})
    assert "Events show that default/p was given a node" in said(made)[-1]
    made.update_facts(scheduling_events={"default/p": tried_at(1)})
    (assumed,) = said(made)
    assert "their last attempts that Events show" in assumed


def said(made: Cluster) -> list[str]:
    """The caveats about the queue."""
    found = kwhatif.pending(Session.of(made)).caveat_details
    return [caveat.message for caveat in found if isinstance(caveat, QueueNotSeen | ScheduledMeanwhile)]


# --- edits ---------------------------------------------------------------------------------------------------


def test_the_first_in_the_queue_takes_the_room_that_an_edit_makes() -> None:
    found = after(
        node("n").allocatable(cpu="1"),
        pod("there").cpu("1").on("n"),
        rejected("first").cpu("3").priority(1).spec(preemption_policy="Never"),
        rejected("second").cpu("3"),
        edits=("set node/n status.allocatable.cpu=4500m",),
    )
    assert (found["first"].fate, found["first"].turn, found["first"].node) == ("Woken", 1, "n")
    assert [(row.event, row.object, row.plugin) for row in found["first"].woken_by] == [
        ("NodeUpdateNodeAllocatable", "Node n", "NodeResourcesFit")
    ]
    second = found["second"]
    assert (second.fate, second.turn, second.outcome, second.behind) == (
        "Woken",
        2,
        "Unschedulable",
        ("default/first",),
    )


def test_a_pod_that_no_hint_wakes_sleeps_on_though_it_would_fit() -> None:
    """Kept out by others' anti-affinity only, a new node wakes nobody (`hints.md`, 6.1)."""
    guard = pod("guard").labels(app="db").pod_anti_affinity(affinity_term(ZONE, selector(app="web"))).on("a")
    found = after(
        node("a").zone("a"),
        guard,
        rejected("web").labels(app="web").spec(preemption_policy="Never"),
        edits=(f"add 1 nodes like a {ZONE}=b",),
    )["web"]
    assert (found.fate, found.turn, found.outcome, found.node) == ("Asleep", None, "Placed", "a-new-1")
    assert found.woken_by == ()


def test_who_sleeps_on_though_it_fits_can_be_a_no() -> None:
    session = Session.of(cluster(node("n").allocatable(cpu="4"), rejected("p").cpu("1")))
    assert not fails(kwhatif.pending(session), ("not-requeued",))
    assert fails(kwhatif.pending(kwhatif.edited(session, "label node/n a=b")), ("not-requeued",))
    assert not fails(kwhatif.pending(kwhatif.edited(session, "set node/n status.allocatable.cpu=5")), ("not-requeued",))
    assert parse_fail_on("asleep") == ("not-requeued",), "the old spelling"


def test_what_one_pod_brings_wakes_the_next() -> None:
    """The follower asks for a leader in its zone; the leader is woken by the node."""
    found = after(
        node("a").zone("a").allocatable(cpu="1"),
        rejected("leader").labels(app="leader").cpu("2"),
        rejected("follower").pod_affinity(affinity_term(ZONE, selector(app="leader"))).priority(9),
        edits=("set node/a status.allocatable.cpu=3",),
    )
    assert (found["leader"].turn, found["leader"].node) == (1, "a")
    assert (found["follower"].turn, found["follower"].node) == (2, "a")
    assert [row.event for row in found["follower"].woken_by] == ["AssignedPodAdd"]


def test_victims_of_one_pod_wake_another() -> None:
    found = after(
        node("n").allocatable(cpu="4", memory="1Gi"),
        pod("low").cpu("2").requests({"example.com/gpu": "1"}).on("n").priority(-1),
        rejected("high").cpu("3").memory("2Gi").priority(9),
        rejected("small").cpu("1").requests({"example.com/gpu": "0"}).host_port(80),
        pod("web").host_port(80).on("n").priority(-1),
        edits=("set node/n status.allocatable.memory=4Gi",),
    )
    assert found["high"].outcome == "Preempts"
    assert found["high"].victims == ("default/low",)


def test_a_volume_that_one_pod_takes_wakes_who_waits_for_volumes() -> None:
    found = after(
        node("n").allocatable(cpu="1"),
        storage_class(),
        volume("disk"),
        claim("first"),
        claim("other", storage_class="absent"),
        rejected("user").cpu("2").claim("first"),
        rejected("waiting").claim("other"),
        edits=("set node/n status.allocatable.cpu=3",),
    )
    assert found["user"].node == "n"
    assert [(row.event, row.object, row.plugin) for row in found["waiting"].woken_by] == [
        ("PersistentVolumeUpdate", "PersistentVolume disk", "VolumeBinding")
    ]
    assert found["waiting"].turn == 2


def test_a_claim_whose_node_one_pod_selects_wakes_who_shares_it() -> None:
    found = after(
        node("n").allocatable(cpu="1"),
        storage_class(),
        claim("shared"),
        claim("other", storage_class="absent"),
        rejected("user").cpu("2").claim("shared"),
        rejected("waiting").claim("shared").claim("other"),
        rejected("stranger").claim("other"),
        edits=("set node/n status.allocatable.cpu=3",),
    )
    assert [(row.event, row.object) for row in found["waiting"].woken_by] == [
        ("PersistentVolumeClaimUpdate", "PersistentVolumeClaim default/shared")
    ]
    assert found["stranger"].fate == "Asleep"


def test_devices_that_one_pod_is_given_wake_who_shares_its_claim() -> None:
    found = after(
        node("n").allocatable(cpu="1"),
        devices.device_class(),
        devices.gpus("n", 1),
        devices.claim("shared", devices.request("gpu")),
        devices.claim("other", devices.request("gpu", count=2)),
        sleeping(devices.asking("shared").cpu("2"), "user"),
        sleeping(devices.asking("shared", "other"), "waiting").priority(9),
        edits=("set node/n status.allocatable.cpu=3",),
    )
    assert found["user"].node == "n"
    assert ("ResourceClaimUpdate", "ResourceClaim default/shared") in [
        (row.event.rpartition("/")[2], row.object) for row in found["waiting"].woken_by
    ]


def test_a_pod_that_was_not_tried_is_tried_in_any_case() -> None:
    found = after(node("n"), pod("new"), edits=("label node/n a=b",))["new"]
    assert (found.fate, found.turn, found.node) == ("Active", 1, "n")


def test_gates_and_deletions() -> None:
    found = after(
        node("n"),
        pod("gated").gates("a").meta(uid="u1"),
        pod("opened").image("x").gates("a").meta(uid="u2"),
        rejected("gone").cpu("9"),
        pod("foreign").spec(scheduler_name="other"),
        edits=("set pod/opened spec.schedulingGates=null", "delete pod/gone"),
    )
    assert {name: row.fate for name, row in found.items()} == {
        "opened": "Woken",
        "gone": "Gone",
        "foreign": "OtherScheduler",
        "gated": "Gated",
    }
    assert found["opened"].node == "n"


def test_a_rejected_pod_that_fits_anyway_sleeps_until_a_hint_says_so() -> None:
    objects = (node("n").allocatable(cpu="4"), rejected("p").cpu("1"))
    slept = after(*objects, edits=("label node/n a=b",))["p"]
    assert (slept.fate, slept.outcome, slept.node) == ("Asleep", "Placed", "n")
    woken = after(*objects, edits=("set node/n status.allocatable.cpu=5",))["p"]
    assert (woken.fate, woken.node) == ("Woken", "n")


def test_pods_that_edits_make_are_new() -> None:
    found = rows(node("n"), rejected("big").cpu("9"), edits=("add 1 nodes like n",))
    assert [row.state for row in found.values()] == ["Unschedulable"]
    assert found["big"].after is not None
    assert found["big"].after.fate == "Asleep"


def test_pods_of_another_scheduler_that_edits_make_are_ignored() -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"schedulerName": "other", "containers": [{"name": "c"}]}}
    web = manifest(
        "ReplicaSet",
        {"name": "web", "namespace": "default"},
        spec={"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    )
    there = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    queue = kwhatif.pending(kwhatif.edited(kwhatif.load([there, web]), "scale replicaset/web=1")).queue
    assert queue is not None
    found = [(row.state, row.outcome, row.after and row.after.fate) for row in queue.pods]
    assert found == [("New", "Ignored", "OtherScheduler")]


def test_a_node_that_goes_wakes_whom_spreading_kept_out() -> None:
    web = [pod(f"w{zone}").labels(app="web").on(zone) for zone in ("a",)]
    found = after(
        node("a").zone("a"),
        node("b").zone("b").taint("x"),
        *web,
        rejected("p").labels(app="web").spread(ZONE, selector(app="web")).spec(preemption_policy="Never"),
        edits=("delete node/b",),
    )["p"]
    assert (found.fate, found.node) == ("Woken", "a")
    assert found.woken_by[0].event == "NodeDelete"


def test_the_order_of_the_input_changes_nothing() -> None:
    objects: list[Object] = [
        node("a").zone("a"),
        node("b").zone("b"),
        *(rejected(f"p{number}").cpu(f"{number + 2}").priority(number % 2) for number in range(5)),
        pod("x").cpu("3").on("a"),
    ]
    edits = ("delete pod/x", "add 2 nodes like b")
    assert rows(*objects, edits=edits) == rows(*reversed(objects), edits=edits)


def test_the_session_stays_as_it_is() -> None:
    session = Session.of(cluster(node("n"), rejected("p").cpu("9")))
    edited = kwhatif.edited(session, "set node/n status.allocatable.cpu=10")
    first = kwhatif.pending(edited).to_json()
    assert kwhatif.pending(edited).to_json() == first
    assert [*session.state.pending] == [*edited.state.pending] == ["default/p"]
