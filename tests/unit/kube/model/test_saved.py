"""The JSON that pods and nodes were read from."""

import json
from typing import Any

import pytest

from kwhatif.kube.model.saved import Originals

POD = {"kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}, "x": 1}
NODE = {"kind": "Node", "metadata": {"name": "n"}, "x": 2}


def kept(value: Any, kind: str = "") -> Originals:
    originals = Originals()
    originals.add(json.dumps(value).encode(), kind, "here")
    return originals


def bare(obj: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in obj.items() if name != "kind"}


KEPT: dict[str, tuple[Any, str, Any, Any]] = {
    "an object": (POD, "", POD, None),
    "a list": ({"kind": "List", "items": [POD, NODE]}, "", POD, NODE),
    "a list of one kind, which its entries need not say": (
        {"kind": "PodList", "items": [bare(POD)]},
        "",
        bare(POD),
        None,
    ),
    "the bare entries of a list": ([bare(NODE)], "Node", None, bare(NODE)),
    "a list within a list": ({"kind": "List", "items": [{"kind": "NodeList", "items": [NODE]}]}, "", None, NODE),
    "other kinds are not kept": ({"kind": "Secret", "metadata": {"name": "n"}}, "", None, None),
    "what has no name in the right place is left to others": ({"kind": "Pod", "metadata": {"name": 1}}, "", None, None),
    "an empty list": ({"kind": "List", "items": None}, "", None, None),
    "no object": ("Pod", "", None, None),
}


@pytest.mark.parametrize(("value", "kind", "pod", "node"), KEPT.values(), ids=KEPT.keys())
def test_what_is_kept(value: Any, kind: str, pod: Any, node: Any) -> None:
    originals = kept(value, kind)
    assert (originals.get("Pod", "shop/web"), originals.get("Node", "n")) == (pod, node)


def test_a_pod_without_namespace_is_where_it_was_put() -> None:
    pod = {"kind": "Pod", "metadata": {"name": "web"}}
    assert kept(pod).get("Pod", "here/web") == pod


def test_what_is_handed_out_may_be_changed() -> None:
    originals = kept(POD)
    first = originals.get("Pod", "shop/web")
    assert first is not None
    first.clear()
    assert originals.get("Pod", "shop/web") == POD


def test_the_same_object_again_counts_last() -> None:
    originals = kept(POD)
    originals.add(json.dumps(POD | {"x": 3}).encode(), "", "here")
    assert (originals.get("Pod", "shop/web") or {})["x"] == 3
