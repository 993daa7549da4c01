"""A cluster as `kubectl get -o yaml` dumps it: workloads with their controllers' pods, and everything that servers add."""

from tests.differential.cluster import classes_of
from tests.differential.dice import Dice
from tests.differential.features import preemption, spread
from tests.differential.features.interpod import REQUIRED
from tests.differential.pressure import press
from tests.differential.scene import DEFAULT, HOSTNAME, ZONE, Object, Scene, labels_of, namespace_of
from tests.differential.served import serve

_HASH = "7d9f5c8b4"
_SERVICE_LABELS = ("app", "tier")


def add(scene: Scene) -> None:
    """Give pods controllers, pods on every node, budgets and limits; then write it all as the API server does."""
    dice = scene.dice
    _adopt(scene)
    if dice.chance(0.6):
        _daemon(scene)
    if dice.chance(0.7):
        preemption.budgets(scene)
    if dice.chance(0.5):
        press(scene)
    _candidate(scene)
    _elsewhere(scene)
    serve(scene)
    scene.note("a dump of a cluster")


def _adopt(scene: Scene) -> None:
    """Pods of one app in one namespace belong together."""
    groups: dict[tuple[str, str], list[Object]] = {}
    for pod in scene.pods:
        app = pod["metadata"].get("labels", {}).get("app")
        if app:
            groups.setdefault((namespace_of(pod), app), []).append(pod)
    for (namespace, app), pods in groups.items():
        kind = scene.dice.weighted({"Deployment": 6, "StatefulSet": 2, "none": 1})
        if kind == "none":
            continue
        selector = {"app": app} | ({"pod-template-hash": _HASH} if kind == "Deployment" else {})
        owner = f"{app}-{_HASH}" if kind == "Deployment" else app
        spec = _workload_spec(pods, selector)
        uid = f"uid-{namespace}-{owner}"
        if kind == "Deployment":
            reference = _controller("Deployment", app, f"uid-{namespace}-{app}")
            scene.add(
                "apps/v1", "Deployment", app, namespace, uid=reference["uid"], spec=_workload_spec(pods, {"app": app})
            )
            extra = {"ownerReferences": [reference], "labels": dict(selector)}
            scene.add("apps/v1", "ReplicaSet", owner, namespace, uid=uid, spec=spec, **extra)
        else:
            scene.add("apps/v1", "StatefulSet", owner, namespace, uid=uid, spec={**spec, "serviceName": app})
        for pod in pods:
            labels_of(pod).update(selector)
            pod["metadata"]["ownerReferences"] = [
                _controller("ReplicaSet" if kind == "Deployment" else kind, owner, uid)
            ]


def _workload_spec(pods: list[Object], selector: Object) -> Object:
    template = {"metadata": {"labels": dict(selector)}, "spec": {"containers": pods[0]["spec"]["containers"]}}
    return {"replicas": len(pods), "selector": {"matchLabels": dict(selector)}, "template": template}


def _controller(kind: str, name: str, uid: str) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _daemon(scene: Scene) -> None:
    """An agent on every node, bound to it by name as the controller does."""
    dice = scene.dice
    for index, node in enumerate(scene.nodes):
        name = node["metadata"]["name"]
        only = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
        spec: Object = {
            "nodeName": name,
            "priorityClassName": "system-node-critical",
            "hostNetwork": True,
            "tolerations": [{"operator": "Exists"}],
            "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [only]}}},
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example.com/platform/agent:2.4.1",
                    "ports": [{"containerPort": 9100}],
                    "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "64Mi"}},
                }
            ],
        }
        pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"agent-{index}", "namespace": DEFAULT}}
        pod["metadata"] |= {"labels": {"app": "agent"}, "uid": f"uid-agent-{index}"}
        pod["metadata"]["ownerReferences"] = [_controller("DaemonSet", "agent", "uid-agent")]
        scene.pods.append({**pod, "spec": spec, "status": {"phase": "Running", "startTime": scene.moment()}})
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "main", "image": "agent"}]}}
    spec = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    scene.add("apps/v1", "DaemonSet", "agent", DEFAULT, uid="uid-agent", spec=spec)
    if dice.chance(0.3):
        scene.spec["containers"][0].setdefault("ports", []).append({"containerPort": 9100, "hostPort": 9100})


def _candidate(scene: Scene) -> None:
    """One more replica, a batch pod, or a pod of its own."""
    dice = scene.dice
    labels = scene.pod["metadata"].get("labels", {})
    app = {"matchLabels": {"app": labels.get("app", "web")}}
    if dice.chance(0.4):
        owner = f"{labels.get('app', 'web')}-{_HASH}"
        uid = f"uid-{namespace_of(scene.pod)}-{owner}"
        scene.pod["metadata"]["ownerReferences"] = [_controller("ReplicaSet", owner, uid)]
        labels_of(scene.pod)["pod-template-hash"] = _HASH
    if dice.chance(0.4):
        scene.spec["topologySpreadConstraints"] = spread.constraints(scene)
    if dice.chance(0.3):
        term = {"topologyKey": dice.pick(HOSTNAME, HOSTNAME, ZONE), "labelSelector": app}
        side = dice.pick("podAntiAffinity", "podAntiAffinity", "podAffinity")
        if dice.chance(0.5):
            scene.spec.setdefault("affinity", {})[side] = {REQUIRED: [term]}
        else:
            weighted = {"weight": dice.pick(1, 100), "podAffinityTerm": term}
            scene.spec.setdefault("affinity", {})[side] = {
                "preferredDuringSchedulingIgnoredDuringExecution": [weighted]
            }
    if dice.chance(0.5):
        scene.add("v1", "Service", labels.get("app", "web"), namespace_of(scene.pod), spec=_service(labels, dice))
    if classes_of(scene) and dice.chance(0.5):
        scene.spec.pop("priority", None)
        scene.spec["priorityClassName"] = dice.one(classes_of(scene))


def _service(labels: Object, dice: Dice) -> Object:
    selector = {key: value for key, value in labels.items() if key in _SERVICE_LABELS}
    return {
        "selector": selector,
        "ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}],
    } | dice.sometimes({"type": "ClusterIP", "clusterIP": "10.96.0.7"})


def _elsewhere(scene: Scene) -> None:
    """Limits and quotas of namespaces that are not the candidate's, and kinds that no scheduler knows."""
    dice = scene.dice
    limits = {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "250m", "memory": "256Mi"}}
    scene.add("v1", "LimitRange", "defaults", "walled-off", spec={"limits": [limits]})
    scene.add("v1", "ResourceQuota", "team", "walled-off", spec={"hard": {"pods": "0", "requests.cpu": "0"}})
    for version, kind in (("v1", "ConfigMap"), ("networking.k8s.io/v1", "Ingress"), ("example.com/v1", "Widget")):
        if dice.chance(0.3):
            scene.add(version, kind, "unrelated", DEFAULT, spec={"anything": [1, None, {"a": "b"}]})
