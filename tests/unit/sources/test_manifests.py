import io
from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.kube.model.caveat.manifests import NotBuilt
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.sources.manifests.applied import read_applied
from kwhatif.sources.manifests.read import read_manifest_set
from kwhatif.sources.text.problems import Manifest, Origin
from tests import FIXTURES

DEMO = FIXTURES / "demo" / "pods"


def load(*paths: object, stdin: str = "") -> list[Manifest]:
    found = read_manifest_set(
        [str(path) for path in paths] or ["-"], stdin=io.BytesIO(stdin.encode()), default_namespace="shop"
    )
    assert found.problems == ()
    return list(found.manifests)


def problems(*paths: object, stdin: str = "") -> list[str]:
    names = [str(path) for path in paths] or ["-"]
    with pytest.raises(InputError) as caught:
        read_applied(names, Cluster(), stdin=io.BytesIO(stdin.encode()), default_namespace="shop").require_sound()
    return [str(problem) for problem in caught.value.problems]


def test_the_demo_in_order_of_its_files() -> None:
    assert [key_of(manifest.object) for manifest in load(DEMO)] == [
        "shop/checkout",
        "data/impossible",
        "data/inference",
        "shop/patient",
        "shop/api-extra",
        "shop/small",
    ]


def test_every_object_knows_its_place() -> None:
    text = """# A comment.
apiVersion: v1
kind: Pod
metadata: {name: a}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: b, namespace: other}
- apiVersion: apps/v1
  kind: DeploymentList
  items:
  - metadata: {name: c}
"""
    assert [(key_of(manifest.object), manifest.origin) for manifest in load(stdin=text)] == [
        ("shop/a", Origin("standard input", 1, 2)),
        ("other/b", Origin("standard input", 2, 9, "/items/0")),
        ("shop/c", Origin("standard input", 2, 15, "/items/1/items/0")),
    ]


def test_json_has_no_lines() -> None:
    (manifest,) = load(stdin='{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}')
    assert manifest.origin == Origin("standard input", 1)


def test_other_objects_may_stand_beside_the_pods() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\n"
    assert [type(manifest.object).__name__ for manifest in load(stdin=text)] == ["Pod", "PersistentVolumeClaim"]


def test_pods_yet_to_be_named_may_be_many() -> None:
    text = "---\n".join(
        f"apiVersion: v1\nkind: Pod\nmetadata: {{generateName: a-}}\nspec: {{priority: {n}}}\n" for n in range(3)
    )
    assert len(load(stdin=text)) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", ["-: holds no object at all (give a Pod, Deployment, Job, …)"], id="nothing"),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {hostNetwork: true}\n",
            [
                "standard input, document 2, line 5 (Pod shop/a): is there twice, with different contents; the other: standard input, document 1, line 1"
            ],
            id="two pods of one name",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: main\n    resources:\n      requests:\n        cpu: 1gb\n",
            [
                "standard input, document 1, line 10 (Pod shop/a): spec.containers[0].resources.requests.cpu: '1gb' is not a quantity such as 2, 0.5, 500m or 1.5Gi"
            ],
            id="an impossible quantity, with its line",
        ),
    ],
)
def test_problems(text: str, said: list[str]) -> None:
    assert problems(stdin=text) == said


@pytest.mark.parametrize(
    ("kind", "version", "served"),
    [
        ("Deployment", "apps/v1beta1", "apps/v1"),
        ("DaemonSet", "extensions/v1beta1", "apps/v1"),
        ("CronJob", "batch/v1beta1", "batch/v1"),
        ("PodDisruptionBudget", "policy/v1beta1", "policy/v1"),
        ("Pod", "v1beta3", "v1"),
    ],
)
def test_a_version_that_is_no_longer_served(kind: str, version: str, served: str) -> None:
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: old}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\n"
    assert problems(stdin=text) == [
        f'standard input, document 1, line 1 ({kind} old): no matches for kind "{kind}" in version "{version}"'
        f" (write {served})"
    ]


def test_a_kind_of_that_name_in_another_group_is_another_kind() -> None:
    text = "apiVersion: serving.example.com/v1\nkind: Service\nmetadata: {name: s}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
    assert [key_of(manifest.object) for manifest in load(stdin=text)] == ["shop/a"]


def test_a_glob_that_matches_nothing(tmp_path: Path) -> None:
    assert problems(tmp_path / "*.yaml") == [f"{tmp_path}/*.yaml: matches no file"]


UNBUILT = {
    "a chart's values": ("values.yaml", "replicaCount: 2\n", "neither apiVersion nor kind", "helm template"),
    "a chart": ("Chart.yaml", "apiVersion: v2\nname: x\n", "kind: is not set", "helm template"),
    "an overlay": ("kustomization.yaml", "resources: [a.yaml]\n", "neither apiVersion nor kind", "kustomize build"),
    "a template": ("a.yaml", "kind: Pod\nmetadata: {name: {{ .Values.x }}}\n", "is not valid YAML", "helm template"),
    "a template in a condition": ("a.yaml", "{{ if .Values.x }}\nkind: Pod\n{{ end }}\n", "JSON", "helm template"),
    "something else": ("compose.yaml", "services: {}\n", "neither apiVersion nor kind", ""),
}


@pytest.mark.parametrize(("file", "text", "wrong", "hint"), UNBUILT.values(), ids=UNBUILT.keys())
def test_what_a_tool_makes_manifests_of(tmp_path: Path, file: str, text: str, wrong: str, hint: str) -> None:
    (tmp_path / file).write_text(text)
    (said,) = problems(tmp_path / file)
    assert wrong in said
    assert (f"(give what `{hint}`" in said or f": give what `{hint}`" in said) if hint else not said.endswith(")")


def test_an_overlay_that_says_what_it_is_counts_for_nothing_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    found = read_manifest_set([str(tmp_path)], stdin=io.BytesIO(), default_namespace="shop")
    assert found.caveats == (NotBuilt(file=f"{tmp_path}/kustomization.yaml"),)


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: Pod\nmetadata: {name: a}\n")
    assert len(problems(tmp_path, tmp_path / "." / "a.yaml", f"{tmp_path}/../{tmp_path.name}/a.yaml")) == 1
