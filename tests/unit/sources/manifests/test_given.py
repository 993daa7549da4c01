"""Objects of the cluster by name."""

from pathlib import Path

import pytest

from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.workload import Deployment, StatefulSet
from kwhatif.questions.manifests.applied import Applied
from kwhatif.sources.manifests.given import find_named, joined_names, parse_reference, require_namespace, unknown_kind
from tests.builders import cluster, namespace, node, pod

WEB = Deployment(metadata=ObjectMeta(name="web", namespace="shop"))
DB = StatefulSet(metadata=ObjectMeta(name="db", namespace="shop"))
CLUSTER = cluster(node("n1"), WEB, DB, pod("search-canary-0", "catalog"), pod("web", "batch"), namespace("catalog"))


@pytest.mark.parametrize(
    ("text", "kind", "key"),
    [
        ("pod/catalog/search-canary-0", "Pod", "catalog/search-canary-0"),
        ("pod/web", "Pod", "shop/web"),
        ("po/web", "Pod", "shop/web"),
        ("deploy/web", "Deployment", "shop/web"),
        ("deployments/other/web", "Deployment", "other/web"),
        ("deployment.apps/web", "Deployment", "shop/web"),
        ("deployments.v1.apps/web", "Deployment", "shop/web"),
        ("Deployment/web", "Deployment", "shop/web"),
        ("sts/db", "StatefulSet", "shop/db"),
        ("job.batch/j", "Job", "shop/j"),
        ("ds/d", "DaemonSet", "shop/d"),
        ("rs/d", "ReplicaSet", "shop/d"),
        ("cronjob/c", "CronJob", "shop/c"),
    ],
)
def test_references(text: str, kind: str, key: str) -> None:
    reference = parse_reference(text, "shop")
    assert reference is not None
    assert (reference.resource.kind, reference.key) == (kind, key)


@pytest.mark.parametrize("text", ["-", "pod.yaml", "manifests/web.yaml", "pod/", "pod/a/b/c", "deploy", "/pod/a"])
def test_paths(text: str) -> None:
    assert parse_reference(text, "shop") is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [("depl/shop/web", "deploy/shop/web"), ("statefulst/db", "statefulset/db"), ("Jobb/a/b", "job/a/b")],
)
def test_a_kind_that_does_not_exist(text: str, meant: str) -> None:
    problem = unknown_kind(text)
    assert problem is not None
    assert problem.message.startswith(f"there is no such file, and {text.partition('/')[0]!r} is not a kind: Pod, ")
    assert problem.hint == f"did you mean {meant}?"


@pytest.mark.parametrize(
    "text", ["pod/a/b", "manifests/web", "depl/web.yaml", "depl/*", "depl", "depl/a/b/c", "/depl/a"]
)
def test_what_may_be_a_path_is_one(text: str) -> None:
    assert unknown_kind(text) is None


@pytest.mark.parametrize(
    ("words", "joined"),
    [
        ("deployment web", "deployment/web"),
        ("deploy web api", "deploy/web deploy/api"),
        ("Deployment shop/web", "Deployment/shop/web"),
        ("deploy web sts/db -", "deploy/web sts/db deploy/-"),
        ("deploy", "deploy"),
        ("pod.yaml -", "pod.yaml -"),
        ("web deploy", "web deploy"),
    ],
)
def test_a_kind_and_names_after_it(words: str, joined: str) -> None:
    assert " ".join(joined_names(words.split())) == joined


def test_a_kind_alone_lacks_a_name() -> None:
    problem = unknown_kind("deploy")
    assert problem is not None
    assert problem.hint == "write deploy/NAMESPACE/NAME"


def test_a_file_of_that_name_is_meant_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "web").touch()
    monkeypatch.chdir(tmp_path)
    assert parse_reference("deploy/web", "shop") is None
    assert list(joined_names(["deploy", "web"])) == ["deploy", "web"]
    assert parse_reference("deploy/db", "shop") is not None
    (tmp_path / "depl").mkdir()
    assert unknown_kind("depl/web") is None


def found(text: str) -> Applied | Problem:
    reference = parse_reference(text, "shop")
    assert reference is not None
    return find_named(reference, CLUSTER)


def test_what_is_there_is_judged_anew() -> None:
    applied = found("deploy/web")
    assert isinstance(applied, Applied)
    assert (applied.object, applied.restarted, applied.source.object) == (WEB, True, "Deployment shop/web")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "pod/catalog/search-canery-0",
            'pod/catalog/search-canery-0: pods "search-canery-0" not found in namespace catalog'
            " (did you mean pod/catalog/search-canary-0?)",
        ),
        (
            "po/web",
            'po/web: pods "web" not found in namespace shop (did you mean deployment/shop/web or po/batch/web?)',
        ),
        ("job/nightly", 'job/nightly: jobs "nightly" not found in namespace shop'),
        ("svc/web", "svc/web: a Service is not a pod, and no pods are made of it"),
    ],
)
def test_what_is_not_there(text: str, said: str) -> None:
    assert str(found(text)) == said


def test_what_could_not_be_read_is_said() -> None:
    unread = cluster(node("n1"))
    unread.update_facts(unread={"Deployment": "may not list"})
    reference = parse_reference("deploy/web", "shop")
    assert reference is not None
    assert str(find_named(reference, unread)).endswith("(may not list deployments)")


def test_a_namespace_that_is_not_there() -> None:
    for name in ("", "catalog", "batch"):
        require_namespace(name, CLUSTER)
    require_namespace("any", cluster(node("n1")))
    with pytest.raises(InputError, match=r"namespace catalgo: not found \(did you mean catalog\?\)"):
        require_namespace("catalgo", CLUSTER)
