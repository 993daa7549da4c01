"""Which command a case runs, about which of its files; some of the names in it are those of nothing."""

from tests.differential.dice import Dice
from tests.hostile import steps
from tests.hostile.inputs import Object, Parts

#: Words of a command, with files in braces, and the parts that it reads beside the cluster.
Command = tuple[list[str], list[str]]

#: How often which command is asked where the mutated file does not decide.
_VERBS = {
    "schedule": 2, "preempt": 2, "gate": 2, "simulate": 3, "queue": 2, "drain": 2, "outage": 2, "capacity": 1.5,
    "advise": 1, "upgrade": 1,
}  # fmt: skip
_READ_MANIFESTS = ("schedule", "preempt", "gate", "capacity", "advise")
_EXPLAIN = ("preempt", "queue", "simulate", "drain", "outage")
_DRAIN = (
    "--ignore-daemonsets", "--force", "--delete-emptydir-data", "--disable-eviction", "--timeout=90s", "--grace-period=0",
    "--parallel=2", "--order",
)  # fmt: skip
_STRATEGIES = ("RemoveDuplicates", "LowNodeUtilization", "RemovePodsViolatingNodeTaints", "PodLifeTime", "Nothing")
#: Node names and labels that stand for no node, or look like an option.
_MISSING = ("gone", "!gone", "no-*", "zone=nowhere", "-x", "")


def choose(dice: Dice, parts: Parts, target: str) -> Command:
    """A command that reads the part which is mutated."""
    if target == "kubeconfig":
        return [dice.pick("queue", "preempt"), "--kubeconfig", "{kubeconfig}"], ["kubeconfig"]
    if target == "cluster" and dice.chance(0.15):
        saves = ["snapshot", "save", "s.json", "--anonymize", "--from", "{cluster}"]
        return dice.pick(["snapshot", "info", "{cluster}"], saves), ["cluster"]
    command, used = _about(dice, parts, target)
    command = [*command, "--from", "{cluster}"]
    if target == "config" or dice.chance(0.15):
        command, used = [*command, "--scheduler-config", "{config}"], [*used, "config"]
    if target == "edits" or dice.chance(0.08):
        command, used = [*command, "--edits", "{edits}"], [*used, "edits"]
    if target == "text":
        command += _texts(dice, parts["cluster"], command[0])
    if dice.chance(0.3) and any(word == "--edits" or word.startswith("--if") for word in command):
        command.append("--compare")
    output = dice.pick("table", "wide", "json", "yaml", "markdown" if command[0] == "gate" else "json")
    explain = ["--explain"] if output == "table" and command[0] in _EXPLAIN and dice.chance(0.5) else []
    return [*command, "-o", output, *explain], [*used, "cluster"]


def _texts(dice: Dice, cluster: list[Object], verb: str) -> list[str]:
    words = []
    for _ in range(dice.pick(1, 1, 2)):
        acts = verb == "simulate" and dice.chance(0.6)
        edit = steps.text(dice, cluster, acts=acts)
        option = "--then" if acts else "--if"
        words.append(f"{option}={steps.scribble(dice, edit) if dice.chance(0.5) else edit}")
    return words


def _about(dice: Dice, parts: Parts, target: str) -> Command:
    if target == "descheduler" or (target == "cluster" and dice.chance(0.12)):
        if target == "cluster" or dice.chance(0.7):
            parts["cluster"] = parts["descheduled"]
        rounds = ["--rounds", dice.pick("1", "2")]
        if target == "cluster" and dice.chance(0.2):
            return ["deschedule", "--strategy", dice.pick(*_STRATEGIES), *rounds], []
        return ["deschedule", "--policy", "{descheduler}", *rounds], ["descheduler"]
    if target in ("groups", "types"):
        return _scaled(dice, parts, target)
    if target == "policy":
        return ["gate", "{manifests}", "--policy", "{policy}"], ["manifests", "policy"]
    verb = dice.weighted(_VERBS) if target != "scenario" else "simulate"
    if target == "manifests" and verb not in _READ_MANIFESTS:
        verb = "simulate"
    return _question(dice, parts, target, verb)


def _scaled(dice: Dice, parts: Parts, target: str) -> Command:
    """An autoscaler's own commands, and others that go on with the nodes that it adds."""
    parts["cluster"] = parts["grouped" if target == "groups" else "pooled"]
    option = "--node-groups" if target == "groups" else "--instance-types"
    given = [option, "{" + target + "}", "--at", "2026-11-20T12:00:00Z"]
    verb = dice.pick("autoscale", "autoscale", "consolidate", "preempt", "queue", "simulate", "drain")
    if verb in ("autoscale", "consolidate"):
        explained = [f"--explain=node/{dice.one([*_names(parts['cluster'], 'Node'), 'gone'])}"]
        more = explained if verb == "consolidate" and dice.chance(0.3) else []
        return [verb, *given, *more], [target]
    nodes = ["*", "--force", "--ignore-daemonsets"] if verb == "drain" else []
    return [verb, *nodes, "--autoscaler", "auto", *given], [target]


def _question(dice: Dice, parts: Parts, target: str, verb: str) -> Command:
    cluster = parts["cluster"]
    if verb == "capacity":
        return _capacity(dice, cluster, target)
    if verb == "upgrade":
        return ["upgrade", "--to", dice.pick("1.33", "1.34", "1.35", "1.36", "1.37", "1.37", "1.99", "x")], []
    if verb == "queue" and dice.chance(0.2):
        pods = _names(cluster, "Pod")
        return [
            "queue",
            dice.one(pods) if pods and dice.chance(0.8) else dice.pick("gone", "default/gone", "a/b/c"),
        ], []
    if verb == "queue" or (verb == "preempt" and target == "cluster" and dice.chance(0.4)):
        return [verb], []
    if verb in ("drain", "outage"):
        return [verb, *_nodes(dice, cluster, verb)], []
    if verb == "simulate" and (target == "scenario" or dice.chance(0.2)):
        return ["simulate", *dice.pick([], ["{manifests}"]), "--scenario", "{scenario}"], ["manifests", "scenario"]
    manifest = "gone.yaml" if target != "manifests" and dice.chance(0.03) else "{manifests}"
    more = {
        "schedule": ([], [], ["--alone"], ["--aftermath"], ["--no-admission"]),
        "preempt": ([], [], ["--alone"], ["--aftermath"]),
        "gate": ([], [], ["--rollout", "surge"], ["--rollout", "final"], ["--fixes", "0"]),
        "simulate": ([], [], ["--runs", "2"], ["--horizon", "24h"], ["--readiness", "1m"]),
    }.get(verb, ([],))
    return [verb, manifest, *dice.pick(*more)], ["manifests"]


def _nodes(dice: Dice, cluster: list[Object], verb: str) -> list[str]:
    """Nodes that go, and how."""
    flags = dice.pick([], ["--deleted"]) if verb == "outage" else dice.some(_DRAIN)
    if dice.chance(0.15):
        each = ["--each=" + dice.pick("zone", "topology.kubernetes.io/zone", "kubernetes.io/hostname", "gone")]
        return [*(each if verb == "outage" else ["--each", "*"]), "--jobs=1", *flags]
    names = _names(cluster, "Node")
    if dice.chance(0.1):
        return [*flags, "--", dice.pick(*_MISSING, *names), dice.pick(*_MISSING)]
    return [*dice.pick(dice.some(names, 1, 2) or ["*"], ["*"]), *flags]


def _capacity(dice: Dice, cluster: list[Object], target: str) -> Command:
    """How many more fit: of the manifests, of a workload by name, or of the cluster's own kinds."""
    nodes = [*_names(cluster, "Node"), "gone"]
    wanted = ["--target", dice.pick("1", "7", "30")]
    many = ["--target", dice.pick("1000", "100000")]
    how = dice.pick([], ["--max", "20"], ["--with-preemption", "--max", "20"], wanted, many,
                    [*dice.pick(wanted, wanted, many), "--add-nodes-like", dice.one(nodes)])  # fmt: skip
    deployments = [obj["metadata"] for obj in cluster if obj["kind"] == "Deployment"]
    if target != "manifests" and dice.chance(0.3):
        meta = dice.one([*deployments, {"name": "gone"}])
        return ["capacity", "like", f"deploy/{meta.get('namespace', 'default')}/{meta['name']}", *how], []
    if target != "manifests" and dice.chance(0.2):
        return ["capacity", "--max", "20"], []
    return ["capacity", dice.pick("{manifests}", "{manifests}", "2*{manifests}"), *how], ["manifests"]


def _names(cluster: list[Object], kind: str) -> list[str]:
    return [
        "/".join(filter(None, (obj["metadata"].get("namespace"), obj["metadata"]["name"])))
        for obj in cluster
        if obj["kind"] == kind
    ]
