"""Custom resources of which pods are made, in live clusters: read, watched, forbidden, saved."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import kwhatif
from kwhatif.api.live import LiveCluster
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.workload import Deployment
from kwhatif.sources.live.kubeconfig import LiveOptions
from tests.cli.running import run
from tests.http.conftest import WriteKubeconfig
from tests.http.fake_api import FakeAPI, answer, empty_list, recorded
from tests.http.test_watch import HASTY, until
from tests.objects import manifest

Json = dict[str, Any]
#: The demo cluster of custom kinds.
OBJECTS: list[Json] = msgspec.yaml.decode(Path("fixtures/custom/cluster.yaml").read_bytes())["items"]
ROLLOUTS = "/apis/argoproj.io/v1alpha1/rollouts"
CLONES = "/apis/apps.kruise.io/v1alpha1/clonesets"
WIDGETS = "/apis/example.com/v1alpha2/widgets"
WIDGET: Json = manifest(
    "Widget",
    {"name": "w", "namespace": "shop", "resourceVersion": "1"},
    version="example.com/v1alpha2",
    spec={
        "replicas": 2,
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
)


def serve(api: FakeAPI, *objects: Json) -> None:
    """The API server has these, and no other objects."""
    for path, pages in api.pages.items():
        if path != "/version":
            body = pages[""] if isinstance(pages[""], dict) else json.loads(pages[""])
            api.pages[path] = {"": body | {"metadata": {"resourceVersion": "9"}, "items": []}}
    for obj in objects:
        group, kind = obj["apiVersion"], obj["kind"]
        path = f"/{'apis' if '/' in group else 'api'}/{group}/{kind.lower()}s"
        listed = api.pages.setdefault(path, {"": empty_list(group, kind)})[""]
        listed["items"].append(obj)


@pytest.fixture
def custom(api: FakeAPI) -> FakeAPI:
    serve(api, *OBJECTS)
    return api


def stands_for(session: kwhatif.Session) -> dict[str, bool]:
    """What objects stand for, and whether that was made up."""
    found = [obj.metadata.stands_for for kind in session.cluster.counts() for obj in session.cluster.all(kind).values()]
    return {f"{each.kind} {each.name}": each.inferred for each in found if each is not None}


ALL = {"Rollout web": False, "CloneSet api": False, "RayCluster ray": False, "Cluster pg": False}


def drains(session: kwhatif.Session) -> Json:
    return msgspec.to_builtins(kwhatif.drain(session, "n3").story)


def test_a_live_cluster_gives_what_a_dump_of_it_gives(custom: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    live = kwhatif.load_live(kubeconfig=kubeconfig(), kubernetes_version="1.36")
    assert ALL.items() <= stands_for(live).items()
    dump = kwhatif.load("fixtures/custom/cluster.yaml", kubernetes_version="1.36")
    assert drains(live)["workloads"] == drains(dump)["workloads"]


def test_where_it_may_not_be_listed_it_is_made_up_and_said(custom: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    served = {
        "kind": "APIResourceList",
        "groupVersion": "apps.kruise.io/v1alpha1",
        "resources": [{"name": "clonesets"}],
    }
    custom.always[CLONES] = answer(403, recorded("forbidden")["body"])
    custom.always["/apis/apps.kruise.io/v1alpha1"] = answer(200, served)
    live = kwhatif.load_live(kubeconfig=kubeconfig())
    assert stands_for(live)["CloneSet api"]
    said = "no permission to list clonesets in apps.kruise.io: they are made up of the pods that they control"
    assert said in kwhatif.describe(live).caveats
    del custom.always["/apis/apps.kruise.io/v1alpha1"]  # an API that is not served: a permission says nothing
    assert said not in kwhatif.describe(kwhatif.load_live(kubeconfig=kubeconfig())).caveats
    custom.always[ROLLOUTS] = answer(500, recorded("forbidden")["body"] | {"code": 500})
    failed = kwhatif.describe(kubeconfig=kubeconfig()).caveats
    assert any("the server failed to list rollouts in argoproj.io" in caveat for caveat in failed)


def test_a_watched_cluster_has_them_as_they_are_now(custom: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    path = kubeconfig()
    with LiveCluster(LiveOptions.of(kubeconfig=path), {}, patience=HASTY) as live:
        live.settle()
        assert ALL.items() <= stands_for(live.session).items()
        clone = next(obj for obj in OBJECTS if obj["kind"] == "CloneSet")
        live.answered(kwhatif.preempt(live.session))
        custom.change(CLONES, clone | {"spec": clone["spec"] | {"replicas": 7}})
        until(live, lambda: live.session.cluster.all(Deployment)["shop/api"].spec.replicas == 7)
        assert drains(live.session) == drains(kwhatif.load_live(kubeconfig=path))
        custom.change(CLONES, clone, gone=True)
        until(live, lambda: stands_for(live.session)["CloneSet api"])  # its pods are still there
        assert drains(live.session) == drains(kwhatif.load_live(kubeconfig=path))


def test_snapshots_keep_those_of_a_users_file(custom: FakeAPI, kubeconfig: WriteKubeconfig, tmp_path: Path) -> None:
    custom.pages[WIDGETS] = {"": empty_list("example.com/v1alpha2", "Widget") | {"items": [WIDGET]}}
    kinds = tmp_path / "kinds.yaml"
    kinds.write_text("- {kind: Widget, group: example.com, like: Deployment}\n")
    assert "resources: [widgets]" in run(f"kwhatif rbac --workload-kinds {kinds}").stdout
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*OBJECTS, WIDGET]}))
    for source in (f"--kubeconfig {kubeconfig()}", f"--from {dump}"):
        saved = tmp_path / "saved.json"
        ran = run(f"kwhatif snapshot save {saved} --workload-kinds {kinds} {source}")
        assert ran.code == 0, ran.stderr
        assert stands_for(kwhatif.load(saved))["Widget w"] is False
    without = tmp_path / "without.json"
    assert run(f"kwhatif snapshot save {without} --from {dump}").code == 0
    assert "Widget w" not in stands_for(kwhatif.load(without))
    with LiveCluster(LiveOptions.of(kubeconfig=kubeconfig()), {"workload_kinds": kinds}, patience=HASTY) as live:
        live.settle()
        live.save(str(saved))
        (found,) = (obj for obj in live.session.cluster.all(Deployment).values() if key_of(obj) == "shop/w")
        assert found.metadata.stands_for is not None
    assert {**ALL, "Widget w": False}.items() <= stands_for(kwhatif.load(saved)).items()
