"""`requests from …`: pods as if they had been started with what they need, and what new pods then get."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.kube.model.bystanders import VerticalPodAutoscaler
from kwhatif.kube.model.caveat.workloads import RequestsKept
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import ResourceQuota
from kwhatif.questions.session.session import Session
from kwhatif.render.edits import sentences_of
from tests.objects import manifest
from tests.unit.workloads.test_injections import Json, container, deployment, node, owner, pod, template, workload

RS = "ReplicaSet"
WEB = template(containers=[container(cpu="1") | {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}])
DB = template("db", containers=[container("c"), container("side")])
BARE: Json = pod("", "", "lone", template("lone"), meta={"ownerReferences": []})
OBJECTS: list[Json] = [
    node(),
    *deployment(pod(RS, "web-1", "web-1-bcdfg", WEB), pod(RS, "web-1", "web-1-hjklm", WEB), made_of=WEB),
    workload("StatefulSet", DB, "db"),
    pod("StatefulSet", "db", "db-0", DB),
    BARE,
]


def vpa(name: str, kind: str = "Deployment", mode: str = "Initial", **targets: Json) -> Json:
    rows = [{"containerName": container, "target": target} for container, target in targets.items()]
    return manifest(
        "VerticalPodAutoscaler",
        {"name": name, "namespace": "shop"},
        spec={"targetRef": {"kind": kind, "name": name}, "updatePolicy": {"updateMode": mode}},
        status={"recommendation": {"containerRecommendations": rows}},
    )


def metrics(name: str, **containers: Json) -> Json:
    rows = [{"name": container, "usage": usage} for container, usage in containers.items()]
    meta = {"name": name, "namespace": "shop"}
    return {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", "metadata": meta, "containers": rows}


def changed(session: Session) -> dict[str, Json]:
    """What each container requests, and its limits if there are any."""
    found: dict[str, Json] = {}
    for each in session.cluster.all(Pod).values():
        for row in each.spec.containers:
            found[f"{each.metadata.name}/{row.name}"] = {**row.resources.requests, **row.resources.limits}
    return found


def edited(*edits: Any, objects: Sequence[Json] = OBJECTS) -> Session:
    return kwhatif.edited(kwhatif.load(list(objects)), *edits)


def usage(tmp_path: Path, text: str) -> str:
    path = tmp_path / "usage.txt"
    path.write_text(text)
    return f"requests from {path}"


class TestUsage:
    def test_all_pods_of_a_workload_get_the_most_of_any(self, tmp_path: Path) -> None:
        text = "shop web-1-bcdfg c 300m 64Mi\nshop web-1-hjklm c 200m 128Mi\nshop lone c 50m 1Mi\n"
        found = changed(edited(usage(tmp_path, text)))
        assert found["web-1-bcdfg/c"] == found["web-1-hjklm/c"] == {"cpu": "2", "memory": "128Mi"}
        assert found["lone/c"] == {"cpu": "50m", "memory": "1Mi"}

    def test_it_is_never_more_than_the_limit(self, tmp_path: Path) -> None:
        session = edited(usage(tmp_path, "shop web-1-bcdfg c 9 64Mi"))
        row = session.cluster.all(Pod)["shop/web-1-hjklm"].spec.containers[0].resources
        assert (row.requests["cpu"], row.limits["cpu"]) == ("2", "2")

    def test_pods_that_are_gone_count_for_their_workload(self, tmp_path: Path) -> None:
        text = "shop web-7fd9-xxxxx c 1500m 1Mi\nshop db-17 c 10m 1Mi\nshop db-17 side 20m 1Mi\n"
        found = changed(edited(usage(tmp_path, text)))
        assert found["web-1-bcdfg/c"]["memory"] == found["db-0/side"]["memory"] == "1Mi"

    def test_new_pods_get_it_too(self, tmp_path: Path) -> None:
        session = edited(usage(tmp_path, "shop web-1-bcdfg c 1500m 64Mi"), "scale deploy/shop/web=3")
        assert [each["memory"] for name, each in changed(session).items() if name.startswith("web-1")] == ["64Mi"] * 3
        (decision, *_) = kwhatif.schedule(session, "deploy/shop/web").decisions
        assert {row.by for row in decision.changes} >= {"VerticalPodAutoscaler"}

    def test_what_is_left_out_is_a_caveat_and_notes(self, tmp_path: Path) -> None:
        text = "shop web-1-bcdfg c 3 7Gi\nshop db-0 c 3 1Gi\nshop nobody c 1 1Gi\n"
        session = edited(usage(tmp_path, text))
        (kept,) = (each for each in session.caveats if isinstance(each, RequestsKept))
        assert kept.workloads == ("Pod shop/lone", "StatefulSet shop/db (side)")
        (row,) = session.changes
        said = "; ".join(sentences_of(row.remarks))
        assert "together request cpu 2 to 7 and memory 0Gi to 15Gi" in said
        assert "more than there is on n1 (8 of 4 cpu, 15Gi of 8Gi memory)" in said
        assert "no workload of the input or measured as a whole: shop/nobody" in said

    def test_the_metrics_of_the_dump_are_usage(self) -> None:
        session = edited("requests from metrics", objects=[*OBJECTS, metrics("db-0", c={"cpu": "1500001n"})])
        assert changed(session)["db-0/c"] == {"cpu": "2m"}

    def test_a_whole_pod_counts_where_it_has_one_container(self, tmp_path: Path) -> None:
        head = "NAMESPACE NAME CPU(cores) MEMORY(bytes)\n"
        session = edited(usage(tmp_path, f"{head}shop web-1-bcdfg 1 1Gi\nshop db-0 1 1Gi\n"))
        assert changed(session)["web-1-hjklm/c"]["memory"] == "1Gi"
        assert "measured as a whole: shop/db-0" in sentences_of(session.changes[0].remarks)[-1]

    def test_quotas_and_what_kubelets_granted_follow(self, tmp_path: Path) -> None:
        status = {
            "containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
            "qosClass": "Burstable",
        }
        quota: Json = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"}}
        quota |= {
            "spec": {"hard": {"requests.cpu": "9"}},
            "status": {"hard": {"requests.cpu": "9"}, "used": {"requests.cpu": "2"}},
        }
        objects = [node(), *deployment(pod(RS, "web-1", "web-1-bcdfg", WEB, status=status), made_of=WEB), quota]
        session = edited(usage(tmp_path, "shop web-1-bcdfg c 250m 0"), objects=objects)
        assert session.state.pods["shop/web-1-bcdfg"].resources.requested.cpu == 250
        (changed_quota,) = session.cluster.all(ResourceQuota).values()
        assert changed_quota.status is not None
        assert changed_quota.status.used["requests.cpu"] == "1250m"


class TestVerticalPodAutoscalers:
    def test_running_and_new_pods_get_what_it_recommends(self) -> None:
        session = edited("requests from vpa", objects=[*OBJECTS, vpa("web", c={"cpu": "1500m"})])
        assert changed(session)["web-1-bcdfg/c"] == {"cpu": "3"}
        (row,) = session.changes
        assert {each.object.partition(" ")[0] for each in row.touched} == {"Pod"}

    def test_one_that_is_off_is_taken_as_if_it_set_requests_of_new_pods(self) -> None:
        objects = [*OBJECTS, vpa("web", mode="Off", c={"cpu": "1500m"})]
        plain = kwhatif.schedule(kwhatif.load(objects), "deploy/shop/web")
        assert not any(row.by == "VerticalPodAutoscaler" for each in plain.decisions for row in each.changes)
        session = edited("requests from vpa", objects=objects)
        touched = {each.object: each for each in session.changes[0].touched}
        assert touched["VerticalPodAutoscaler shop/web"].fields[0].after == "Initial"
        decisions = kwhatif.schedule(session, "deploy/shop/web").decisions
        assert any(row.by == "VerticalPodAutoscaler" for row in decisions[0].changes)

    def test_without_an_edit_new_pods_get_it_and_running_ones_keep_what_they_have(self) -> None:
        objects = [*OBJECTS, vpa("web", mode="Recreate", c={"cpu": "3", "memory": "1Gi"})]
        session = kwhatif.load(objects)
        assert changed(session)["web-1-bcdfg/c"] == {"cpu": "2"}
        (stop,) = kwhatif.capacity(session, "deploy/shop/web").decisions
        assert "cpu" in stop.message
        assert {row.field for row in stop.changes if row.by == "VerticalPodAutoscaler"} == {
            "spec.containers[0].resources.requests[cpu]",
            "spec.containers[0].resources.requests[memory]",
            "spec.containers[0].resources.limits[cpu]",
        }

    @pytest.mark.parametrize(
        ("webhooks", "by"),
        [
            ([], "VerticalPodAutoscaler"),
            ([("istio", "sidecar.istio.io", "pods")], ""),
            ([("istio", "sidecar.istio.io", "pods"), ("vpa-webhook-config", "x", "pods")], "VerticalPodAutoscaler"),
            ([("of-a-chart", "vpa.k8s.io", "pods")], "VerticalPodAutoscaler"),
            ([("of-a-chart", "x", "verticalpodautoscalers")], "VerticalPodAutoscaler"),
        ],
    )
    def test_new_pods_get_it_by_a_webhook_that_is_registered(
        self, webhooks: list[tuple[str, str, str]], by: str
    ) -> None:
        rows: list[Json] = [
            manifest(
                "MutatingWebhookConfiguration",
                {"name": name},
                webhooks=[{"name": hook, "rules": [{"operations": ["CREATE"], "resources": [resource]}]}],
            )
            for name, hook, resource in webhooks
        ]
        objects = [*OBJECTS, *rows, vpa("web", c={"cpu": "1500m"})]
        report = kwhatif.schedule(edited("scale deploy/shop/web=3", objects=objects), "deploy/shop/web")
        assert {row.by for each in report.decisions for row in each.changes} & {"VerticalPodAutoscaler"} == {by} - {""}
        assert any("new pods of Deployment shop/web keep the requests" in each for each in report.caveats) == (not by)
        asked = kwhatif.schedule(
            edited("requests from vpa", "scale deploy/shop/web=3", objects=objects), "deploy/shop/web"
        )
        assert any(row.by == "VerticalPodAutoscaler" for each in asked.decisions for row in each.changes)
        assert not any("keep the requests" in each for each in asked.caveats)

    def test_of_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "vpa.json"
        path.write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": [vpa("db", "StatefulSet", side={"cpu": "7m"})]})
        )
        session = edited({"requests": [str(path)]})
        assert changed(session)["db-0/side"] == {"cpu": "7m"}

    def test_usage_goes_before_what_was_recommended_and_the_rest_stays(self, tmp_path: Path) -> None:
        objects = [*OBJECTS, vpa("web", c={"cpu": "1500m", "memory": "5Mi"})]
        (tmp_path / "cpu.csv").write_text("namespace,pod,container,cpu\nshop,web-1-bcdfg,c,700m\n")
        session = edited(f"requests from vpa {tmp_path}/cpu.csv", objects=objects)
        assert changed(session)["web-1-bcdfg/c"] == {"cpu": "2", "memory": "5Mi"}
        assert session.cluster.all(Pod)["shop/web-1-bcdfg"].spec.containers[0].resources.requests["cpu"] == "700m"

    @pytest.mark.parametrize(("cpu", "pending"), [("2", 0), ("2500m", 1)])
    def test_in_a_story_only_new_pods_get_it(self, cpu: str, pending: int) -> None:
        session = kwhatif.load([*OBJECTS, vpa("web", mode="Off", c={"cpu": cpu})])
        report = kwhatif.simulate(session, then=["requests from vpa", "scale deploy/shop/web=2", "settle"])
        assert report.story is not None
        assert len(report.story.pending) == pending


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ("requests vpa", "does not say from where"),
        ("requests from", "does not say from where"),
        ("requests from vpa", "the input has no VerticalPodAutoscaler with a recommendation"),
        ("requests from metrics", "the input has no PodMetrics"),
        ("requests from cpu=metrics", "cpu=metrics: metrics gives cpu and memory .write metrics"),
        ("requests from nowhere.csv", "nowhere.csv: cannot be read"),
    ],
)
def test_what_is_refused(edit: str, message: str) -> None:
    with pytest.raises(kwhatif.InputError, match=message):
        edited(edit)


def test_usage_of_another_cluster_is_refused(tmp_path: Path) -> None:
    with pytest.raises(kwhatif.InputError, match=r"none of its pods is of a workload of the input: default/web-9-x"):
        edited(usage(tmp_path, "web-9-x c 1 1Gi"))


def test_static_pods_are_changed_by_themselves(tmp_path: Path) -> None:
    static = pod("", "", "etcd-n1", template(), meta={"ownerReferences": [owner("Node", "n1")]})
    session = edited(usage(tmp_path, "shop etcd-n1 c 9m 1Mi"), objects=[node(), static])
    assert changed(session)["etcd-n1/c"] == {"cpu": "9m", "memory": "1Mi"}


def test_a_custom_kind_whose_name_begins_as_pod_is_a_workload(tmp_path: Path) -> None:
    """Its new pods get the requests, too: an autoscaler is written for it."""
    member = pod("PodClique", "web", "web-0", template())
    session = edited(usage(tmp_path, "shop web-0 c 9m 1Mi"), objects=[node(), member])
    assert changed(session)["web-0/c"] == {"cpu": "9m", "memory": "1Mi"}
    assert list(session.cluster.all(VerticalPodAutoscaler)) == ["shop/podclique-web"]
