"""What applying a manifest makes of a workload's template, in fields that the model does not have, too."""

import gzip
import json
from collections.abc import Callable
from copy import deepcopy
from io import BytesIO
from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.kube.model.caveat.workloads import FieldsNotCompared
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import PodTemplateSpec, TemplateText
from kwhatif.kube.model.workload import Deployment, ReplicaSet
from kwhatif.sources.dumps.dump import read_cluster
from kwhatif.sources.manifests.read import read_manifest_set
from kwhatif.sources.saving.redact import marked, redact
from kwhatif.sources.text.files import GivenText
from kwhatif.workloads.applied_template import TemplateDifference, compare
from kwhatif.workloads.template import digest_of, same_template
from tests import FIXTURES
from tests.unit.workloads.applying import plan_update

Json = dict[str, Any]
Change = Callable[[Json], object]

#: As in a manifest.
GIVEN: Json = {
    "metadata": {"labels": {"app": "web"}, "annotations": {"checksum/config": "abc"}},
    "spec": {
        "serviceAccountName": "web",
        "securityContext": {"runAsUser": 1000},
        "initContainers": [{"name": "init", "image": "busybox"}],
        "containers": [
            {
                "name": "main",
                "image": "app:1",
                "command": ["run"],
                "args": ["--a", "--b"],
                "env": [
                    {"name": "A", "value": "1"},
                    {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                ],
                "envFrom": [{"configMapRef": {"name": "env"}}],
                "ports": [{"containerPort": 80}, {"name": "metrics", "containerPort": 9090, "protocol": "UDP"}],
                "resources": {"requests": {"cpu": 1, "memory": "0.5Gi"}, "limits": {"memory": "1Gi"}},
                "livenessProbe": {"httpGet": {"port": "http"}, "failureThreshold": 5},
                "readinessProbe": {"grpc": {"port": 80}},
                "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
                "volumeMounts": [{"name": "config", "mountPath": "/config", "readOnly": False}],
            }
        ],
        "volumes": [
            {"name": "config", "configMap": {"name": "web", "items": [{"key": "a", "path": "a"}]}},
            {"name": "scratch"},
            {"name": "host", "hostPath": {"path": "/x"}},
            {"name": "all", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
        ],
    },
}


def stored() -> Json:
    """As the API server shows the same, default by default."""
    template = deepcopy(GIVEN)
    spec = template["spec"]
    spec |= {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "serviceAccount": "web",
        "terminationGracePeriodSeconds": 30,
    }
    main, init = spec["containers"][0], spec["initContainers"][0]
    for container, policy in ((main, "IfNotPresent"), (init, "Always")):
        container |= {
            "imagePullPolicy": policy,
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }
    init["resources"] = {}
    main["env"][1]["valueFrom"]["fieldRef"]["apiVersion"] = "v1"
    main["ports"][0]["protocol"] = "TCP"
    main["resources"] = {"requests": {"cpu": "1", "memory": "512Mi"}, "limits": {"memory": "1Gi"}}
    times = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1}
    main["livenessProbe"] |= times
    main["livenessProbe"]["httpGet"] |= {"path": "/", "scheme": "HTTP"}
    main["readinessProbe"] = {"grpc": {"port": 80, "service": ""}, "failureThreshold": 3, **times}
    main["lifecycle"]["preStop"]["httpGet"] |= {"path": "/", "scheme": "HTTP"}
    del main["volumeMounts"][0]["readOnly"]
    config, scratch, host, projected = spec["volumes"]
    config["configMap"]["defaultMode"] = 420
    scratch["emptyDir"] = {}
    host["hostPath"]["type"] = ""
    projected["projected"] |= {"defaultMode": 420}
    projected["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"] = 3600
    template["metadata"]["creationTimestamp"] = None
    return template


def known(template: Json, applied: Json | None = GIVEN, managed: Json | None = None) -> PodTemplateSpec:
    text = TemplateText(
        json=json.dumps(template),
        applied=json.dumps(applied) if applied else "",
        managed=json.dumps(managed) if managed else "",
    )
    return PodTemplateSpec(text=text)


def compared(new: Json, old: PodTemplateSpec) -> TemplateDifference | None:
    """The same, whether the template is known as it is or by a snapshot's digests."""
    applied = PodTemplateSpec(text=TemplateText(json=json.dumps(new)))
    difference = compare(old, applied)
    by_digest = compare(PodTemplateSpec(digest=digest_of(old, "salt")), applied)
    assert difference is not None
    assert by_digest is not None
    assert by_digest.kind == difference.kind
    return difference


def main(template: Json) -> Json:
    container: Json = template["spec"]["containers"][0]
    return container


def _at(*path: Any, to: Any) -> Change:
    def change(template: Json) -> None:
        here: Any = template
        for step in path[:-1]:
            here = here[step] if isinstance(step, int) else here.setdefault(step, {})
        here[path[-1]] = to

    return change


def _main(*path: Any, to: Any) -> Change:
    return _at("spec", "containers", 0, *path, to=to)


SAME: list[Change] = [
    lambda _: None,
    _main("imagePullPolicy", to="IfNotPresent"),
    _main("imagePullPolicy", to=""),
    _main("imagePullPolicy", to=None),
    _main("terminationMessagePath", to="/dev/termination-log"),
    _main("resources", "requests", to={"cpu": "1000m", "memory": "524288Ki"}),
    _main("ports", 0, "protocol", to="TCP"),
    _main("ports", 0, "hostPort", to=0),
    _main("stdin", to=False),
    _main("workingDir", to=""),
    _main("volumeDevices", to=[]),
    _main("livenessProbe", "periodSeconds", to=10),
    _main("livenessProbe", "initialDelaySeconds", to=0),
    _main("env", 1, "valueFrom", "fieldRef", "apiVersion", to="v1"),
    _at("spec", "hostNetwork", to=False),
    _at("spec", "nodeSelector", to={}),
    _at("spec", "tolerations", to=[]),
    _at("spec", "dnsPolicy", to="ClusterFirst"),
    _at("spec", "terminationGracePeriodSeconds", to=30),
    _at("spec", "serviceAccount", to="web"),
    _at("spec", "initContainers", 0, "image", to="busybox"),
    _at("spec", "volumes", 0, "configMap", "defaultMode", to=0o644),
    _at("spec", "volumes", 1, "emptyDir", to={}),
    lambda template: template["spec"].pop("serviceAccountName"),  # its old name stays
]

CHANGED: list[Change] = [
    _main("image", to="app:2"),
    _main("command", to=["run", "fast"]),
    _main("command", to=[]),
    _main("args", to=["--b", "--a"]),
    _main("args", to=["--a"]),
    _main("env", 0, "value", to="2"),
    _main("env", 0, "value", to=""),
    _main("env", 0, to={"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}),
    _main("env", 1, "valueFrom", "fieldRef", "fieldPath", to="metadata.name"),
    _main("envFrom", to=[{"secretRef": {"name": "env"}}]),
    _main("envFrom", 0, "configMapRef", "optional", to=False),
    _main("imagePullPolicy", to="Always"),
    _main("ports", 0, "containerPort", to=81),
    _main("ports", 1, "name", to="other"),
    _main("ports", 1, "protocol", to="TCP"),
    _main("resources", "requests", "cpu", to="1001m"),
    _main("resources", "limits", "cpu", to=2),
    _main("livenessProbe", "failureThreshold", to=6),
    _main("livenessProbe", "httpGet", "port", to=80),
    _main("startupProbe", to={"tcpSocket": {"port": 80}}),
    _main("lifecycle", "preStop", to={"sleep": {"seconds": 5}}),
    _main("volumeMounts", 0, "readOnly", to=True),
    _main("volumeMounts", 0, "subPath", to="x"),
    _main("securityContext", to={"readOnlyRootFilesystem": False}),
    _main("securityContext", to={}),
    _main("stdin", to=True),
    _main("workingDir", to="/x"),
    _at("metadata", "annotations", "checksum/config", to="def"),
    _at("metadata", "annotations", "new", to=""),
    _at("metadata", "labels", "version", to="2"),
    _at("spec", "securityContext", "runAsUser", to=0),
    _at("spec", "securityContext", "fsGroup", to=0),
    _at("spec", "automountServiceAccountToken", to=False),
    _at("spec", "enableServiceLinks", to=True),
    _at("spec", "hostAliases", to=[{"ip": "127.0.0.1", "hostnames": ["x"]}]),
    _at("spec", "imagePullSecrets", to=[{"name": "s"}]),
    _at("spec", "dnsConfig", to={"nameservers": ["1.1.1.1"]}),
    _at("spec", "dnsPolicy", to="Default"),
    _at("spec", "serviceAccountName", to="other"),
    _at("spec", "terminationGracePeriodSeconds", to=0),
    _at("spec", "terminationGracePeriodSeconds", to=60),
    _at("spec", "someFieldOfTomorrow", to="x"),
    _at("spec", "initContainers", 0, "image", to="busybox:1"),
    _at("spec", "volumes", 0, "configMap", "name", to="other"),
    _at("spec", "volumes", 0, "configMap", "items", 0, "path", to="b"),
    _at("spec", "volumes", 1, "emptyDir", to={"medium": "Memory"}),
    _at("spec", "volumes", 2, "hostPath", "type", to="Directory"),
    _at("spec", "volumes", 3, "projected", "sources", 0, "serviceAccountToken", "audience", to="x"),
    lambda template: main(template).pop("command"),
    lambda template: main(template).pop("livenessProbe"),
    lambda template: main(template)["livenessProbe"].pop("failureThreshold"),
    lambda template: main(template)["env"].pop(0),
    lambda template: main(template)["env"].reverse(),
    lambda template: main(template)["ports"].pop(),
    lambda template: main(template)["resources"].pop("limits"),
    lambda template: template["metadata"].pop("annotations"),
    lambda template: template["spec"].pop("initContainers"),
    lambda template: template["spec"]["securityContext"].pop("runAsUser"),
    lambda template: template["spec"]["volumes"].pop(),
    lambda template: template["spec"]["volumes"][0]["configMap"].pop("items"),
]


def changed(change: Change, template: Json = GIVEN) -> Json:
    new = deepcopy(template)
    change(new)
    return new


@pytest.mark.parametrize("change", SAME)
def test_what_the_api_server_has_filled_in_is_no_change(change: Change) -> None:
    assert compared(changed(change), known(stored())) == TemplateDifference("same")


@pytest.mark.parametrize("change", CHANGED)
def test_any_field_counts(change: Change) -> None:
    assert compared(changed(change), known(stored())) == TemplateDifference("changed")


OTHERS: list[Change] = [
    _at("metadata", "annotations", "kubectl.kubernetes.io/restartedAt", to="2026-01-01T00:00:00Z"),
    _at("metadata", "labels", "pod-template-hash", to="66"),
]
FOREIGN: list[Change] = [
    _at("metadata", "annotations", "injected", to="yes"),
    _at("spec", "nodeSelector", to={"disk": "ssd"}),
    _main("imagePullPolicy", to="Always"),
    lambda template: template["spec"]["containers"].append({"name": "proxy", "image": "proxy:1"}),
    lambda template: main(template)["env"].insert(0, {"name": "SET", "value": "by kubectl set env"}),
]


@pytest.mark.parametrize("change", [*OTHERS, *FOREIGN])
def test_what_others_have_set_stays(change: Change) -> None:
    assert compared(GIVEN, known(changed(change, stored()))) == TemplateDifference("same")


@pytest.mark.parametrize("change", FOREIGN)
def test_where_nothing_shows_what_was_applied_before_it_cannot_be_said(change: Change) -> None:
    difference = compared(GIVEN, known(changed(change, stored()), applied=None))
    assert difference is not None
    assert difference.kind == "unsure"
    assert difference.field


@pytest.mark.parametrize("change", [lambda _: None, *OTHERS])
def test_unless_there_is_nothing_left_to_ask(change: Change) -> None:
    assert compared(GIVEN, known(changed(change, stored()), applied=None)) == TemplateDifference("same")


STORED = gzip.decompress((FIXTURES / "templates" / "stored.jsonl.gz").read_bytes()).splitlines()


@pytest.mark.parametrize("line", STORED, ids=map(str, range(len(STORED))))
def test_as_the_api_server_stores_them(line: bytes) -> None:
    """Random templates of all fields, and what the API server's own codec (v1.36.2) makes of them."""
    case = json.loads(line)
    difference = compared(case["new"], known(case["stored"], case["applied"]))
    assert difference is not None
    assert difference.kind == ("changed" if case["changed"] else "same")


def test_server_side_apply_shows_what_was_applied_in_managed_fields() -> None:
    env: dict[str, Any] = {'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}}
    ports: dict[str, Any] = {
        'k:{"containerPort":9090,"protocol":"UDP"}': {".": {}, "f:containerPort": {}, "f:name": {}}
    }
    owned = {'k:{"name":"main"}': {".": {}, "f:name": {}, "f:env": env, "f:ports": ports, "f:args": {}}}
    managed = {"f:metadata": {"f:annotations": {"f:checksum/config": {}}}, "f:spec": {"f:containers": owned}}
    old = known(stored(), applied=None, managed=managed)
    assert compared(GIVEN, old) == TemplateDifference("same")
    gone: list[Change] = [
        lambda template: main(template)["env"].pop(0),
        lambda template: main(template)["ports"].pop(),
        lambda template: main(template).pop("args"),
        lambda template: template["metadata"].pop("annotations"),
    ]
    for change in gone:
        assert compared(changed(change), old) == TemplateDifference("changed")
    assert compared(changed(lambda template: main(template).pop("command")), old) == TemplateDifference("same")


def test_text_that_is_no_object_is_not_compared() -> None:
    broken = PodTemplateSpec(text=TemplateText(json="[1"))
    assert compare(broken, known(GIVEN)) is None
    assert compare(known(GIVEN), broken) is None
    assert digest_of(broken, "") is None
    assert compare(PodTemplateSpec(), known(GIVEN)) is None


def test_a_digest_holds_no_text() -> None:
    kept = repr(digest_of(known(stored()), "salt"))
    for text in ("checksum", "app:1", "--a", "NODE", "config", "default"):
        assert text not in kept
    assert digest_of(known(stored()), "salt") != digest_of(known(stored()), "pepper")


# --- with workloads ------------------------------------------------------------------------------------------------


def deployment(template: Json, **meta: Any) -> Json:
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", **meta},
        "spec": spec,
    }


def applied_before(manifest: Json) -> Json:
    note = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(manifest)}
    live = deepcopy(manifest)
    live["metadata"] |= {"uid": "1", "annotations": note}
    template = live["spec"].get("template") or live["spec"]["jobTemplate"]["spec"]["template"]
    template |= stored()
    return live


def replica_set(name: str, template: Json) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1", "controller": True}
    labels = {"app": "web", "pod-template-hash": name}
    template = deepcopy(template)
    template["metadata"]["labels"] = labels
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": f"web-{name}", "namespace": "default", "uid": name, "ownerReferences": [owner]},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


def pod(number: int, kind: str, owner: str) -> Json:
    uid = owner.removeprefix("web-") if kind == "ReplicaSet" else "1"
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": uid, "controller": True}
    meta = {"name": f"web-{number}", "namespace": "default", "labels": {"app": "web"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**meta, "ownerReferences": [reference]},
        "spec": {"nodeName": "a", "containers": [{"name": "main", "image": "app:1"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def cluster(*objects: Json) -> Cluster:
    return read_cluster([GivenText("dump", json.dumps(items(*objects)).encode())], stdin=BytesIO()).cluster


def items(*objects: Json) -> Json:
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


def manifest(obj: Json) -> Any:
    given = GivenText("manifest", json.dumps(obj).encode())
    return read_manifest_set([given], stdin=BytesIO(), default_namespace="default").manifests[0].object


TWO = [pod(number, "ReplicaSet", "web-66") for number in range(2)]
ENV = changed(_main("env", 0, "value", to="2"))


def test_the_same_deployment_again_is_green_and_another_variable_is_a_rollout() -> None:
    world = cluster(applied_before(deployment(GIVEN)), replica_set("66", stored()), *TWO)
    update = plan_update(manifest(deployment(GIVEN)), world)
    assert (update.kind, update.caveat) == ("unchanged", None)
    update = plan_update(manifest(deployment(ENV)), world)
    assert (update.kind, len(update.removed), len(update.added), update.caveat) == ("changed", 2, 2, None)
    assert update.added[0].metadata.owner_references[0].name != "web-66"


def test_of_replica_sets_that_differ_in_a_variable_only_the_right_one_is_taken() -> None:
    old, new = replica_set("11", stored()), replica_set("66", changed(_main("env", 0, "value", to="2"), stored()))
    live = applied_before(deployment(GIVEN))
    pods = [pod(1, "ReplicaSet", "web-11"), pod(2, "ReplicaSet", "web-66")]
    world = cluster(live, new, old, *pods)
    more = manifest({**deployment(GIVEN), "spec": {**deployment(GIVEN)["spec"], "replicas": 3}})
    alone = cluster(live, {**new, "spec": {**new["spec"], "replicas": 0}}, old, pods[0])
    assert plan_update(more, alone).added[0].metadata.owner_references[0].name == "web-11"
    back = plan_update(manifest(deployment(ENV)), world)
    assert [gone.metadata.name for gone in back.removed] == ["web-1"]
    assert back.added[0].metadata.owner_references[0].name == "web-66"


def test_a_saved_snapshot_knows_by_digests() -> None:
    world = cluster(applied_before(deployment(GIVEN)), replica_set("66", stored()), *TWO)
    for obj in (*world.all(Deployment).values(), *world.all(ReplicaSet).values()):
        world.add(redact(obj, images=False))
    update = plan_update(manifest(deployment(GIVEN)), world)
    assert (update.kind, update.caveat) == ("unchanged", None)
    for change in (_main("env", 0, "value", to="2"), _main("image", to="app:2")):
        update = plan_update(manifest(deployment(changed(change))), world)
        assert (update.kind, len(update.removed), len(update.added)) == ("changed", 2, 2)
    workloads: list[Any] = [*world.all(Deployment).values(), *world.all(ReplicaSet).values()]
    for marked_one in list(marked(workloads)):
        world.add(marked_one)
    given = deployment(changed(lambda template: template["spec"]["volumes"][1].update(emptyDir={}), ENV))
    update = plan_update(manifest(given), world)
    assert (update.kind, type(update.caveat).__name__) == ("unchanged", "ImagesNotCompared")


def test_what_cannot_be_said_is_a_caveat() -> None:
    live = applied_before(deployment(GIVEN))
    del live["metadata"]["annotations"]
    live["spec"]["template"]["metadata"]["annotations"]["injected"] = "yes"
    given = deployment(changed(lambda template: template["spec"]["volumes"][1].update(emptyDir={})))
    update = plan_update(manifest(given), cluster(live, replica_set("66", stored()), *TWO))
    field = ".metadata.annotations[injected]"
    assert update.caveat == FieldsNotCompared(workload="Deployment default/web", field=field)
    assert update.kind == "unchanged"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("StatefulSet", "changed"), ("DaemonSet", "changed"), ("ReplicaSet", "unchanged"), ("Job", "changed")],
)
def test_every_kind_has_its_own_way(kind: str, expected: str) -> None:
    def workload(template: Json) -> Json:
        made = {**deployment(template), "kind": kind, "apiVersion": "batch/v1" if kind == "Job" else "apps/v1"}
        spec = made["spec"]
        if kind != "ReplicaSet":
            spec.pop("replicas")
        if kind == "Job":
            spec.pop("selector")
            spec["template"]["spec"]["restartPolicy"] = "Never"
        return made

    given, env = workload(deepcopy(GIVEN)), workload(deepcopy(ENV))
    live = applied_before(given)
    live["spec"]["template"]["spec"]["restartPolicy"] = given["spec"]["template"]["spec"].get("restartPolicy", "Always")
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
    world = cluster(live, node, pod(0, kind, "web"))
    update = plan_update(manifest(given), world)
    assert (update.kind, update.caveat) == ("unchanged", None)
    update = plan_update(manifest(env), world)
    assert update.kind == expected
    assert (update.denied is not None) is (kind == "Job")
    if update.denied is None and expected == "changed":
        assert len(update.removed) == len(update.added) == 1


def test_a_cron_job_has_its_template_deeper() -> None:
    def cron_job(template: Json) -> Json:
        run = {"template": deepcopy(template)}
        run["template"]["spec"]["restartPolicy"] = "Never"
        spec = {"schedule": "* * * * *", "jobTemplate": {"spec": run}}
        return {**deployment(GIVEN), "apiVersion": "batch/v1", "kind": "CronJob", "spec": spec}

    live = applied_before(cron_job(GIVEN))
    live["spec"]["jobTemplate"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    world = cluster(live)
    assert plan_update(manifest(cron_job(GIVEN)), world).kind == "unchanged"
    assert plan_update(manifest(cron_job(ENV)), world).kind == "changed"


def test_without_the_text_a_mark_tells_templates_apart() -> None:
    one = PodTemplateSpec()
    assert same_template(one, one)
    assert not same_template(one, replace(one, mark="x"))
    assert same_template(replace(one, mark="x"), replace(one, mark="x"))
