"""The library as its users meet it: what can be given instead of a path, its names, its reports, its complaints."""

import html
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from kubernetes import client

import kwhatif
from tests import FIXTURES
from tests.schemas import validator

#: The dump was taken then.
NOW = datetime(2026, 11, 21, 7, 20, tzinfo=UTC)
DUMP = FIXTURES / "demo" / "cluster.yaml"
POD = FIXTURES / "library" / "pod.yaml"
MANIFESTS = FIXTURES / "gate" / "manifests"


@pytest.fixture(scope="module")
def cluster() -> kwhatif.Session:
    return kwhatif.load(DUMP, now=NOW)


@pytest.fixture(scope="module")
def expected(cluster: kwhatif.Session) -> dict[str, Any]:
    return answer(kwhatif.schedule(cluster, POD))


def answer(report: kwhatif.Report) -> dict[str, Any]:
    """All of it but where the manifest came from."""
    made = report.to_dict()
    for row in (*made["decisions"], *made["workloads"]):
        row["source"] = None
    return made


def model() -> client.V1Pod:
    """The pod of the demo, written with the official client."""
    data = yaml.safe_load(POD.read_text())
    (container,) = data["spec"]["containers"]
    return client.V1Pod(
        api_version="v1",
        kind="Pod",
        metadata=client.V1ObjectMeta(**data["metadata"]),
        spec=client.V1PodSpec(
            priority_class_name=data["spec"].get("priorityClassName"),
            containers=[
                client.V1Container(
                    name=container["name"],
                    image=container.get("image"),
                    resources=client.V1ResourceRequirements(**container["resources"]),
                )
            ],
        ),
    )


class Lightkube:
    """What other clients have: their objects know their JSON."""

    def to_dict(self) -> dict[str, Any]:
        return yaml.safe_load(POD.read_text())


GIVEN: dict[str, Callable[[], Any]] = {
    "a path": lambda: POD,
    "a path as text": lambda: str(POD),
    "text": lambda: kwhatif.text(POD.read_text()),
    "bytes": lambda: kwhatif.text(POD.read_bytes()),
    "JSON": lambda: kwhatif.text(json.dumps(yaml.safe_load(POD.read_text()))),
    "a binary stream": lambda: io.BytesIO(POD.read_bytes()),
    "a stream": lambda: io.StringIO(POD.read_text()),
    "an object": lambda: yaml.safe_load(POD.read_text()),
    "objects": lambda: [yaml.safe_load(POD.read_text())],
    "a model": model,
    "models": lambda: [model()],
    "another client's object": Lightkube,
}


def test_errors_call_an_open_file_by_its_name(cluster: kwhatif.Session, tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("a: [")
    with path.open() as file, pytest.raises(kwhatif.InputError, match=f"^{path}"):
        kwhatif.schedule(cluster, file)


@pytest.mark.parametrize("name", GIVEN)
def test_whatever_holds_a_pod_can_be_given(name: str, cluster: kwhatif.Session, expected: dict[str, Any]) -> None:
    assert answer(kwhatif.schedule(cluster, GIVEN[name]())) == expected
    assert kwhatif.preempt(cluster, GIVEN[name]()).decisions[0].node == expected["decisions"][0]["node"]
    assert kwhatif.gate(cluster, GIVEN[name]()).decisions[0].node == expected["decisions"][0]["node"]


def test_a_cluster_of_objects_is_the_cluster_of_the_file(expected: dict[str, Any]) -> None:
    documents = list(yaml.load_all(DUMP.read_bytes(), yaml.CSafeLoader))
    objects = [item for document in documents for item in document.get("items", [document])]
    session = kwhatif.load(objects[:5], *objects[5:7], kwhatif.text(yaml.safe_dump_all(objects[7:]), "rest"), now=NOW)
    made = answer(kwhatif.schedule(session, POD))
    assert made["snapshot"].pop("sources") == ["dump 1", "dump 2", "dump 3", "rest"]
    expected = expected | {"snapshot": {**expected["snapshot"]}}
    del expected["snapshot"]["sources"]
    assert made == expected


def test_two_texts_without_a_name_are_two(cluster: kwhatif.Session) -> None:
    pods = [
        kwhatif.text(
            f'{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}"}}, "spec": {{"containers": [{{"name": "a", "image": "b"}}]}}}}'
        )
        for name in "pq"
    ]
    assert [decision.pod for decision in kwhatif.gate(cluster, *pods).decisions] == ["default/p", "default/q"]


def test_lists_of_the_official_client_leave_out_the_kind() -> None:
    node = client.V1Node(
        metadata=client.V1ObjectMeta(name="n", creation_timestamp=datetime(2026, 1, 1, tzinfo=UTC)),
        status=client.V1NodeStatus(allocatable={"cpu": "1", "memory": "1Gi", "pods": "3"}),
    )
    nodes = client.V1NodeList(api_version="v1", kind="NodeList", items=[node])
    for given in (nodes, [node], node):
        assert [info.name for info in kwhatif.load(given).state.nodes] == ["n"]


def test_what_is_wrong_is_named_by_its_place(cluster: kwhatif.Session) -> None:
    with pytest.raises(kwhatif.InputError, match=r"^manifest 2, .*Pod a/b"):
        kwhatif.schedule(
            cluster, POD, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b", "namespace": "a"}, "spec": 3}
        )
    with pytest.raises(kwhatif.InputError, match=r"^chart.yaml"):
        kwhatif.schedule(cluster, kwhatif.text("a: [", name="chart.yaml"))
    with pytest.raises(kwhatif.InputError, match="nowhere.yaml: cannot be read"):
        kwhatif.schedule(cluster, "nowhere.yaml")


WRONG: dict[str, tuple[Callable[[kwhatif.Session], object], str]] = {
    "no session": (
        lambda _: kwhatif.schedule("cluster.yaml", "pod.yaml"),  # type: ignore[arg-type]
        r"schedule\(\) takes a cluster first, as kwhatif.load\(...\) returns it; this is of type str",
    ),
    "no session to preempt": (lambda _: kwhatif.preempt(DUMP), r"preempt\(\) takes a cluster first"),  # type: ignore[arg-type]
    "no session for a gate": (lambda _: kwhatif.gate(None, POD), r"gate\(\) takes a cluster first"),  # type: ignore[arg-type]
    "no manifest": (lambda cluster: kwhatif.schedule(cluster, *()), r"schedule\(\) needs a manifest"),
    "no dump": (lambda _: kwhatif.load(*()), r"load\(\) needs a dump; kwhatif.load_live\(\) reads the live cluster"),
    "a number": (
        lambda cluster: kwhatif.schedule(cluster, POD, 3),  # type: ignore[arg-type]
        r"manifest 2 is of type int; it can be a path, kwhatif.text\(...\), an open file, or Kubernetes objects as dicts",
    ),
    "nothing": (lambda _: kwhatif.load(None), r"dump 1 is None; it can be a path"),  # type: ignore[arg-type]
    "a list of paths": (lambda _: kwhatif.load(["a.yaml"]), r"dump 1\[0\] is of type str; it can be"),  # type: ignore[list-item]
    "bare text": (
        lambda cluster: kwhatif.schedule(cluster, POD.read_text()),
        r"manifest 1 is text, and a string is a path: write kwhatif.text\(...\)",
    ),
    "bare JSON": (lambda _: kwhatif.load('{"kind": "Pod"}'), r"dump 1 is text, and a string is a path"),
    "bytes": (lambda _: kwhatif.load(b"kind: Pod"), r"dump 1 is of type bytes: for text write kwhatif.text"),  # type: ignore[arg-type]
    "not JSON": (
        lambda cluster: kwhatif.gate(cluster, {"kind": "Pod", "spec": {1, 2}, "x": object()}),
        r"manifest 1 holds something that JSON cannot: .*type object",
    ),
    "text of a number": (lambda _: kwhatif.text(3), r"text\(\) takes a string or bytes, not of type int"),  # type: ignore[arg-type]
    "an edit": (
        lambda cluster: kwhatif.edited(cluster, "cordon general-a1", 3),  # type: ignore[arg-type]
        "edit 2 is of type int; it is a string such",
    ),
    "no edit": (lambda cluster: kwhatif.edited(cluster, None), "edit 1 is None; it is a string such"),  # type: ignore[arg-type]
    "one edit": (
        lambda cluster: kwhatif.simulate(cluster, then="cordon general-a1"),
        "then is of type str; it is a list",
    ),
    "a node": (lambda cluster: kwhatif.drain(cluster, 3), "node 1 is of type int; it is a string"),  # type: ignore[arg-type]
    "no node": (kwhatif.drain, r"drain\(\) needs a node"),
    "a node that fails": (lambda cluster: kwhatif.outage(cluster, 3), "node 1 is of type int; it is a string"),  # type: ignore[arg-type]
    "nothing that fails": (kwhatif.outage, r"outage\(\) needs a node"),
    "nodes and each": (
        lambda cluster: kwhatif.outage(cluster, "a1", each="zone"),
        r"outage\(\) takes nodes, a selector",
    ),
    "no session to play on": (lambda _: kwhatif.simulate(DUMP), r"simulate\(\) takes a cluster first"),  # type: ignore[arg-type]
    "no session to upgrade": (lambda _: kwhatif.upgrade(DUMP, to="1.37"), r"upgrade\(\) takes a cluster first"),  # type: ignore[arg-type]
    "a pod": (lambda cluster: kwhatif.pending(cluster, 3), "pod 1 is of type int; it is a string"),  # type: ignore[arg-type]
    "no reports": (
        lambda cluster: kwhatif.compare(cluster, cluster),  # type: ignore[arg-type]
        r"compare\(\) takes two reports; this is of type Session",
    ),
    "no such option": (
        lambda cluster: kwhatif.schedule(cluster, POD, namespce="shop"),  # type: ignore[call-arg]
        r"schedule\(\) got an unexpected keyword argument 'namespce'. Did you mean 'namespace'\?",
    ),
    "no such option of a simulation": (
        lambda cluster: kwhatif.simulate(cluster, edits=["cordon general-a1"]),  # type: ignore[call-arg]
        r"simulate\(\) got an unexpected keyword argument 'edits'",
    ),
    "no such option of a load": (
        lambda _: kwhatif.load(DUMP, version="1.36"),  # type: ignore[call-arg]
        r"load\(\) got an unexpected keyword argument 'version'",
    ),
    "a policy": (lambda cluster: kwhatif.gate(cluster, POD, policy=3), r"policy is of type int; it can be"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_meant_is_a_type_error(name: str, cluster: kwhatif.Session) -> None:
    ask, message = WRONG[name]
    with pytest.raises(TypeError, match=f"^{message}"):
        ask(cluster)


# --- the policy ------------------------------------------------------------------------------------------


POLICY = {"apiVersion": "kwhatif.dev/v1", "kind": "Policy", "preemption": "fail"}


def test_the_policy_is_found_as_the_command_finds_it(
    cluster: kwhatif.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "kwhatif.yaml").write_text(yaml.safe_dump(POLICY))
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    assert kwhatif.find_policy() == "../kwhatif.yaml"
    assert kwhatif.find_policy(tmp_path) == "../kwhatif.yaml"
    report = kwhatif.gate(cluster, POD)
    assert report.policy is not None
    assert (report.policy.verdict, report.policy.source) == ("fail", "../kwhatif.yaml")
    other = kwhatif.gate(cluster, POD, policy={**POLICY, "preemption": "ignore"})
    assert other.policy is not None
    assert (other.policy.verdict, other.policy.source) == ("pass", "policy")


def test_without_a_policy_there_is_none_to_find(tmp_path: Path) -> None:
    assert kwhatif.find_policy(tmp_path) is None


# --- reports and names -----------------------------------------------------------------------------------


def test_a_report_is_data(cluster: kwhatif.Session) -> None:
    report = kwhatif.gate(cluster, MANIFESTS)
    validator("report").validate(report.to_dict())
    assert json.loads(report.to_json()) == json.loads(report.to_json(indent=2)) == report.to_dict()
    assert report.to_json().count("\n") == 0
    assert report.to_json(indent=2).splitlines()[1].startswith('  "')
    assert report.to_dict()["workloads"][0]["name"] == report.workloads[0].name


def test_only_public_names_are_shown() -> None:
    names = dir(kwhatif)
    starred: dict[str, object] = {}
    exec("from kwhatif import *", starred)
    assert set(names) == starred.keys() - {"__builtins__"}
    assert {"Report", "Decision", "Session", "Source", "load", "schedule", "text"} <= set(names)
    for name in names:
        assert getattr(kwhatif, name) is not None
    with pytest.raises(AttributeError, match="'kwhatif' has no attribute 'import_modul'"):
        kwhatif.import_modul  # type: ignore[attr-defined] # noqa: B018


def test_importing_costs_next_to_nothing() -> None:
    program = "import json, sys; import kwhatif; print(json.dumps(sorted(sys.modules)))"
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    ours = [name for name in json.loads(made) if name.startswith("kwhatif")]
    assert ours == ["kwhatif", "kwhatif._version"]
    assert not {"msgspec", "yaml", "rich", "typer", "kubernetes"} & set(json.loads(made))


def test_rows_are_those_that_answer(cluster: kwhatif.Session) -> None:
    report = kwhatif.schedule(cluster, POD)
    assert report.rows() == list(report.decisions)
    assert report.rows("decisions.rejected") == list(report.decisions[0].rejected)
    assert report.rows("story.events") == []
    assert kwhatif.pending(cluster).rows() == []
    for part, message in (("nonsense", "there is no 'nonsense'; there are"), ("command", "is not made of rows")):
        with pytest.raises(ValueError, match=message):
            report.rows(part)


def test_a_frame_has_a_column_for_each_field(cluster: kwhatif.Session) -> None:
    report = kwhatif.preempt(cluster, POD)
    frame = report.frame()
    assert list(frame["pod"]) == ["default/asker"]
    assert list(frame["preemption.node"]) == ["general-b2"]
    rejected = report.frame("decisions.rejected")
    assert list(rejected.columns[:2]) == ["pod", "node"]
    assert set(rejected["pod"]) == {"default/asker"}
    assert list(rejected["node"]) == [row.node for row in report.decisions[0].rejected]


def test_without_pandas_a_frame_says_what_to_install(cluster: kwhatif.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'kwhatif\[pandas\]'"):
        kwhatif.schedule(cluster, POD).frame()


def test_a_notebook_shows_the_page_in_a_frame(cluster: kwhatif.Session) -> None:
    report = kwhatif.schedule(cluster, POD)
    shown = report._repr_html_()
    assert shown is not None
    (page,) = re.findall(r'^<iframe srcdoc="([^"]*)" [^>]*></iframe>$', shown)
    assert html.unescape(page) == kwhatif.html(report, cluster)
    assert "asked" not in report.to_dict()
    assert msgspec.structs.replace(report) == report
    assert kwhatif.compare(report, report)._repr_html_() is not None
    assert repr(cluster).endswith("cluster.yaml: 12 nodes, 49 pods>")
