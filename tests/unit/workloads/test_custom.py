"""Pod templates in custom resources."""

from typing import Any

import pytest

from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.workloads.custom import TemplatePathError, pods_of_templates, templates_of

TEMPLATE = {
    "metadata": {"labels": {"app": "x"}, "creationTimestamp": None},
    "spec": {"containers": [{"name": "main", "image": "app:1", "resources": {"requests": {"cpu": 1}}}]},
}


def resource(**spec: Any) -> dict[str, Any]:
    meta = {"name": "train", "namespace": "ml", "generation": 3}
    return {"apiVersion": "example.com/v1", "kind": "Training", "metadata": meta, "spec": spec}


def at(raw: dict[str, Any], *paths: str) -> CustomResource:
    return CustomResource("Training", ObjectMeta(name="train", namespace="ml"), raw, paths)


PATHS = {
    "a field": (resource(template=TEMPLATE), ".spec.template", 1),
    "without the leading dot": (resource(template=TEMPLATE), "spec.template", 1),
    "replicas beside the template": (resource(replicas=3, template=TEMPLATE), ".spec.template", 3),
    "no replicas": (resource(replicas=0, template=TEMPLATE), ".spec.template", 0),
    "an entry of a list": (resource(groups=[{"template": TEMPLATE}]), ".spec.groups[0].template", 1),
    "every entry of a list": (
        resource(groups=[{"template": TEMPLATE}, {"replicas": 2, "template": TEMPLATE}]),
        ".spec.groups[*].template",
        3,
    ),
    "every entry of a map": (
        resource(roles={"Worker": {"replicas": 4, "template": TEMPLATE}, "Master": {"template": TEMPLATE}}),
        ".spec.roles.*.template",
        5,
    ),
    "a name in quotes": (resource(**{"a.b": {"template": TEMPLATE}}), '.spec["a.b"].template', 1),
}


@pytest.mark.parametrize(("raw", "path", "number"), PATHS.values(), ids=PATHS.keys())
def test_path(raw: dict[str, Any], path: str, number: int) -> None:
    pods = pods_of_templates(at(raw, path), Cluster()).pods
    assert len({pod.metadata.name for pod in pods}) == number
    for pod in pods:
        (owner,) = pod.metadata.owner_references
        assert (owner.kind, owner.name, owner.api_version) == ("Training", "train", "example.com/v1")
        assert pod.metadata.namespace == "ml"
        assert pod.metadata.labels == {"app": "x"}
        assert pod.metadata.name.startswith("train-")
        assert pod.spec.containers[0].resources.requests == {"cpu": 1}


KEPT = {
    "no number": (resource(template=TEMPLATE), ".spec.template", 3),
    "a number": (resource(replicas=2, template=TEMPLATE), ".spec.template", 2),
    "none at all": (resource(replicas=0, template=TEMPLATE), ".spec.template", 0),
    "null": (resource(replicas=None, template=TEMPLATE), ".spec.template", 3),
    "one of two numbers": (
        resource(groups=[{"template": TEMPLATE}, {"replicas": 1, "template": TEMPLATE}]),
        ".spec.groups[*].template",
        3,
    ),
    "more elsewhere than run": (
        resource(groups=[{"template": TEMPLATE}, {"replicas": 4, "template": TEMPLATE}]),
        ".spec.groups[*].template",
        5,
    ),
    "no number of two": (
        resource(groups=[{"template": TEMPLATE}, {"template": TEMPLATE}]),
        ".spec.groups[*].template",
        2,
    ),
}


@pytest.mark.parametrize(("raw", "path", "number"), KEPT.values(), ids=KEPT.keys())
def test_what_the_manifest_leaves_open_stays_as_many_as_run(raw: dict[str, Any], path: str, number: int) -> None:
    assert len(pods_of_templates(at(raw, path), Cluster(), running=3).pods) == number


WRONG = {
    "leads nowhere": (".spec.pod", ".spec has no 'pod'"),
    "leads to something else": (".metadata", ".metadata is not a pod template: it has no spec.containers"),
    "leads to a scalar": (".metadata.name", ".metadata.name cannot be read: Expected `object`, got `str`"),
    "is no path": (".spec..template", "'.spec..template' is not a path of fields such as .spec.template"),
    "an index where there is no list": (".spec[0]", ".spec has no 0"),
    "an amount that is none": (".spec.much", ".spec.much holds what is not a quantity: quantities must match"),
    "another type within": (".spec.broken", "Expected `array`, got `int` - at `$.spec.containers`"),
}


@pytest.mark.parametrize(("path", "message"), WRONG.values(), ids=WRONG.keys())
def test_wrong_path(path: str, message: str) -> None:
    much = {"spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "much"}}}]}}
    raw = resource(template=TEMPLATE, broken={"spec": {"containers": 3}}, much=much)
    with pytest.raises(TemplatePathError) as caught:
        templates_of(at(raw, path))
    assert message in str(caught.value)


def test_the_uid_of_the_resource_is_kept() -> None:
    raw = resource(template=TEMPLATE)
    raw["metadata"]["uid"] = "42"
    (pod,) = pods_of_templates(at(raw, ".spec.template"), Cluster()).pods
    assert pod.metadata.owner_references[0].uid == "42"


def test_pods_of_two_paths_have_different_names() -> None:
    raw = resource(head={"template": TEMPLATE}, worker={"replicas": 2, "template": TEMPLATE})
    both = at(raw, ".spec.head.template", ".spec.worker.template")
    pods = pods_of_templates(both, Cluster()).pods
    assert len({pod.metadata.name for pod in pods}) == len(pods) == 3
