"""What the input lacks, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from kwhatif.kube.model.caveat import lacking
from kwhatif.sources.decoding.asked import by_group
from kwhatif.sources.decoding.kinds import BY_KIND
from kwhatif.words.amounts import listed, plural, some

_DANGLING = {
    "Node": "its pods count nowhere",
    "Namespace": "namespace selectors see no label of it but its name",
    "PersistentVolume": "pods that use the claim cannot be judged",
    "StorageClass": "pods that use the claim cannot be judged",
    "PersistentVolumeClaim": "pods that use it cannot be judged",
    "ResourceClaim": "pods that use it cannot be judged",
}

_NOT_SPREAD = "its pods are not spread by default"

#: What cannot be trusted, because these kinds are not known.
_CONSEQUENCES: Mapping[type[lacking.Lacking], str] = {
    lacking.NoPods: "every node counts as empty",
    lacking.NoBudgets: (
        "budgets count as if there were none, so whether an eviction violates one is unknown, and with it whom the"
        " scheduler would rather spare"
    ),
    lacking.OwnersInferred: "owners are inferred from pods, with as many replicas as pods",
    lacking.NoPriorityClasses: "the priority of a new pod that names a class, or none, is unknown",
    lacking.NoNamespaces: "namespace selectors see no label of a namespace but its name",
    lacking.NoServices: (
        "pods of one service or controller are not spread by default, so a node that scores lower may be taken"
    ),
    lacking.NoWorkloads: "which pods a workload has already is unknown, so a changed one counts as new",
    lacking.NoLimits: "what limits would add to new pods, or quotas refuse, is unknown",
    lacking.NoStorage: "answers about pods with volumes cannot be trusted",
    lacking.NoDevices: "answers about pods that claim devices cannot be trusted",
    lacking.NoAdmission: "whether the cluster would change or refuse new objects is unknown",
    lacking.NoAutoscalers: "no replicas and no nodes are added or removed by autoscalers",
    lacking.NoEvents: "when the scheduler last tried a pending pod, and how often, is unknown or incomplete",
    lacking.NoGroups: "pods are known to be of a group only where they say so themselves",
}


def sentence(caveat: lacking.LackingCaveat) -> str:
    """What is left out, or was assumed."""
    match caveat:
        case (
            lacking.NoPods()
            | lacking.NoBudgets()
            | lacking.OwnersInferred()
            | lacking.NoPriorityClasses()
            | lacking.NoNamespaces()
            | lacking.NoServices()
            | lacking.NoWorkloads()
            | lacking.NoLimits()
            | lacking.NoStorage()
            | lacking.NoDevices()
            | lacking.NoAdmission()
            | lacking.NoAutoscalers()
            | lacking.NoEvents()
            | lacking.NoGroups()
        ):
            if not caveat.reason:
                return absent([caveat])
            return f"{caveat.reason} {by_group(caveat.kinds)}: {_CONSEQUENCES[type(caveat)]}"
        case lacking.NodesNotInInput(nodes=nodes, count=count):
            on = f"{'is' if count == 1 else 'are'} on {plural(len(nodes), 'node')} that the input lacks ({some(nodes)})"
            return f"{plural(count, 'pod')} {on}: taken to stay there"
        case lacking.NoNodes():
            return "the input holds no Node: kube-scheduler finds no nodes available to schedule pods"
        case lacking.DanglingReference(kind=kind, example=example, count=count, user=user):
            what = f"{kind} {example}" if count == 1 else f"{count} objects of kind {kind}, such as {example}"
            return f"missing: {what} (used by {user}): {_DANGLING.get(kind, _NOT_SPREAD)}"
        case lacking.UnknownPriorityClass(name=name, pods=pods):
            others = f" and {len(pods) - 1} more" if len(pods) > 1 else ""
            return f"PriorityClass {name} is not in the input: pod {pods[0]}{others} that name it count as priority 0"
        case lacking.NoImages():
            return (
                "the snapshot holds no images: ImageLocality scores every node 0, so another node may be taken, and"
                " RemoveDuplicates takes all pods of one owner for duplicates"
            )
    assert_never(caveat)


def absent(caveats: Sequence[lacking.Lacking]) -> str:
    """Kinds that the dump has none of, all in one sentence, with the command that would fetch them."""
    found = dict.fromkeys(kind for caveat in caveats for kind in caveat.kinds)
    kinds = [f"{kind}es" if kind.endswith("s") else f"{kind}s" for kind in found]
    why = "; ".join(dict.fromkeys(_CONSEQUENCES[type(caveat)] for caveat in caveats))
    return f"the dump has no {listed(kinds)}: {why} (as another --from: {_fetching(found)})"


def _fetching(kinds: Iterable[str]) -> str:
    """The command that prints the lists.

    A list that is asked for by its path says its kind, also where it is empty. The one that `kubectl get` makes of
    objects does not.
    """
    paths = [BY_KIND[kind].path for kind in kinds]
    if len(paths) == 1:
        return f"kubectl get --raw {paths[0]}"
    return f"for l in {' '.join(paths)}; do kubectl get --raw $l; done"
