"""What webhooks add to new pods, as running pods show it; and what is not an injection."""

import copy
from typing import Any

import pytest

import kwhatif
from kwhatif.kube.model.caveat.workloads import Injected
from kwhatif.render.caveats import sentence
from tests.objects import manifest

Json = dict[str, Any]

SIDECAR: Json = {"name": "proxy", "image": "p", "resources": {"requests": {"cpu": "1"}}}
NATIVE: Json = SIDECAR | {"restartPolicy": "Always"}
TOKEN: Json = {"name": "kube-api-access-x7f2z", "projected": {"sources": []}}


def container(name: str = "c", image: str = "c", **requests: str) -> Json:
    return {"name": name, "image": image, "resources": {"requests": requests}}


def node(name: str = "n1", cpu: str = "4") -> Json:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return manifest(
        "Node",
        {"name": name, "labels": {"kubernetes.io/hostname": name}},
        status={"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    )


def namespace(**meta: Any) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"} | meta}


def template(name: str = "web", labels: Json | None = None, annotations: Json | None = None, **spec: Any) -> Json:
    return {
        "metadata": {"labels": {"app": name} | (labels or {}), "annotations": annotations or {}},
        "spec": {"containers": [container(cpu="1")]} | spec,
    }


def workload(kind: str, made_of: Json, name: str = "web", **more: Any) -> Json:
    spec = {"selector": {"matchLabels": {"app": name}}, "template": made_of}
    if kind == "Job":
        spec = {"template": made_of}
    group = "batch/v1" if kind == "Job" else "apps/v1"
    uid = f"{kind}-{name}"
    return {
        "apiVersion": group,
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop", "uid": uid},
        "spec": spec,
    } | more


def replica_set(name: str, made_of: Json, of: str = "web") -> Json:
    made = workload("ReplicaSet", made_of, name)
    made["metadata"]["ownerReferences"] = [owner("Deployment", of)]
    return made


def owner(kind: str, name: str) -> Json:
    return {"apiVersion": "v1", "kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": True}


def pod(kind: str, of: str, name: str, made_of: Json, **spec: Any) -> Json:
    """A pod of the template with other things in its spec; `meta` and `status` are the pod's own."""
    meta, status = spec.pop("meta", {}), spec.pop("status", {"phase": "Running"})
    made = copy.deepcopy(made_of["spec"]) | {"nodeName": "n1"} | spec
    return manifest(
        "Pod",
        {
            "name": name,
            "namespace": "shop",
            "labels": made_of["metadata"]["labels"],
            "ownerReferences": [owner(kind, of)],
        }
        | meta,
        spec=made,
        status=status,
    )


def sides(*more: Json, **requests: str) -> list[Json]:
    return [container(**(requests or {"cpu": "1"})), *more]


def deployment(*pods: Json, made_of: Json | None = None) -> list[Json]:
    made_of = made_of or template()
    return [workload("Deployment", made_of), replica_set("web-1", made_of), *pods]


def asked(objects: list[Json], name: str = "deploy/shop/web") -> list[str]:
    """What is said of injections when the workload starts anew."""
    report = kwhatif.schedule(kwhatif.load([node(), *objects]), name)
    return [said(each) for each in report.caveat_details if isinstance(each, Injected)]


def said(caveat: Injected) -> str:
    found = sentence(caveat)
    assert found.startswith((f"new pods of {caveat.workload} get ", f"{caveat.workload} gets "))
    return found.removeprefix("new pods of ").split(" get", 1)[1].lstrip("s ").removesuffix(": webhooks add it")


RS = "ReplicaSet"
LIMITS: Json = manifest(
    "LimitRange",
    {"name": "l", "namespace": "shop"},
    spec={"limits": [{"type": "Container", "defaultRequest": {"memory": "1Gi"}}]},
)
RUNTIME: Json = manifest(
    "RuntimeClass",
    {"name": "kata"},
    handler="kata",
    overhead={"podFixed": {"cpu": "250m"}},
    scheduling={"nodeSelector": {"kata": "yes"}, "tolerations": [{"key": "kata", "operator": "Exists"}]},
)
DEFAULTED = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 17}
    for key in ("not-ready", "unreachable")
]
CLAIMED: Json = {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}
STATEFUL = workload(
    "StatefulSet", template(), status={"updateRevision": "new", "currentRevision": "old", "currentReplicas": 1}
)
STATEFUL["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": {}}]
KATA = template(runtimeClassName="kata")

CASES: dict[str, tuple[list[Json], list[str]]] = {
    "nothing": (deployment(pod(RS, "web-1", "a", template())), []),
    "a container": (
        deployment(pod(RS, "web-1", "a", template(), containers=sides(SIDECAR))),
        ["container proxy (1 cpu), as its 1 pod has, though not its template"],
    ),
    "a sidecar among the init containers": (
        deployment(pod(RS, "web-1", "a", template(), initContainers=[NATIVE])),
        ["container proxy (1 cpu), as its 1 pod has, though not its template"],
    ),
    "a toleration, a node selector and a volume": (
        deployment(
            pod(
                RS,
                "web-1",
                "a",
                template(),
                tolerations=[{"key": "team", "value": "x", "effect": "NoSchedule"}],
                nodeSelector={"pool": "x"},
                volumes=[{"name": "spool", "emptyDir": {}}, TOKEN],
            )
        ),
        [
            (
                "volume spool and a toleration of team=x:NoSchedule and node selector pool=x, as its 1 pod has, though"
                " not its template"
            ).replace("spool and", "spool,")
        ],
    ),
    "other requests": (
        deployment(pod(RS, "web-1", "a", template(), containers=sides(cpu="2", memory="1Gi"))),
        ["other requests of container c (2 cpu, 1Gi memory), as its 1 pod has, though not its template"],
    ),
    "the same requests in other words": (
        deployment(pod(RS, "web-1", "a", template(), containers=sides(cpu="1000m"))),
        [],
    ),
    "a pod that was resized in place": (
        deployment(pod(RS, "web-1", "a", template(), containers=sides(cpu="2"), meta={"generation": 2})),
        [],
    ),
    "defaults of the namespace": (
        [LIMITS, *deployment(pod(RS, "web-1", "a", template(), containers=sides(cpu="1", memory="2Gi")))],
        [],
    ),
    "what the API server adds": (
        deployment(pod(RS, "web-1", "a", template(), tolerations=DEFAULTED, volumes=[TOKEN], priority=0)),
        [],
    ),
    "what its RuntimeClass adds": (
        [
            RUNTIME,
            *deployment(
                pod(
                    RS,
                    "web-1",
                    "a",
                    KATA,
                    overhead={"cpu": "250m"},
                    nodeSelector={"kata": "yes"},
                    tolerations=[{"key": "kata", "operator": "Exists"}],
                ),
                made_of=KATA,
            ),
        ],
        [],
    ),
    "pods that disagree": (
        deployment(
            pod(RS, "web-1", "a", template(), containers=sides(SIDECAR, container("log", cpu="1"))),
            pod(RS, "web-1", "b", template(), containers=sides(container("proxy", cpu="500m", memory="1Gi"))),
        ),
        [
            "container proxy (500m cpu), as its 2 pods have, though not its template: webhooks add it; they do not all"
            " have the same, and what all have is taken"
        ],
    ),
    "a pod without it": (
        deployment(pod(RS, "web-1", "a", template(), containers=sides(SIDECAR)), pod(RS, "web-1", "b", template())),
        [],
    ),
    "pods of an older template do not count": (
        [
            *deployment(pod(RS, "web-1", "a", template())),
            replica_set("web-0", template(labels={"v": "0"})),
            pod(RS, "web-0", "b", template(), containers=sides(SIDECAR)),
        ],
        [],
    ),
    "nor do those that are going, or have ended": (
        deployment(
            pod(RS, "web-1", "a", template()),
            pod(
                RS,
                "web-1",
                "b",
                template(),
                containers=sides(SIDECAR),
                meta={"deletionTimestamp": "2026-01-01T00:00:00Z"},
            ),
            pod(RS, "web-1", "c", template(), containers=sides(SIDECAR), status={"phase": "Failed"}),
        ),
        [],
    ),
    "a ReplicaSet that the input lacks": (
        [workload("Deployment", template()), pod(RS, "web-1", "a", template(), containers=sides(SIDECAR))],
        ["container proxy (1 cpu), as its 1 pod has, though not its template"],
    ),
}
OTHERS: dict[str, tuple[str, list[Json], list[str]]] = {
    "claims of a StatefulSet": (
        "sts/shop/web",
        [
            STATEFUL,
            pod(
                "StatefulSet",
                "web",
                "web-0",
                template(labels={"controller-revision-hash": "new"}),
                volumes=[CLAIMED],
                containers=sides(SIDECAR),
            ),
            pod("StatefulSet", "web", "web-1", template(labels={"controller-revision-hash": "old"}), volumes=[CLAIMED]),
        ],
        ["container proxy (1 cpu), as its 1 pod has, though not its template"],
    ),
    "tolerations of a DaemonSet": (
        "ds/shop/web",
        [
            workload("DaemonSet", template()),
            pod(
                "DaemonSet",
                "web",
                "web-x",
                template(),
                tolerations=[{"key": "node.kubernetes.io/disk-pressure", "operator": "Exists"}],
                affinity={"nodeAffinity": {}},
            ),
        ],
        [],
    ),
    "a DaemonSet with another image by now": (
        "ds/shop/web",
        [
            workload("DaemonSet", template(containers=[container(image="new", cpu="1")])),
            pod("DaemonSet", "web", "web-x", template(), containers=sides(SIDECAR)),
        ],
        [],
    ),
    "pods of a Job that have ended": (
        "job/shop/web",
        [
            workload("Job", template(restartPolicy="Never")),
            pod(
                "Job",
                "web",
                "web-x",
                template(restartPolicy="Never"),
                containers=sides(SIDECAR),
                status={"phase": "Succeeded"},
            ),
        ],
        ["container proxy (1 cpu), as its 1 pod has, though not its template"],
    ),
}


@pytest.mark.parametrize(("objects", "expected"), CASES.values(), ids=list(CASES))
def test_what_pods_of_a_deployment_show(objects: list[Json], expected: list[str]) -> None:
    assert asked(objects) == expected


@pytest.mark.parametrize(("name", "objects", "expected"), OTHERS.values(), ids=list(OTHERS))
def test_what_pods_of_others_show(name: str, objects: list[Json], expected: list[str]) -> None:
    assert asked(objects, name) == expected


# --- workloads without pods --------------------------------------------------------------------------------------

MESH = {"istio-injection": "enabled"}
INJECT = {"sidecar.istio.io/inject": "true"}
LINKERD = {"linkerd.io/inject": "enabled"}
WITH: dict[str, Any] = {"containers": sides(SIDECAR)}
PROXY = "container proxy (1 cpu), as 1 pod of Deployment shop/web has with the same "


def neighbour(made_of: Json, name: Any = "web", **spec: Any) -> list[Json]:
    kept = replica_set(f"{name}-1", made_of, name)
    return [workload("Deployment", made_of, name), kept, pod(RS, f"{name}-1", f"{name}-a", made_of, **spec)]


NEW: dict[str, tuple[list[Json], Json, list[str]]] = {
    "a label of the namespace": (
        [namespace(labels=MESH), *neighbour(template(), **WITH)],
        template("new"),
        [f"{PROXY}label istio-injection=enabled of namespace shop"],
    ),
    "an annotation of the namespace": (
        [namespace(annotations=LINKERD), *neighbour(template(), **WITH)],
        template("new"),
        [f"{PROXY}annotation linkerd.io/inject=enabled of namespace shop"],
    ),
    "a label of the pod": (
        [namespace(), *neighbour(template(labels=INJECT), **WITH)],
        template("new", labels=INJECT),
        [f"{PROXY}label sidecar.istio.io/inject=true"],
    ),
    "an annotation of the pod": (
        [namespace(), *neighbour(template(annotations=LINKERD), **WITH)],
        template("new", annotations=LINKERD),
        [f"{PROXY}annotation linkerd.io/inject=enabled"],
    ),
    "nothing points to it": ([namespace(), *neighbour(template(), **WITH)], template("new"), []),
    "the new pods refuse it": (
        [namespace(labels=MESH), *neighbour(template(), **WITH)],
        template("new", labels={"sidecar.istio.io/inject": "false"}),
        [],
    ),
    "a neighbour with the same label has none": (
        [namespace(labels=MESH), *neighbour(template(), **WITH), *neighbour(template("other"), "other")],
        template("new"),
        [],
    ),
    "pods on the network of their node are others": (
        [namespace(labels=MESH), *neighbour(template(), **WITH)],
        template("new", hostNetwork=True),
        [],
    ),
    "what is recommended for one workload is not for another": (
        [namespace(labels=MESH), *neighbour(template(), containers=sides(cpu="2"))],
        template("new"),
        [],
    ),
    "it has the container already": (
        [namespace(labels=MESH), *neighbour(template(), **WITH)],
        template("new", containers=[*sides(), SIDECAR]),
        [],
    ),
}


@pytest.mark.parametrize(("objects", "made_of", "expected"), NEW.values(), ids=list(NEW))
def test_a_workload_without_pods(objects: list[Json], made_of: Json, expected: list[str]) -> None:
    session = kwhatif.load([node(), *objects])
    report = kwhatif.schedule(session, workload("Deployment", made_of, "new"))
    assert [said(each) for each in report.caveat_details if isinstance(each, Injected)] == expected
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": made_of["metadata"] | {"name": "p", "namespace": "shop"}}
    report = kwhatif.schedule(session, bare | {"spec": made_of["spec"]})
    assert [said(each) for each in report.caveat_details if isinstance(each, Injected)] == expected


# --- what follows ------------------------------------------------------------------------------------------------


def test_new_pods_ask_for_it_wherever_they_are_made() -> None:
    """The cluster has room for the container, and not for what comes with it."""
    objects = [
        *[node("n1"), node("n2", "1500m"), namespace()],
        *deployment(pod(RS, "web-1", "a", template(), initContainers=[NATIVE], tolerations=DEFAULTED)),
    ]
    session = kwhatif.load(objects)
    grown = workload("Deployment", template())
    grown["spec"]["replicas"] = 3
    placed = kwhatif.gate(session, grown).decisions
    assert [each.outcome for each in placed] == ["Placed", "Unschedulable"]
    changed = [change.by for change in placed[0].changes]
    assert "MutatingAdmissionWebhook" in changed
    capacity = kwhatif.capacity(session, "deploy/shop/web").capacity
    assert capacity is not None
    assert capacity.fit is not None
    assert (capacity.fit.sets, capacity.fit.counted[0].requests) == (1, {"cpu": 2000})
    for report in (kwhatif.drain(session, "n1", force=True), kwhatif.outage(session, "n1")):
        assert report.story is not None
        assert [row.owner for row in report.story.pending] == ["Deployment shop/web"]
        assert any(isinstance(each, Injected) for each in report.caveat_details)
    edited = kwhatif.edited(session, "scale deploy/shop/web=2")
    assert any(isinstance(each, Injected) for each in edited.caveats)


def test_the_order_of_containers_stays() -> None:
    log = container("log", cpu="1")
    made_of = template(initContainers=[container("own", cpu="1")])
    shown = pod(RS, "web-1", "a", made_of, initContainers=[NATIVE, container("own", cpu="1"), log])
    session = kwhatif.load([node(), *deployment(shown, made_of=made_of)])
    edited = kwhatif.edited(session, "scale deploy/shop/web=2")
    made = next(iter(edited.state.pending.values())).pod
    assert [each.name for each in made.spec.init_containers] == ["proxy", "own", "log"]


def test_a_pod_without_a_container_of_the_template_is_not_made_of_it() -> None:
    other = pod(RS, "web-1", "web-1-a", template(), containers=[container("other", cpu="1")])
    assert asked(deployment(other)) == []


def webhook(**selectors: Any) -> Json:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    return manifest(
        "MutatingWebhookConfiguration",
        {"name": "mesh"},
        webhooks=[{"name": "proxy.mesh.example", "rules": [rule]} | selectors],
    )


def labelled(name: str, **labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def in_namespace(objects: list[Json], name: str) -> list[Json]:
    moved = copy.deepcopy(objects)
    for each in moved:
        each["metadata"]["namespace"] = name
    return moved


def api(labels: Json | None = None) -> list[Json]:
    """Another Deployment of the namespace, whose pod has a sidecar."""
    made_of = template("api", labels)
    pods = pod(RS, "api-1", "x", made_of, containers=sides(SIDECAR))
    return [workload("Deployment", made_of, "api"), replica_set("api-1", made_of, "api"), pods]


SELECTED: Json = {"matchLabels": {"mesh": "on"}}
GETS = ["container proxy (1 cpu), as 1 pod of Deployment {}/api has with the same MutatingWebhookConfiguration mesh"]
NAMED = [f"{GETS[0]} (proxy.mesh.example)"]
ASKED_ABOUT: dict[str, tuple[list[Json], Json | None, list[str]]] = {
    "its namespace is selected": (
        [webhook(namespaceSelector=SELECTED), labelled("shop", mesh="on"), *api()],
        None,
        NAMED,
    ),
    "its namespace is not": ([webhook(namespaceSelector=SELECTED), labelled("shop"), *api()], None, []),
    "its labels are selected": (
        [webhook(objectSelector=SELECTED), labelled("shop"), *api({"mesh": "on"})],
        {"mesh": "on"},
        NAMED,
    ),
    "its labels are not": ([webhook(objectSelector=SELECTED), labelled("shop"), *api({"mesh": "on"})], None, []),
    "a mark says nothing where no webhook looks at it": (
        [webhook(objectSelector=SELECTED), labelled("shop"), *api({"sidecar.istio.io/inject": "true"})],
        {"sidecar.istio.io/inject": "true"},
        [],
    ),
    "what a pod says counts besides": (
        [webhook(), labelled("shop"), *api()],
        {"sidecar.istio.io/inject": "false"},
        [],
    ),
    "another namespace shows it": (
        [
            webhook(namespaceSelector=SELECTED),
            labelled("shop", mesh="on"),
            labelled("other", mesh="on"),
            labelled("another"),
            *in_namespace(api(), "other"),
        ],
        None,
        [NAMED[0].replace("{}", "other")],
    ),
    "another namespace that is not selected does not": (
        [
            webhook(namespaceSelector=SELECTED),
            labelled("shop", mesh="on"),
            labelled("other"),
            *in_namespace(api(), "other"),
        ],
        None,
        [],
    ),
}


@pytest.mark.parametrize("name", ASKED_ABOUT)
def test_where_webhooks_are_known_they_decide(name: str) -> None:
    objects, labels, expected = ASKED_ABOUT[name]
    found = asked([*objects, workload("Deployment", template(labels=labels))])
    assert found == [each.replace("{}", "shop") for each in expected]
