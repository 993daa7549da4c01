import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kwhatif.errors import InputError
from kwhatif.kube.model.caveat.reading import NoNodes, VersionNotRead
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.sources.decoding import decode
from kwhatif.sources.dumps.collected import LoadedCluster
from kwhatif.sources.dumps.dump import read_cluster
from kwhatif.sources.text import documents
from tests import FIXTURES

DEMO = FIXTURES / "demo" / "cluster.yaml"


def load(*paths: object, stdin: str = "") -> LoadedCluster:
    return read_cluster([str(path) for path in paths] or ["-"], stdin=io.BytesIO(stdin.encode()))


def problems(*paths: object, stdin: str = "") -> list[str]:
    with pytest.raises(InputError) as caught:
        load(*paths, stdin=stdin)
    return [str(problem) for problem in caught.value.problems]


def contents(loaded: LoadedCluster) -> dict[str, Any]:
    return {kind.__name__: dict(objects) for kind, objects in loaded.cluster._kinds.items()}


POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n"


def test_the_demo() -> None:
    loaded = load(DEMO)
    assert (len(loaded.cluster.all(Node)), len(loaded.cluster.all(Pod))) == (12, 49)
    assert (loaded.sources, dict(loaded.skipped), loaded.caveats) == ([str(DEMO)], {}, [])


@pytest.mark.parametrize("large", [False, True], ids=["as it is", "in pieces"])
@pytest.mark.parametrize(
    "form", ["List in JSON", "List on one line", "one JSON value after the other", "a YAML document each"]
)
def test_the_same_objects_in_any_form_make_the_same_cluster(
    form: str, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:
        monkeypatch.setattr(decode, "_LARGE", 0)
        monkeypatch.setattr(documents, "PIECE", 10_000)
    from kwhatif.sources.text.yaml_text import load as load_yaml

    dump = load_yaml(DEMO.read_bytes())
    text = {
        "List in JSON": lambda: json.dumps(dump, indent=4),
        "List on one line": lambda: json.dumps(dump),
        "one JSON value after the other": lambda: "".join(json.dumps(item) for item in dump["items"]),
        "a YAML document each": lambda: "".join(f"---\n{json.dumps(item)}\n" for item in dump["items"]),
    }[form]()
    assert contents(load("-", stdin=text)) == contents(load(DEMO))


def test_a_dump_may_be_spread_over_files(tmp_path: Path) -> None:
    (tmp_path / "pods.yaml").write_text(POD)
    (tmp_path / "nodes.yaml").write_text(NODE)
    loaded = load(tmp_path)
    assert (list(loaded.cluster.all(Pod)), list(loaded.cluster.all(Node))) == (["shop/web"], ["n1"])
    assert loaded.sources == [str(tmp_path / "nodes.yaml"), str(tmp_path / "pods.yaml")]


def test_objects_come_in_the_order_of_the_api_server() -> None:
    text = "---\n".join(
        POD.replace("web", name).replace("shop", namespace)
        for namespace, name in [("b", "b"), ("a", "z"), ("b", "a"), ("a.b", "a")]
    )
    assert list(load(stdin=text + "---\n" + NODE).cluster.all(Pod)) == ["a/z", "a.b/a", "b/a", "b/b"]


def test_the_same_object_twice_is_fine() -> None:
    assert len(load(stdin=f"{POD}---\n{POD}---\n{NODE}").cluster.all(Pod)) == 1


def test_two_objects_of_one_name_are_not_and_both_places_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{NODE}---\n{POD}")
    (tmp_path / "b.json").write_text(
        '{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"x"}},{"metadata":{"name":"web","namespace":"shop"},"spec":{"nodeName":"n1"}}]}'
    )
    said = [problem.replace(f"{tmp_path}/", "") for problem in problems(tmp_path)]
    assert said == [
        "b.json, document 1, items[1] (Pod shop/web): is there twice, with different contents; the other: a.yaml, document 2, line 6"
    ]


def test_a_pod_without_a_namespace_is_the_one_in_default() -> None:
    assert problems(
        stdin=f"{POD.replace('shop', 'default')}---\napiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec: {{nodeName: n1}}\n"
    ) == [
        "standard input, document 2, line 7 (Pod default/web): is there twice, with different contents; the other: standard input, document 1, line 1"
    ]


def test_problems_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [\n---\n" + POD + "spec:\n  priority: high\n")
    (tmp_path / "b.yaml").write_text("kind: Pod\n")
    (tmp_path / "c.json").write_text("{")
    said = [problem.replace(f"{tmp_path}/", "") for problem in problems(tmp_path, tmp_path / "missing")]
    assert said == [
        "a.yaml, document 1, line 2, column 1: is not valid YAML: while parsing a flow node did not find expected node content",
        "a.yaml, document 2, line 9 (Pod shop/web): spec.priority: expected an integer, got a string",
        "b.yaml, document 1, line 1 (Pod): apiVersion: is not set (every Kubernetes object has an apiVersion and a kind)",
        "c.json: is not valid JSON: the end is missing",
        "missing: cannot be read: No such file or directory",
    ]


def test_hundreds_of_problems_are_all_there() -> None:
    items = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{n}"}, "spec": {"priority": "x"}}
        for n in range(300)
    ]
    assert len(problems(stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))) == 300


@pytest.mark.parametrize("text", ["", "---\n# nothing\n"], ids=["an empty file", "comments"])
def test_input_without_objects(text: str) -> None:
    assert problems(stdin=text) == ["standard input: holds no Kubernetes objects"]


@pytest.mark.parametrize(
    "text", ['{"apiVersion":"v1","kind":"List","items":[]}', "apiVersion: v1\nkind: PodList\nitems:\n", POD]
)
def test_a_cluster_without_nodes_is_a_cluster_but_worth_a_caveat(text: str) -> None:
    loaded = load(stdin=text)
    assert loaded.caveats == [NoNodes()]


def test_kinds_that_are_not_read_are_counted_and_versions_are_worth_a_caveat() -> None:
    claim = "apiVersion: resource.k8s.io/v1alpha3\nkind: ResourceClaim\nmetadata: {name: c}\n"
    loaded = load(stdin=f"{NODE}---\napiVersion: v1\nkind: Secret\n---\n{claim}")
    assert dict(loaded.skipped) == {"v1/Secret": 1, "resource.k8s.io/v1alpha3/ResourceClaim": 1}
    assert loaded.caveats == [VersionNotRead(kind="resource.k8s.io/v1alpha3/ResourceClaim", count=1)]


def test_a_large_list_that_is_not_what_it_looks_like_is_read_the_plain_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "_LARGE", 0)
    text = '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret"},{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}],"more":[{}]}'
    loaded = load(stdin=text)
    assert (list(loaded.cluster.all(Node)), dict(loaded.skipped)) == (["n"], {"v1/Secret": 1})


def test_a_large_list_that_was_cut_off_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "_LARGE", 0)
    text = json.dumps(
        {
            "apiVersion": "v1",
            "kind": "List",
            "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {}}}] * 3,
        },
        indent=4,
    )
    assert problems(stdin=text[: len(text) * 2 // 3]) == ["standard input: is not valid JSON: the end is missing"]


def test_kubectls_yaml_is_read_without_a_yaml_parser() -> None:
    program = f"import io, sys; from kwhatif.sources.dumps.dump import read_cluster; read_cluster([{str(DEMO)!r}], stdin=io.BytesIO()); sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_entries_of_a_list_say_their_version() -> None:
    entries = [{"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 5}]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": entries})
    with pytest.raises(InputError, match=r"items\[0\] \(PriorityClass high\): apiVersion: is not set"):
        load(stdin=text)
