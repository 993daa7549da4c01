"""The words of reports, explained: what each means, where a report shows it, and what you can do.

They are those of Kubernetes 1.36; for differences in other releases see docs/releases.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kwhatif.kube.matching.field_errors import nearest


class Term(NamedTuple):
    """A word; the first sentence of `means` is what a list of words shows."""

    means: str
    seen: str
    then: str
    #: Other words by which the term is found.
    also: Sequence[str] = ()


TERMS: dict[str, Term] = {
    "affinity": Term(
        "What a pod asks of a node's labels, or of the pods beside it. What is `required` must hold; `preferred` only"
        " adds to the score. Required anti-affinity of running pods keeps a new pod out as well.",
        "verdicts such as `didn't match Pod's node affinity/selector`.",
        "correct the label, or label the node: `kwhatif advise` plays both.",
        ("anti-affinity", "node selector", "node affinity", "pod affinity"),
    ),
    "allocatable": Term(
        "What of a node's capacity pods may have. The kubelet keeps back the rest for itself and the system.",
        "`needs 2, at most 1.42 free`: free is allocatable less the requests of the pods there, used or not.",
        "compare with `kubectl describe node`; `kwhatif capacity` says what still fits.",
    ),
    "backoff": Term(
        "The time that the scheduler waits before it tries a pod again. After each failure it doubles, from 1 s to 10"
        " s. A pod that backs off is tried earlier if no other pod is ready to be tried.",
        "`kwhatif queue`: `it backs off until`, and when.",
        "wait. It is not the CrashLoopBackOff of a container.",
        ("backs off", "back off"),
    ),
    "budget violation": Term(
        "An eviction that leaves fewer healthy pods than a PodDisruptionBudget asks for. Preemption avoids it where"
        " another node will do, but is not stopped by it; the Eviction API, and so a drain, refuses it.",
        "`VIOLATED`, `violating 1 budget`.",
        'add room, or a replica; `--fail-on budget-violation` makes it a "no".',
        ("violated", "violation", "violating"),
    ),
    "caveat": Term(
        "What kwhatif could not know, or does not model. It says what the answer takes for granted instead.",
        "the list at the end of a report; in JSON each has a code.",
        "add what is missing to the dump, as the caveat says; `--fail-on caveats` accepts none.",
    ),
    "cordon": Term(
        "To mark a node as unschedulable: no new pods, but those that run there stay. It gets the taint"
        " node.kubernetes.io/unschedulable:NoSchedule, which pods of a DaemonSet tolerate.",
        "`--if 'cordon NODE'`; verdicts such as `node(s) were unschedulable`.",
        "`kubectl uncordon NODE`, or try it: `--if 'uncordon NODE'`.",
        ("unschedulable node", "uncordon"),
    ),
    "cycling": Term(
        "The same happens again and again, so that the cluster never settles. Two controllers work against each other.",
        "`kwhatif simulate`, `drain` and `deschedule`: the report shows one turn of the loop.",
        'change one of the rules that the turn names; `--fail-on cycling` makes it a "no".',
        ("endless", "loop"),
    ),
    "deferred": Term(
        "A resize in place that the kubelet has no room for yet. The pod keeps what it has, the scheduler already"
        " counts what it asks for, and the kubelet tries again when pods leave.",
        "`kwhatif resize`.",
        "free the room that the report names, or ask for less.",
        ("resize",),
    ),
    "denied": Term(
        "The API server refuses the pod when it is created. It never waits for a node. A quota, a LimitRange, Pod"
        " Security or a policy may do so.",
        "the outcome `Denied`, with the message of the API server.",
        "correct the manifest as the message says, or raise the quota.",
        ("admission", "forbidden"),
    ),
    "eviction": Term(
        "A running pod is ended to make room, or to empty its node. Drains, preemption, taints and the kubelet do so."
        " Only the Eviction API, which drains use, obeys PodDisruptionBudgets.",
        "`would evict 2 pods of Deployment ml/trainer`.",
        "`kwhatif threats` lists what could evict a pod, and what would protect it.",
        ("evict", "evicted"),
    ),
    "feasible": Term(
        "A node on which the pod may run: it passes all filters. Above 100 nodes the scheduler stops searching when it"
        " has found enough of them, and does not take a better one that it has not seen.",
        "`the best of 6 feasible nodes (12 in all)`.",
        "`-o wide` says for the other nodes which filter refused them.",
        ("filter", "feasible node"),
    ),
    "gang": Term(
        "Pods of a PodGroup that are placed together, or not at all. At least `minCount` of them must fit at once. They"
        " are modelled for 1.37; in 1.36 they are alpha, and kwhatif says so as a caveat.",
        "`gang ml/train (needs 8 of 8) does not fit: 5 of 8`.",
        "add room for the missing pods, or lower minCount; `--alone` judges each pod without its gang.",
        ("pod group", "PodGroup", "minCount"),
    ),
    "grace period": Term(
        "How long a pod may take to end. It is 30 s if the pod has no terminationGracePeriodSeconds. Only then is its"
        " room free.",
        "the times of `kwhatif simulate` and `drain`: a pod is assumed to need all of it.",
        "`--termination 3s` plays a shorter one.",
        ("termination", "terminating"),
    ),
    "node group": Term(
        "Nodes that an autoscaler adds and removes as copies of one template. A cloud calls it a node pool, or an"
        " autoscaling group.",
        "`kwhatif autoscale` and `consolidate`.",
        "name them with `--node-groups FILE`, if the dump does not.",
        ("node pool", "nodegroup"),
    ),
    "nominated": Term(
        "Room on a node is kept for this pod until it can be bound. Mostly its victims are still ending. Pods of the"
        " same or a lower priority count it as if it ran there; it may still land elsewhere.",
        "`nominated` in `kwhatif queue`; NOMINATED NODE in `kubectl get pods -o wide`.",
        "wait until the victims are gone; a pod of higher priority can take the room.",
        ("nominated node", "nominatedNodeName"),
    ),
    "NotReady taint": Term(
        "A taint on a node whose kubelet is not ready, or is not heard of (unreachable). Its effect NoExecute"
        " evicts pods after their tolerationSeconds, 300 unless a pod says otherwise. Pods of a DaemonSet stay.",
        "`kwhatif outage`: when pods come back elsewhere.",
        "give pods that must move sooner smaller tolerationSeconds.",
        ("not-ready", "unreachable", "tolerationSeconds"),
    ),
    "pending": Term(
        "The pod exists and has no node. It waits until a node can take it, or until its scheduling gates are gone.",
        "`stays pending: 6 nodes fail by one thing only: cpu`.",
        "`kwhatif advise` looks for the smallest change, `kwhatif queue --explain` for what would wake the pod.",
        ("unschedulable",),
    ),
    "PodDisruptionBudget": Term(
        "How many of an application's pods must stay when others are evicted on purpose. A drain waits for it;"
        " preemption only tries to keep it; the loss of a node does not ask.",
        "`budget shop/web never lets a pod go`, `BUDGETS LEFT`.",
        "a budget that allows 0 blocks every drain: add a replica, or allow one disruption.",
        ("PDB", "budget", "disruption budget"),
    ),
    "preemption": Term(
        "The scheduler evicts pods of lower priority, for a pod that fits nowhere. All of them are on one node:"
        " the one where the fewest budgets break, and then the least important pods have to go.",
        "`fits only by preemption`.",
        '`kwhatif preempt --explain` shows each step; `--fail-on preemption` makes it a "no".',
        ("preempt", "preempts"),
    ),
    "preemptionPolicy": Term(
        "Whether a pod may evict others. With `Never` it stands before pods of lower priority in the queue, but waits"
        " until there is room.",
        "`it may not evict pods (preemptionPolicy: Never)`.",
        "take a PriorityClass with PreemptLowerPriority, or make room.",
        ("Never", "preemption policy"),
    ),
    "PriorityClass": Term(
        "A name for a priority: which pods go first, and may evict which others. A pod gets the number when it is"
        " created, and keeps it; without a class it is that of the global default, or 0.",
        "`(priority -100)` behind victims.",
        "`kwhatif threats priorityclass/NAME` says who could evict pods of that class.",
        ("priority", "class"),
    ),
    "quota": Term(
        "The most that the pods of a namespace may ask for together (ResourceQuota). It counts when a pod is created; a"
        " controller tries again later.",
        "`exceeded quota`, and fewer pods than replicas.",
        "raise it, or scale something down: `kwhatif capacity` says where it stops.",
        ("ResourceQuota", "exceeded quota"),
    ),
    "reprieve": Term(
        "Preemption puts back a pod that it took away, because both fit. Those whose eviction"
        " breaks a budget are put back first, then the more important ones.",
        "`kwhatif preempt --explain`: `Put back in this order, if it still fits`.",
        "nothing: it is why more important pods stay.",
        ("reprieved", "put back"),
    ),
    "requests": Term(
        "What a pod asks for, and all that the scheduler counts. Limits and real use do not matter to it.",
        "`needs 2, at most 1.42 free`.",
        "ask for what the pod needs (resources.requests); `kwhatif advise` says how much less would fit.",
        ("request", "resources"),
    ),
    "rollout": Term(
        "How a controller goes from old pods to new ones. A Deployment may have maxSurge more and maxUnavailable fewer"
        " for a while; a new pod that never gets ready stops it.",
        "`kwhatif gate`: `rollout: Deployment shop/api hangs after 0 of 6 new pods`.",
        "leave room for the surge, or let maxUnavailable be 1 or more.",
        ("surge", "maxSurge", "maxUnavailable"),
    ),
    "scheduling gate": Term(
        "A name in spec.schedulingGates that keeps a pod out of the queue. The pod waits until something removes it.",
        "`is not queued: waiting for scheduling gates`.",
        "look at the controller that the name belongs to; no room or priority helps.",
        ("gate", "gated", "schedulingGates"),
    ),
    "score": Term(
        "How good a feasible node is for the pod. It is the sum of what each scoring plugin says (0 to 100), times its"
        " weight. The highest wins; what is free, spread, affinity and images count.",
        "the table behind `lands on`, a column for each plugin.",
        "`--scheduler-config FILE` plays other weights.",
        ("scores", "weight"),
    ),
    "stalled": Term(
        "A drain waits for something that will not come. It would wait forever, or until its timeout.",
        "`after: stalled`, and what it waits for, mostly a PodDisruptionBudget.",
        "the report lists what would help; `--timeout` lets the drain give up.",
        ("stalls",),
    ),
    "taint": Term(
        "A mark on a node that keeps out pods which do not tolerate it. NoSchedule stops new pods, PreferNoSchedule"
        " only lowers the score, NoExecute also evicts those that run there.",
        "`node(s) had untolerated taint(s)`.",
        "add a toleration to the pod, or remove it: `kubectl taint nodes NODE KEY-`.",
        ("untolerated", "NoSchedule", "NoExecute"),
    ),
    "tie": Term(
        "Several nodes are equally good, and the scheduler takes one of them at random. On another day it is another.",
        "`one of 2 nodes that score equally`, `or equally well general-c2`.",
        "do not rely on one of them; preferred affinity makes one better.",
        ("equally good", "equally well"),
    ),
    "toleration": Term(
        "What lets a pod onto a node in spite of a taint. It does not draw the pod there: a node selector does.",
        "`tolerate the taint workload=batch:NoSchedule; then it fits on batch-a1`.",
        "ask first who tainted the node, and why.",
        ("tolerate", "tolerates"),
    ),
    "topology spread": Term(
        "A rule that spreads pods over zones or nodes (topologySpreadConstraints). The skew, how many more of them are"
        " in one than in the emptiest, may be maxSkew at most. DoNotSchedule refuses nodes, ScheduleAnyway lowers the"
        " score.",
        "`didn't match pod topology spread constraints`.",
        "make room in the emptiest zone, or raise maxSkew.",
        ("skew", "maxSkew", "spread"),
    ),
    "victim": Term(
        "A running pod that preemption evicts. Its priority is lower, and the new pod does not fit beside it.",
        "`Victims on gpu-b1`.",
        "a higher PriorityClass protects it, a budget only if another node will do.",
        ("victims",),
    ),
    "wake": Term(
        "What makes the scheduler try a pending pod again. It is a change that could help with what refused the pod,"
        " such as the end of another. If nothing happens, it tries again after 5 minutes.",
        "`kwhatif queue`: `What would wake it, the most likely first`.",
        "see which change is within reach; `--if` plays it.",
        ("wakes", "requeue", "queueing hint"),
    ),
    "wave": Term(
        "The pods of a drain that the Eviction API lets go at one moment. `kubectl drain` asks again every 5 s for"
        " those that it refused.",
        "`kwhatif drain`: `4 pods move in 2 waves`.",
        "many waves come from tight budgets: more replicas, or a budget that allows more.",
        ("waves",),
    ),
}


def find_term(word: str) -> str | None:
    """The term that is meant; case does not matter, hyphens are spaces, and spaces may be left out."""
    return _NAMES.get(_plain(word))


def like_term(word: str) -> list[str]:
    """Terms that are spelled similarly, also by their other names, the most similar first."""
    return list(dict.fromkeys(_NAMES[near] for near in nearest(_plain(word), _NAMES)))


def summary(term: Term) -> str:
    """The first sentence of what it means."""
    return f"{term.means.partition('. ')[0].removesuffix('.')}."


def _plain(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter not in " -_")


_NAMES = {_plain(name): term for term, found in TERMS.items() for name in (*found.also, term)}
