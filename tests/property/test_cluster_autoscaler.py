"""Laws of what the Cluster Autoscaler does."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.scheduler.framework.reference import use_reference
from tests.cluster_autoscaler.play import Json, asked, group, node, pod, refusals, replica_set, scaled_up
from tests.examples import examples

_SIZES = ("1", "2", "4", "8")


def _spread(draw: st.DrawFn) -> Json:
    """Over zones, hosts or a label that some groups lack; of these, also with domains that have to be there."""
    spread: Json = {
        "maxSkew": draw(st.integers(1, 2)),
        "topologyKey": draw(st.sampled_from(("topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"))),
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "app"}},
        "nodeTaintsPolicy": draw(st.sampled_from(("Honor", "Ignore"))),
    }
    return spread | draw(st.sampled_from(({}, {"minDomains": 2}, {"minDomains": 3})))


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Json], list[Json]]:
    """Nodes of some groups, pods on them, pods that wait; and the groups."""
    objects: list[Json] = [replica_set(), replica_set("other")]
    groups = []
    for name in draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True)):
        cpu, zone = draw(st.sampled_from(_SIZES)), draw(st.sampled_from("xy"))
        labels = {"topology.kubernetes.io/zone": zone} | draw(st.sampled_from(({}, {"rack": name})))
        names = [f"{name}{number}" for number in range(draw(st.integers(1, 3)))]
        for each in names:
            objects.append(node(each, cpu=cpu, labels=labels))
            used = draw(st.integers(0, int(cpu)))
            objects += [pod(f"on-{each}-{number}", cpu="1", on=each) for number in range(used)]
        groups.append(group(name, *names, max=draw(st.integers(1, 6))))
    for number in range(draw(st.integers(0, 6))):
        more: dict[str, Any] = {}
        if draw(st.booleans()):
            more = {"owner": "ReplicaSet/other", "labels": {"app": "other"}}
        elif draw(st.booleans()):
            spec: Json = {"topologySpreadConstraints": [_spread(draw)]}
            spec |= draw(st.sampled_from(({}, {"nodeSelector": {"topology.kubernetes.io/zone": "x"}})))
            more = {"spec": spec}
        objects.append(pod(f"waits-{number}", cpu=draw(st.sampled_from(("500m", "1", "3", "6"))), **more))
    return objects, groups


@settings(max_examples=examples(40))
@given(clusters())
def test_what_is_kept_from_pod_to_pod_changes_nothing(cluster: tuple[list[Json], list[Json]]) -> None:
    objects, groups = cluster
    for ask in ("autoscale", "consolidate"):
        fast = asked(ask, objects, {"groups": groups}).to_dict()
        use_reference(on=True)
        try:
            assert asked(ask, objects, {"groups": groups}).to_dict() == fast
        finally:
            use_reference(on=False)


@settings(max_examples=examples(40))
@given(clusters())
def test_an_empty_batch_adds_nothing(cluster: tuple[list[Json], list[Json]]) -> None:
    objects, groups = cluster
    there = [each for each in objects if each["kind"] != "Pod" or each["spec"].get("nodeName")]
    found = scaled_up(there, *groups)
    assert not any(found[name] for name in ("options", "scaleUp", "refused"))


@settings(max_examples=examples(40))
@given(clusters())
def test_more_room_never_refuses_more(cluster: tuple[list[Json], list[Json]]) -> None:
    objects, groups = cluster
    before = refusals(scaled_up(objects, *groups))
    roomy = [{**each, "max": 50} for each in groups]
    assert refusals(scaled_up(objects, *roomy)).keys() <= before.keys()


@settings(max_examples=examples(40))
@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_groups_and_objects_does_not_matter(cluster: tuple[list[Json], list[Json]], dice: Any) -> None:
    objects, groups = cluster
    shuffled, others = objects.copy(), groups.copy()
    dice.shuffle(shuffled)
    dice.shuffle(others)
    for ask in ("autoscale", "consolidate"):
        one = asked(ask, objects, {"groups": groups}).to_dict()
        other = asked(ask, shuffled, {"groups": others}).to_dict()
        assert (one["autoscaler"], one["consolidate"]) == (other["autoscaler"], other["consolidate"])


@settings(max_examples=examples(40))
@given(clusters())
def test_no_group_grows_beyond_its_maximum_and_pods_of_options_wait(cluster: tuple[list[Json], list[Json]]) -> None:
    objects, groups = cluster
    sizes = {each["name"]: (len(each["nodes"]), each["max"]) for each in groups}
    found = scaled_up(objects, *groups)
    for row in found["scaleUp"]:
        size, most = sizes[row["group"]]
        assert 0 < row["delta"] <= most - size
    refused = {row["pod"] for row in found["refused"]}
    for option in found["options"]:
        assert not refused.intersection(option["pods"])
        assert all(name.startswith("default/waits-") for name in option["pods"])
