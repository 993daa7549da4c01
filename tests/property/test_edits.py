"""An edit, and the same edit made by hand in the YAML, give the same report but for `changes`: on random clusters.

`KWHATIF_EDITS=2000 pytest tests/property/test_edits.py` tries more of them.
"""

import copy
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.edits.verbs import VERBS as PARSED
from tests import edit_cases
from tests.differential.dice import Dice
from tests.differential.generate import FAMILIES, generate
from tests.differential.scene import HOSTNAME, Case, Object
from tests.examples import examples
from tests.valid_state import validate

SEED = 31
CASES = int(os.environ.get("KWHATIF_EDITS", "60"))
SMALL = edit_cases.load()
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"

Objects = list[Object]


class Edited(NamedTuple):
    """An edit, and what it comes to when somebody changes the objects by hand."""

    said: str
    by_hand: Callable[[Objects], Objects]


def name_of(obj: Object) -> str:
    return obj["metadata"]["name"]


def reference(obj: Object) -> str:
    namespace = obj["metadata"].get("namespace", "default")
    return f"pod/{namespace}/{name_of(obj)}" if obj["kind"] == "Pod" else f"node/{name_of(obj)}"


def on(wanted: Object, change: Callable[[Object], None]) -> Callable[[Objects], Objects]:
    """Change that one object."""

    def by_hand(objects: Objects) -> Objects:
        for obj in objects:
            if (obj["kind"], reference(obj)) == (wanted["kind"], reference(wanted)):
                change(obj)
        return objects

    return by_hand


def spec(obj: Object) -> Object:
    if obj.get("spec") is None:
        obj["spec"] = {}
    return obj["spec"]


def labels(obj: Object) -> Object:
    if obj["metadata"].get("labels") is None:
        obj["metadata"]["labels"] = {}
    return obj["metadata"]["labels"]


# --- verbs -------------------------------------------------------------------------------------------------------


def cordon(objects: Objects, dice: Dice) -> Edited | None:
    node = pick(objects, "Node", dice)
    return (
        None
        if node is None
        else Edited(f"cordon {name_of(node)}", on(node, lambda obj: spec(obj).update(unschedulable=True)))
    )


def uncordon(objects: Objects, dice: Dice) -> Edited | None:
    node = pick(objects, "Node", dice, lambda node: (node.get("spec") or {}).get("unschedulable"))

    def change(obj: Object) -> None:
        del spec(obj)["unschedulable"]
        spec(obj)["taints"] = [taint for taint in spec(obj).get("taints") or () if taint["key"] != UNSCHEDULABLE]

    return None if node is None else Edited(f"uncordon {name_of(node)}", on(node, change))


def taint(objects: Objects, dice: Dice) -> Edited | None:
    node = pick(objects, "Node", dice)
    if node is None:
        return None
    key, value = dice.pick("dedicated", "maint"), dice.pick("", "a", "b")
    effect = dice.pick("NoSchedule", "NoExecute", "PreferNoSchedule")

    def change(obj: Object) -> None:
        kept = [each for each in spec(obj).get("taints") or () if (each["key"], each["effect"]) != (key, effect)]
        spec(obj)["taints"] = [*kept, {"key": key, "value": value, "effect": effect}]

    return Edited(f"taint {name_of(node)} {key}{f'={value}' if value else ''}:{effect}", on(node, change))


def untaint(objects: Objects, dice: Dice) -> Edited | None:
    node = pick(objects, "Node", dice, lambda node: (node.get("spec") or {}).get("taints"))
    if node is None:
        return None
    gone = dice.one(node["spec"]["taints"])["key"]

    def change(obj: Object) -> None:
        spec(obj)["taints"] = [each for each in spec(obj)["taints"] if each["key"] != gone]

    return Edited(f"taint {name_of(node)} {gone}-", on(node, change))


def label(objects: Objects, dice: Dice) -> Edited | None:
    obj = pick(objects, dice.pick("Node", "Pod"), dice)
    if obj is None:
        return None
    key, value = dice.pick("disk", "app", "topology.kubernetes.io/zone"), f"v{dice.randint(1, 99)}"
    return Edited(f"label {reference(obj)} {key}={value}", on(obj, lambda obj: labels(obj).update({key: value})))


def unlabel(objects: Objects, dice: Dice) -> Edited | None:
    obj = pick(objects, dice.pick("Node", "Pod"), dice, lambda obj: obj["metadata"].get("labels"))
    if obj is None:
        return None
    key = dice.one(sorted(obj["metadata"]["labels"]))
    return Edited(f"label {reference(obj)} {key}-", on(obj, lambda obj: labels(obj).pop(key)))


def delete(objects: Objects, dice: Dice) -> Edited | None:
    gone = pick(objects, dice.pick("Node", "Pod"), dice)
    if gone is None:
        return None

    def by_hand(objects: Objects) -> Objects:
        return [obj for obj in objects if (obj["kind"], reference(obj)) != (gone["kind"], reference(gone))]

    return Edited(f"delete {reference(gone)}", by_hand)


def resize(objects: Objects, dice: Dice) -> Edited | None:
    node = pick(objects, "Node", dice, lambda node: (node.get("status") or {}).get("allocatable"))
    cpu = f"{dice.randint(0, 9000)}m"

    def change(obj: Object) -> None:
        obj["status"]["allocatable"]["cpu"] = cpu

    return None if node is None else Edited(f"set {reference(node)} status.allocatable.cpu={cpu}", on(node, change))


def prioritize(objects: Objects, dice: Dice) -> Edited | None:
    pod = pick(objects, "Pod", dice, lambda pod: pod["spec"].get("priority") is not None)
    number = dice.randint(-500, 5000)
    return (
        None
        if pod is None
        else Edited(
            f"set {reference(pod)} spec.priority={number}", on(pod, lambda obj: obj["spec"].update(priority=number))
        )
    )


def move(objects: Objects, dice: Dice) -> Edited | None:
    pod, node = pick(objects, "Pod", dice, lambda pod: pod["spec"].get("nodeName")), pick(objects, "Node", dice)
    return None if pod is None or node is None else Edited(
        f"set {reference(pod)} spec.nodeName={name_of(node)}",
        on(pod, lambda obj: obj["spec"].update(nodeName=name_of(node))),
    )  # fmt: skip


def cordon_by_patch(objects: Objects, dice: Dice) -> Edited | None:
    made = cordon(objects, dice)
    return made and made._replace(said=f"""patch node/{made.said.split()[1]} '{{"spec": {{"unschedulable": true}}}}'""")


def add(objects: Objects, dice: Dice) -> Edited | None:
    model = pick(objects, "Node", dice)
    if model is None:
        return None
    count = dice.randint(1, 3)

    def by_hand(objects: Objects) -> Objects:
        for number in range(1, count + 1):
            new = copy.deepcopy(next(obj for obj in objects if reference(obj) == reference(model)))
            name = f"{name_of(model)}-new-{number}"
            new["metadata"] = {"name": name, "labels": {**labels(new), HOSTNAME: name}}
            spec(new).pop("unschedulable", None)
            spec(new)["taints"] = [
                taint for taint in spec(new).get("taints") or () if "node.kubernetes.io/" not in taint["key"]
            ]
            status = new.get("status") or {}
            status.pop("images", None)
            status["conditions"] = [
                {**condition, "status": "True"}
                for condition in status.get("conditions") or ()
                if condition["type"] == "Ready"
            ]
            objects.append(new)
            drivers = [obj for obj in objects if obj["kind"] == "CSINode" and name_of(obj) == name_of(model)]
            objects += [{**obj, "metadata": {**obj["metadata"], "name": name, "uid": ""}} for obj in drivers]
        return objects

    return Edited(f"add {count} nodes like {name_of(model)}", by_hand)


def budget(objects: Objects, dice: Dice) -> Edited | None:
    found = pick(objects, "PodDisruptionBudget", dice)
    if found is None:
        return None
    bound, amount = dice.pick("minAvailable", "maxUnavailable"), dice.pick("0", "1", "2", "50%", "100%")

    def by_hand(objects: Objects) -> Objects:
        for obj in objects:
            same_place = obj["metadata"].get("namespace") == found["metadata"].get("namespace")
            if obj["kind"] == found["kind"] and name_of(obj) == name_of(found) and same_place:
                selector = spec(obj).get("selector")
                obj["spec"] = {bound: amount if "%" in amount else int(amount)}
                obj["spec"] |= {} if selector is None else {"selector": selector}
                obj.pop("status", None)
        return objects

    namespace = found["metadata"].get("namespace", "default")
    return Edited(f"budget {namespace}/{name_of(found)} {bound}={amount}", by_hand)


#: Budgets come last: their status is counted then, and by hand when all is read.
VERBS = (cordon, uncordon, taint, untaint, label, unlabel, delete, resize, prioritize, move, cordon_by_patch, add)


def pick(objects: Objects, kind: str, dice: Dice, where: Callable[[Object], Any] = bool) -> Object | None:
    found = [obj for obj in objects if obj["kind"] == kind and where(obj)]
    return dice.one(found) if found else None


# --- the law -----------------------------------------------------------------------------------------------------


def edits_of(objects: Objects, dice: Dice) -> Iterator[tuple[str, Objects]]:
    """A few edits, each with the objects after it."""
    for verb in [*dice.some(list(VERBS), 1, 3), *([budget] if dice.chance(0.4) else [])]:
        made = verb(objects, dice)
        if made is not None:
            objects = made.by_hand(copy.deepcopy(objects))
            yield made.said, objects


#: What a dump that was edited by hand no longer shows, and an edit says: its age, and that a node is gone for good.
ELSEWHERE = {"stale-snapshot", "nodes-not-in-input"}


def outcome(session: kwhatif.Session, pod: Object) -> dict[str, Any]:
    report = kwhatif.schedule(session, pod).to_dict()
    report["changes"] = []
    # A dump is as old as the newest time in it, which may be that of an object that is deleted by hand.
    report["snapshot"]["takenAt"] = None
    report["caveats"] = [each["message"] for each in report["caveatDetails"] if each["code"] not in ELSEWHERE]
    report["caveatDetails"] = [each for each in report["caveatDetails"] if each["code"] not in ELSEWHERE]
    return report


def load(objects: Objects) -> kwhatif.Session:
    return kwhatif.load(copy.deepcopy(objects))


def holds(case: Case, dice: Dice) -> bool:
    """Whether there was something to compare."""
    edits = list(edits_of(case.cluster, dice))
    if not edits:
        return False
    said = [text for text, _ in edits]
    try:
        session, by_hand = load(case.cluster), load(edits[-1][1])
        before = outcome(session, case.pod)
        expected = outcome(by_hand, case.pod)
    except kwhatif.InputError:
        return False  # there is no YAML of that, or the pod cannot be read
    edited = kwhatif.edited(session, *said)
    assert outcome(edited, case.pod) == expected, f"{case.name}: {said}"
    validate(edited.state)
    assert outcome(session, case.pod) == before, "parents never notice"
    return True


@pytest.mark.parametrize("family", FAMILIES)
def test_by_hand_or_by_edit(family: str) -> None:
    tried = 0
    for index in range(-(-CASES // len(FAMILIES))):
        tried += holds(generate(family, SEED, index), Dice(f"edits/{family}/{index}"))
    assert tried


def test_order_matters_only_where_edits_touch_the_same() -> None:
    for family in FAMILIES:
        case, dice = generate(family, SEED, 1), Dice(f"order/{family}")
        made = [edit for verb in VERBS if verb not in (delete, add) and (edit := verb(case.cluster, dice)) is not None]
        by_object = {words(edit.said): edit.said for edit in made}
        said = list(by_object.values())
        try:
            session = load(case.cluster)
            one = kwhatif.edited(session, *said)
            other = kwhatif.edited(session, *reversed(said))
        except kwhatif.InputError:
            continue
        assert outcome(one, case.pod) == outcome(other, case.pod), said


def words(said: str) -> str:
    """The object that the edit is about."""
    return said.split()[1].removeprefix("node/")


def mistakes(said: str | dict[str, Any]) -> list[str]:
    try:
        kwhatif.edited(SMALL, said)
    except kwhatif.InputError as wrong:
        return [problem.message for problem in wrong.problems]
    return []


TEXT = st.text(st.sampled_from("abc12=:-/*.,[]{}'\" \\\n%()") | st.characters(max_codepoint=300), max_size=30)
VERB = st.sampled_from(list(PARSED))


@settings(max_examples=examples(300))
@given(
    VERB,
    st.lists(TEXT | st.sampled_from(["node/a1", "a1", "pod/shop/db-0", "x=y", "x-", "like", "nodes", "3"]), max_size=5),
)
def test_no_text_is_anything_but_an_edit_or_a_mistake(verb: str, rest: list[str]) -> None:
    assert all(mistakes(" ".join([verb, *rest])))


DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["nodes", "objects", "labels", "object", "values", "merge", "name", "count", "spec"])
            | TEXT,
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=examples(300))
@given(VERB, DATA)
def test_no_data_is_anything_but_an_edit_or_a_mistake(verb: str, content: Any) -> None:
    assert all(mistakes({verb: content}))


def pod_by_hand(workload: Object, of: Object, name: str) -> Object:
    template = copy.deepcopy(of["spec"]["template"])
    controller = {"apiVersion": "apps/v1", "kind": of["kind"], "name": name_of(of), "controller": True}
    meta = {"name": name, "namespace": workload["metadata"]["namespace"], "labels": template["metadata"]["labels"]}
    owners = [controller | {"uid": of["metadata"].get("uid", "")}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta | {"ownerReferences": owners}, "spec": template["spec"]}


@pytest.mark.parametrize("index", range(12))
def test_pods_of_scaled_workloads_are_those_that_one_would_write(index: int) -> None:
    """By hand: the number, and the pods as `changes` names them."""
    dice = Dice(f"scale/{index}")
    kind, of = dice.pick(("Deployment", "web-1"), ("ReplicaSet", "web-1"), ("StatefulSet", "db"))
    name = {"Deployment": "web", "ReplicaSet": "web-1", "StatefulSet": "db"}[kind]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "asked", "namespace": "shop"}}
    pod["spec"] = {
        "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": dice.pick("1", "2", "3")}}}]
    }
    edited = kwhatif.edited(load(edit_cases.OBJECTS), f"scale {kind}/shop/{name}={dice.pick(0, 1, 4, 5, 9)}")
    objects = copy.deepcopy(edit_cases.OBJECTS)
    workload = next(obj for obj in objects if (obj["kind"], name_of(obj)) == (kind, name))
    owner = next(obj for obj in objects if obj["kind"] in ("ReplicaSet", "StatefulSet") and name_of(obj) == of)
    for row in edited.changes[0].touched:
        touched_kind, key = row.object.split()
        if touched_kind == "Pod" and row.change == "created":
            objects.append(pod_by_hand(workload, owner, key.partition("/")[2]))
        elif touched_kind == "Pod":
            objects = [obj for obj in objects if obj["kind"] != "Pod" or name_of(obj) != key.partition("/")[2]]
        else:
            workload["spec"]["replicas"] = int(row.fields[0].after or 0)
    assert outcome(edited, pod) == outcome(load(objects), pod)
