"""Kinds and versions that no cluster serves, and those that only some do."""

import io
import json
from pathlib import Path

import pytest

from kwhatif.kube.model.caveat.manifests import CustomKind, UnjudgedKind
from kwhatif.kube.model.caveat.reading import VersionNotDefault
from kwhatif.render.caveats import sentence
from kwhatif.sources.decoding.strict import api_fields
from kwhatif.sources.manifests.read import ManifestSet, read_manifest_set
from kwhatif.sources.manifests.unmodelled import makes_no_pods


def read(*objects: tuple[str, str], template_paths: dict[str, tuple[str, ...]] | None = None) -> ManifestSet:
    text = "\n".join(
        json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}}) for version, kind in objects
    )
    return read_manifest_set(
        ["-"], stdin=io.BytesIO(text.encode()), default_namespace="default", template_paths=template_paths
    )


MISSPELLED = {
    ("apps/v1", "Deploymnet"): "did you mean Deployment?",
    ("apps/v1", "deployment"): "did you mean Deployment?",
    ("app/v1", "Deployment"): "write apps/v1",
    ("v1", "Deployment"): "write apps/v1",
    ("v1", "Pdo"): "did you mean Pod?",
    ("v2", "Pod"): "write v1",
    ("apps/v1", "Job"): "write batch/v1",
    ("batch/v1", "StatefulSett"): "did you mean StatefulSet in apps/v1?",
    ("extensions/v1beta1", "Ingress"): "write networking.k8s.io/v1",
    ("autoscaling/v2beta2", "HorizontalPodAutoscaler"): "write autoscaling/v1 or autoscaling/v2",
    ("networkin.k8s.io/v1", "Ingress"): "write networking.k8s.io/v1",
    ("policy/v1beta1", "PodSecurityPolicy"): "",
    ("apps/v1/extra", "Deployment"): "write apps/v1",
    ("resource.k8s.io/v1beta1", "ResourceClaim"): "write resource.k8s.io/v1",
    ("resource.k8s.io/v1", "DeviceTaintRule"): "write resource.k8s.io/v1alpha3 or resource.k8s.io/v1beta2",
    ("apps/v1", "Zzz"): "",
    ("acme/v1", "Qqqqq"): "",
}


@pytest.mark.parametrize(("written", "hint"), MISSPELLED.items(), ids=str)
def test_what_no_cluster_serves_is_an_error_with_what_is_near(written: tuple[str, str], hint: str) -> None:
    version, kind = written
    (problem,) = read(written, ("v1", "Pod")).problems
    assert problem.message == f'no matches for kind "{kind}" in version "{version}"'
    assert (problem.hint, problem.file, problem.object) == (hint, "standard input", f"{kind} a")


@pytest.mark.parametrize(
    "written",
    [
        ("argoproj.io/v1alpha1", "Workflow"),
        ("serving.knative.dev/v1", "Route"),
        ("apps.example.com/v1alpha1", "StatefulSet"),
        ("batch.volcano.sh/v1alpha1", "Job"),
        ("scheduling.example.com/v1alpha1", "PodGroup"),
        ("gateway.networking.k8s.io/v1", "Gateway"),
        ("cert-manager.io/v1", "Certificate"),
        ("custom.metrics.k8s.io/v1beta2", "MetricValue"),
    ],
)
def test_custom_kinds_are_a_caveat(written: tuple[str, str]) -> None:
    found = read(written, ("v1", "Pod"))
    version, kind = written
    assert found.problems == ()
    (caveat,) = found.caveats
    group = version.partition("/")[0]
    assert sentence(caveat).startswith(f"{kind}.{group}, 1 object, is not judged: it is a custom kind")
    assert isinstance(caveat, CustomKind)
    assert caveat.missing


def test_all_custom_kinds_are_one_caveat_the_most_frequent_first() -> None:
    even, odd = ("example.com/v1beta1", "Even"), ("example.com/v1", "Odd")
    (caveat,) = read(even, odd, odd, ("example.com/v1alpha1", "Odd"), ("acme.dev/v1", "Odd")).caveats
    assert caveat == CustomKind(kinds=(("Odd.example.com", 3), ("Even.example.com", 1), ("Odd.acme.dev", 1)))


@pytest.mark.parametrize(
    ("api_version", "kind", "expected"),
    [
        ("route.openshift.io/v1", "Route", True),
        ("monitoring.coreos.com/v1", "ServiceMonitor", True),
        ("monitoring.coreos.com/v1", "PrometheusAgent", False),
        ("snapshot.storage.k8s.io/v1", "VolumeSnapshot", True),
        ("gateway.networking.k8s.io/v1", "HTTPRoute", True),
        # An implementation may run a proxy for each; solvers of ACME are pods.
        ("gateway.networking.k8s.io/v1", "Gateway", False),
        ("cert-manager.io/v1", "Certificate", False),
        ("example.com/v1", "ServiceMonitor", False),
        ("v1", "Route", False),
    ],
)
def test_kinds_of_which_no_controller_makes_pods(api_version: str, kind: str, *, expected: bool) -> None:
    assert makes_no_pods(api_version, kind) is expected
    if "." in api_version:
        found = read((api_version, kind)).caveats
        assert (found == ()) is expected


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("v1", "ServiceAccount"),
        ("v1", "Endpoints"),
        ("networking.k8s.io/v1", "Ingress"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("apiregistration.k8s.io/v1", "APIService"),
        ("discovery.k8s.io/v1", "EndpointSlice"),
        ("v1", "ConfigMapList"),
    ],
)
def test_kinds_that_scheduling_does_not_read_are_no_news(version: str, kind: str) -> None:
    found = read((version, kind), ("v1", "Pod"))
    assert (found.problems, found.caveats) == ((), ())


def test_a_version_that_a_cluster_must_turn_on_is_a_caveat() -> None:
    found = read(("scheduling.k8s.io/v1alpha2", "Workload"), ("v1", "Pod")).caveats
    (caveat,) = (each for each in found if isinstance(each, VersionNotDefault))
    assert sentence(caveat) == (
        "Workload in scheduling.k8s.io/v1alpha2, 1 object: served only by clusters that turn this version on"
    )


def test_an_empty_list_is_fine() -> None:
    text = b'{"apiVersion":"v1","kind":"List","items":null}{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}'
    assert read_manifest_set(["-"], stdin=io.BytesIO(text), default_namespace="default").problems == ()


def test_an_object_without_a_version_is_nothing_custom() -> None:
    found = read(("", "Pod"))
    assert [problem.field for problem in found.problems] == ["apiVersion"]
    assert found.caveats == ()


def test_a_path_for_a_kind_that_is_nowhere() -> None:
    found = read(("argoproj.io/v1alpha1", "Rollout"), template_paths={"Rollot": (), "Zzz": (), "Rollout": ()})
    assert [str(problem) for problem in found.problems] == [
        "--pod-template-path Rollot: no manifest holds a Rollot (did you mean Rollout?)",
        "--pod-template-path Zzz: no manifest holds a Zzz",
    ]


def test_a_file_called_json_is_json(tmp_path: Path) -> None:
    text = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"},\n}'
    for name in ("a.json", "a.yaml"):
        (tmp_path / name).write_text(text)
    (problem,) = read_manifest_set([str(tmp_path)], stdin=io.BytesIO(), default_namespace="default").problems
    assert str(problem) == f"{tmp_path}/a.json: is not valid JSON: line 2, column 1: trailing comma in object"
    assert problem.line == 2


def test_every_kind_has_a_type_and_every_type_a_kind() -> None:
    table = api_fields()
    codes = {code.lstrip("[{") for fields in table.types for code in fields.values()}
    numbers = {int(code) for code in codes if code.isdigit()}
    roots = {number for kinds in table.kinds.values() for number in kinds.values()}
    assert numbers | roots == set(range(len(table.types)))
    assert {code for code in codes if not code.isdigit()} <= set("sbnilyqxo*")


def test_custom_resources_with_a_template_are_one_caveat_for_each_kind() -> None:
    spec = {"template": {"spec": {"containers": [{"name": "c"}]}}}
    objects = [
        {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec}
        for kind, name in (("Roll", "a"), ("Serve", "b"), ("Roll", "c"))
    ]
    text = "\n".join(map(json.dumps, objects))
    found = read_manifest_set(["-"], stdin=io.BytesIO(text.encode()), default_namespace="default")
    assert found.caveats == (
        UnjudgedKind(kind="Roll", objects=("Roll shop/a", "Roll shop/c")),
        UnjudgedKind(kind="Serve", objects=("Serve shop/b",)),
    )
