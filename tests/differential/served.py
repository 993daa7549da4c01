"""What API server, kubelet and controllers write into objects; nothing of it may change an answer."""

from tests.differential.scene import Object, Scene, uid_of

MOMENT = "2026-02-28T12:00:00Z"


def serve(scene: Scene) -> None:
    """Complete every object of the cluster; the candidate stays as its author wrote it."""
    for node in scene.nodes:
        _node(node)
    for index, pod in enumerate(scene.pods):
        _pod(pod, index)
    for version, obj in enumerate((*scene.nodes, *scene.pods, *scene.objects)):
        _metadata(obj, version)
    for obj in scene.objects:
        if obj["kind"] == "PodDisruptionBudget" and "status" in obj:
            allowed = obj["status"].get("disruptionsAllowed", 0) > 0
            obj["status"]["observedGeneration"] = 1
            obj["status"]["conditions"] = [_condition("DisruptionAllowed", allowed)]
        elif obj["kind"] == "Namespace":
            obj |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}


def _metadata(obj: Object, version: int) -> None:
    metadata = obj["metadata"]
    metadata.setdefault("creationTimestamp", MOMENT)
    metadata |= {"resourceVersion": str(version + 1), "generation": 1}
    uid_of(obj)
    applied = '{"apiVersion":"v1","kind":"' + obj["kind"] + '","spec":{"nodeName":"elsewhere"}}\n'
    metadata.setdefault("annotations", {})["kubectl.kubernetes.io/last-applied-configuration"] = applied
    manager = {"manager": "kubectl", "operation": "Apply", "apiVersion": obj["apiVersion"], "time": MOMENT}
    metadata["managedFields"] = [{**manager, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:nodeName": {}}}}]
    if obj["kind"] == "Namespace":
        metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = metadata["name"]


def _node(node: Object) -> None:
    status = node["status"]
    status.setdefault("capacity", dict(status.get("allocatable", {})))
    status["conditions"] = [
        {**_condition("Ready", True), "lastHeartbeatTime": MOMENT, "reason": "KubeletReady"},
        {**_condition("MemoryPressure", False), "lastHeartbeatTime": MOMENT, "reason": "KubeletHasSufficientMemory"},
    ]
    status["addresses"] = [{"type": "InternalIP", "address": "10.0.0.1"}]
    status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": 10250}}
    status["nodeInfo"] = {
        "architecture": "amd64",
        "bootID": "",
        "containerRuntimeVersion": "containerd://2.1.0",
        "kernelVersion": "6.1.0",
        "kubeProxyVersion": "",
        "kubeletVersion": "v1.36.2",
        "machineID": "",
        "operatingSystem": "linux",
        "osImage": "Debian GNU/Linux 12",
        "systemUUID": "",
    }
    node.setdefault("spec", {}).setdefault("podCIDR", "10.244.0.0/24")


def _pod(pod: Object, index: int) -> None:
    spec, status = pod["spec"], pod.setdefault("status", {})
    defaults = {
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
    }
    for field, value in defaults.items():
        spec.setdefault(field, value)
    usual = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    spec.setdefault("tolerations", []).extend(
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for key in usual
    )
    for container in spec["containers"]:
        container |= {"imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log"}
        container["terminationMessagePolicy"] = "File"
        container.setdefault("resources", {})
    if "deletionTimestamp" in pod["metadata"]:
        pod["metadata"]["deletionGracePeriodSeconds"] = 30
    if spec.get("nodeName"):
        said = [_condition(name, True) for name in ("PodScheduled", "Initialized", "ContainersReady", "Ready")]
        status["conditions"] = [*status.get("conditions", []), *({**one, "lastProbeTime": None} for one in said)]
        status["containerStatuses"] = status.get("containerStatuses") or [
            _running(container) for container in spec["containers"]
        ]
        ip = f"10.244.0.{index + 2}"
        status |= {"hostIP": "10.0.0.1", "podIP": ip, "podIPs": [{"ip": ip}], "qosClass": "Burstable"}
    elif not status:
        status |= {"phase": "Pending", "qosClass": "Burstable"}


def _running(container: Object) -> Object:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "sha256:0",
        "containerID": "containerd://0",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": MOMENT}},
        "lastState": {},
    }


def _condition(kind: str, holds: bool) -> Object:
    return {"type": kind, "status": str(holds), "lastTransitionTime": MOMENT, "reason": "Reported", "message": ""}
