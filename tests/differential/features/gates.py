"""What holds a pod back, or lets it in: gates, classes, features, missing claims, clusters without nodes."""

from tests.differential.scene import Object, Scene, main_container, namespace_of

FEATURES = (
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "GuaranteedQoSPodCPUResize",
    "UserNamespacesHostNetwork",
    "SomethingElse",
)


def add(scene: Scene) -> None:
    """One or two of them."""
    steps = (gates, default_class, features, features, claims, leaving, no_nodes)
    for step in scene.dice.some(steps, 1, 2):
        step(scene)


def gates(scene: Scene) -> None:
    """Scheduling gates, on the candidate or on others."""
    dice = scene.dice
    names = dice.some(["example.com/quota", "example.com/b", "a.example.com/wait", "plain"], 0, 3)
    scene.spec["schedulingGates"] = [{"name": name} for name in names]
    scene.spec.pop("nodeName", None)
    scene.note("scheduling gates")


def default_class(scene: Scene) -> None:
    """A global default for pods that name no class."""
    dice = scene.dice
    policy = dice.sometimes({"preemptionPolicy": dice.pick("Never", "PreemptLowerPriority")})
    value = dice.pick(-5, 50, 5000)
    scene.add("scheduling.k8s.io/v1", "PriorityClass", "usual", value=value, globalDefault=True, **policy)
    if dice.chance(0.15):
        other: Object = {"value": dice.pick(-10, 60), "globalDefault": True}
        scene.add("scheduling.k8s.io/v1", "PriorityClass", "usual-too", **other)
    for pod in [*scene.some_pods(0.5), *([scene.pod] if dice.chance(0.7) else [])]:
        pod["spec"].pop("priority", None)
        if dice.chance(0.6):
            pod["spec"].pop("priorityClassName", None)
    scene.note("default class")


def features(scene: Scene) -> None:
    """Features that nodes declare and the pod needs."""
    dice = scene.dice
    for node in scene.some_nodes(0.7):
        node["status"]["declaredFeatures"] = sorted(dice.some(FEATURES))
    if dice.chance(0.7):
        rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
        if dice.chance(0.1):
            rule["action"] = "Restart"
        container = main_container(scene.pod)
        if dice.chance(0.3):
            container = {"name": "init-feature", "image": "busybox:1"}
            scene.spec.setdefault("initContainers", []).append(container)
        container |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}
    if dice.chance(0.4):
        scene.spec.update(hostNetwork=True, hostUsers=dice.pick(False, False, True))
    scene.note("declared features")


def claims(scene: Scene) -> None:
    """Resource claims that are not there yet, or not the pod's."""
    dice = scene.dice
    if "resourceClaims" in scene.spec:
        return
    kind = dice.pick("missing", "deleting", "template", "foreign", "nameless", "there")
    entry: Object = {"name": "gpu", "resourceClaimName": "mine"}
    namespace = namespace_of(scene.pod)
    spec: Object = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
    if kind in ("template", "foreign", "nameless"):
        entry = {"name": "gpu", "resourceClaimTemplateName": "one-gpu"}
        scene.add("resource.k8s.io/v1", "ResourceClaimTemplate", "one-gpu", namespace, spec={"spec": spec})
    if kind == "deleting":
        extra = {"deletionTimestamp": "2026-03-20T00:00:00Z"}
        scene.add("resource.k8s.io/v1", "ResourceClaim", "mine", namespace, spec=spec, **extra)
    elif kind == "foreign":
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": "uid-other", "controller": True}
        scene.add("resource.k8s.io/v1", "ResourceClaim", "made", namespace, spec=spec, ownerReferences=[owner])
        scene.pod["status"] = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "made"}]}
    elif kind == "nameless":
        scene.pod["status"] = {"resourceClaimStatuses": [{"name": "gpu"}]}
    elif kind == "there":
        scene.add("resource.k8s.io/v1", "ResourceClaim", "mine", namespace, spec=spec)
    scene.spec["resourceClaims"] = [entry]
    main_container(scene.pod).setdefault("resources", {})["claims"] = [{"name": "gpu"}]
    scene.note(f"claims ({kind})")


def leaving(scene: Scene) -> None:
    """Pods that leave keep their room; finished ones do not; some sit on a node that is gone."""
    dice = scene.dice
    for pod in scene.some_pods(0.5):
        kind = dice.pick("deleting", "done", "gone")
        if kind == "deleting":
            pod["metadata"]["deletionTimestamp"] = "2026-03-20T00:00:00Z"
        elif kind == "done":
            pod["status"]["phase"] = dice.pick("Succeeded", "Failed")
        else:
            pod["spec"]["nodeName"] = "gone"
    if dice.chance(0.2):
        scene.pod["metadata"]["deletionTimestamp"] = "2026-03-20T00:00:00Z"
    scene.note("leaving pods")


def no_nodes(scene: Scene) -> None:
    """Nothing to run on; pods of vanished nodes may still be listed."""
    if scene.dice.chance(0.3):
        scene.nodes.clear()
        scene.note("no nodes")
