"""What applying a manifest makes of an object that is there: as kubectl and an API server of 1.36.2 have recorded it."""

import json
from io import BytesIO
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.workload import Deployment
from kwhatif.sources.dumps.dump import read_cluster
from kwhatif.sources.manifests.read import read_manifest_set
from kwhatif.sources.saving.redact import redact
from kwhatif.sources.text.files import GivenText
from kwhatif.workloads.applied_object import applied_object
from kwhatif.workloads.applied_template import UNKNOWN, Owned, template_of, three_way, without_nulls
from kwhatif.workloads.template import same_template
from kwhatif.workloads.template_fields import places_of
from tests import FIXTURES
from tests.examples import examples

Json = dict[str, Any]
CASES: dict[str, Json] = json.loads((FIXTURES / "apply" / "kubectl.json").read_text(encoding="utf-8"))


def loaded(*objects: Json) -> Cluster:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    return read_cluster([GivenText("dump.json", text)], stdin=BytesIO()).cluster


def manifest(data: Json) -> Any:
    (found,) = read_manifest_set(
        [GivenText("manifest.json", json.dumps(data).encode())], stdin=BytesIO(), default_namespace="default"
    ).manifests
    return found.object


def only(cluster: Cluster, kind: type) -> Any:
    found: Any
    (found,) = cluster.all(kind).values()
    return found


def plain(obj: Any) -> Json:
    """What the model has of an object, without what is kept beside its fields, and its template apart."""
    data: Json = msgspec.to_builtins(obj)
    data.pop("status", None)
    data["metadata"] = {"labels": data["metadata"].get("labels", {})}
    spec = data["spec"]
    spec.pop("template", None)
    if isinstance(obj, Deployment):  # the model leaves it to its readers to fill in what a strategy does not say
        strategy = spec.pop("strategy", {})
        rolling = {"maxSurge": "25%", "maxUnavailable": "25%", **strategy.get("rollingUpdate", {})}
        spec["strategy"] = strategy if strategy.get("type") == "Recreate" else rolling
    return data


def model_of(obj: Any) -> Any:
    template = template_of(obj)
    assert template is not None
    return replace(template, text=None, digest=None, mark="")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("source", ["dump", "snapshot"])
def test_as_kubectl_applies_it(name: str, source: str) -> None:
    case = CASES[name]
    new = manifest(case["manifest"])
    cluster = loaded(case["live"])
    if source == "snapshot":
        cluster.add(redact(only(cluster, type(new)), images=True))
    merged, wanted = applied_object(new, cluster), only(loaded(case["after"]), type(new))
    found, expected = plain(merged), plain(wanted)
    if source == "snapshot":  # it keeps no keys of labels that somebody has applied
        found["metadata"] = expected["metadata"] = {}
    assert found == expected
    if "template" not in case["manifest"]["spec"]:
        return
    if source == "dump":
        assert same_template(template_of(merged), template_of(wanted))
    assert same_template(model_of(merged), model_of(wanted))


@pytest.mark.parametrize("name", CASES)
def test_applying_it_again_changes_nothing(name: str) -> None:
    new = manifest(CASES[name]["manifest"])
    cluster = loaded(CASES[name]["live"])
    once = applied_object(new, cluster)
    cluster.add(once)
    again = applied_object(new, cluster)
    assert plain(again) == plain(once)
    if "template" in CASES[name]["manifest"]["spec"]:
        assert same_template(template_of(once), template_of(again))


_NAMES = st.sampled_from(["a", "b", "nodeSelector", "requests"])
_TREES: Any = st.recursive(
    st.integers(0, 3) | st.text("xy", max_size=2) | st.lists(st.integers(0, 2), max_size=2),
    lambda below: st.dictionaries(_NAMES, below, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(_NAMES, _TREES, max_size=4)


def owned(applied: Json) -> Owned:
    return Owned(places_of(json.dumps(applied)).__contains__)


@settings(max_examples=examples(200))
@given(_OBJECTS, _OBJECTS, _OBJECTS)
def test_applying_twice_is_applying_once(live: Json, given_: Json, before: Json) -> None:
    once = three_way(live, given_, owned(before))
    assert three_way(once, given_, owned(given_)) == once


@settings(max_examples=examples(200))
@given(_OBJECTS, _OBJECTS)
def test_what_was_not_applied_stays_and_what_is_given_is_there(live: Json, given_: Json) -> None:
    merged = three_way(live, given_, UNKNOWN)
    assert {key: merged[key] for key in live if key not in given_} == {
        key: value for key, value in live.items() if key not in given_
    }
    assert three_way(merged, given_, UNKNOWN) == merged
    assert three_way({}, given_, UNKNOWN) == without_nulls(given_)


@settings(max_examples=examples(200))
@given(_OBJECTS, _OBJECTS)
def test_what_was_applied_and_is_not_given_any_more_goes(live: Json, before: Json) -> None:
    merged = three_way({**live, **before}, {}, owned(before))
    assert merged.keys() == live.keys() - before.keys()
