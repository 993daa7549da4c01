"""What `simulate` says beside the recorded stories: inferred ReplicaSets, silent owners, steps, refusals."""

from typing import Any

import pytest

import kwhatif
from tests import FIXTURES, dumps
from tests.objects import manifest

DEMO = FIXTURES / "demo"
PODS = ("Node", "Pod", "PriorityClass", "PodDisruptionBudget")


def demo(*kinds: str, without: tuple[str, ...] = ()) -> kwhatif.Session:
    chosen = [item for item in dumps.demo() if item["kind"] not in without and (not kinds or item["kind"] in kinds)]
    return kwhatif.load(chosen)


def story(session: kwhatif.Session, *manifests: Any, **options: Any) -> Any:
    report = kwhatif.simulate(session, *manifests, **options)
    assert report.story is not None
    return report.story


def codes(report: kwhatif.Report) -> set[str]:
    return {caveat.code for caveat in report.caveat_details}


def test_nothing_comes_of_nothing() -> None:
    reported = story(demo())
    assert (reported.settled, reported.events, reported.gone, reported.pending) == ("settled", (), (), ())
    assert all(row.before == row.after for row in reported.workloads)


def test_replica_sets_that_the_input_lacks_are_inferred() -> None:
    report = kwhatif.simulate(demo(without=("ReplicaSet",)), DEMO / "pods" / "checkout.yaml")
    assert "replica-sets-inferred" in codes(report)
    whole = story(demo(), DEMO / "pods" / "checkout.yaml")
    assert report.story is not None
    assert report.story.workloads == whole.workloads


def test_kinds_of_owner_that_the_input_lacks_are_inferred() -> None:
    report = kwhatif.simulate(demo(*PODS), DEMO / "pods" / "checkout.yaml")
    assert "owners-inferred" in codes(report)
    assert not {"owners-silent", "replica-sets-inferred"} & codes(report)
    whole = story(demo(), DEMO / "pods" / "checkout.yaml")
    assert report.story is not None
    assert report.story.workloads == whole.workloads
    assert report.story.gone == whole.gone


def test_owners_that_the_input_lacks_though_it_has_their_kind_make_no_pods() -> None:
    items = [item for item in dumps.demo() if item["kind"] in PODS]
    other = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "other", "namespace": "default"}}
    other["spec"] = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {}, "spec": {}}}
    report = kwhatif.simulate(kwhatif.load([*items, other]), DEMO / "pods" / "checkout.yaml")
    assert "owners-silent" in codes(report)
    assert report.story is not None
    assert [(row.owner, row.how) for row in report.story.gone] == [("Deployment batch/etl", "Preempted")]
    assert not any(event.actor.startswith("ReplicaSet") for event in report.story.events)


def test_a_pod_of_a_lost_node_that_says_nothing_of_it_is_left() -> None:
    status = {"allocatable": {"cpu": "4", "pods": "9"}, "conditions": [{"type": "Ready", "status": "True"}]}
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status} for name in "abc"]
    raw = [
        *nodes,
        manifest(
            "Pod",
            {"name": "p", "namespace": "default"},
            spec={"nodeName": "a", "containers": [{"name": "c"}]},
            status={"phase": "Running"},
        ),
    ]
    report = kwhatif.simulate(kwhatif.load(raw), then=["fail a"])
    assert "toleration-unknown" in codes(report)
    assert report.story is not None
    assert report.story.gone == ()


def test_each_step_comes_once_the_one_before_has_settled() -> None:
    reported = story(
        demo(), DEMO / "pods" / "checkout.yaml", then=["cordon general-a1", "wait 100s", "uncordon general-a1"]
    )
    at = {event.verb: event.at for event in reported.events if event.object == "Node general-a1"}
    assert at["cordoned"] == 35.0
    assert at["uncordoned"] == 135.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"then": ["cordon nowhere"]}, "not found"),
        ({"then": ["cordon"]}, "names no node"),
        ({"then": ["drain general-a1 --quickly"]}, "unknown flag"),
        ({"start": "soon"}, "not a duration"),
        ({"start": "-5s"}, "is negative"),
        ({"start": "probe"}, "not a duration"),
        ({"scenario": "nowhere.yaml"}, "nowhere.yaml"),
    ],
)
def test_what_cannot_be_done_is_an_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(kwhatif.InputError) as wrong:
        kwhatif.simulate(demo(), **options)
    assert message in str(wrong.value)


def test_what_the_api_server_refuses_of_a_manifest_is_a_command_that_failed() -> None:
    bad = manifest(
        "Pod",
        {"name": "p", "namespace": "shop"},
        spec={"priorityClassName": "no-such-class", "containers": [{"name": "c", "image": "i"}]},
    )
    good = {
        **bad,
        "metadata": {"name": "q", "namespace": "shop"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    found = story(demo(), [bad, good])
    (command,) = found.commands
    assert (command.command, command.ok) == ("apply Pod shop/p", False)
    assert "no PriorityClass with name no-such-class was found" in command.why
    assert [event.object for event in found.events if event.actor == "user"] == ["Pod shop/p", "Pod shop/q"]


def test_the_session_stays_as_it_is() -> None:
    session = demo()
    before = session.state.generation
    first = story(session, DEMO / "pods" / "checkout.yaml")
    assert session.state.generation == before
    assert story(session, DEMO / "pods" / "checkout.yaml") == first


def test_nodes_that_are_different_at_the_end() -> None:
    there_and_back = story(demo(), then=["cordon general-a1", "uncordon general-a1"])
    assert there_and_back.nodes == ()
    cordoned = story(demo(), then=["cordon general-a1"])
    assert [(row.node, row.before, row.after) for row in cordoned.nodes] == [("general-a1", (), ("cordoned",))]
    lost = story(demo(), then=["fail general-a1"])
    assert [(row.node, row.after) for row in lost.nodes] == [("general-a1", ("not ready",))]


def test_a_drain_that_fails_says_why() -> None:
    (command,) = story(demo(), then=["drain general-a1"]).commands
    assert command.ok is False
    assert command.why.startswith("cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)")


def test_pods_that_are_evicted_by_hand_go_as_far_as_their_budget_allows() -> None:
    reported = story(demo(), then=["evict shop/web-*"])
    said = [(event.verb, event.object) for event in reported.events if event.actor == "user"]
    assert [verb for verb, _ in said] == ["evicted"] * 2 + ["could not evict"] * 4
    assert [(row.owner, row.how) for row in reported.gone] == [("Deployment shop/web", "Evicted")] * 2


def test_pods_to_evict_must_be_there() -> None:
    with pytest.raises(kwhatif.InputError, match=r'pods "none" not found in namespace shop'):
        kwhatif.simulate(demo(), then=["evict shop/none"])


def test_a_workload_of_absurdly_many_pods_is_simulated_as_far_as_nodes_have_room() -> None:
    report = kwhatif.simulate(demo(), then=["set deploy/shop/web spec.replicas=2147483647"])
    assert "too-many-pods" in codes(report)
    reported = report.story
    assert reported is not None
    assert reported.settled == "pending"
    assert len(reported.events) < 10_000
