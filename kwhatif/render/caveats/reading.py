"""Sentences for the caveats about the input: what it lacks, and what was read differently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from kwhatif.kube.model.caveat import reading
from kwhatif.sources.decoding.asked import by_group
from kwhatif.sources.decoding.kinds import BY_KIND
from kwhatif.words.amounts import duration, listed, plural, some

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
_CONSEQUENCES: Mapping[type[reading.Lacking], str] = {
    reading.NoPods: "every node counts as empty",
    reading.NoBudgets: (
        "budgets count as if there were none, so whether an eviction violates one is unknown, and with it whom the"
        " scheduler would rather spare"
    ),
    reading.OwnersInferred: "owners are inferred from pods, with as many replicas as pods",
    reading.NoPriorityClasses: "the priority of a new pod that names a class, or none, is unknown",
    reading.NoNamespaces: "namespace selectors see no label of a namespace but its name",
    reading.NoServices: (
        "pods of one service or controller are not spread by default, so a node that scores lower may be taken"
    ),
    reading.NoWorkloads: "which pods a workload has already is unknown, so a changed one counts as new",
    reading.NoLimits: "what limits would add to new pods, or quotas refuse, is unknown",
    reading.NoStorage: "answers about pods with volumes cannot be trusted",
    reading.NoDevices: "answers about pods that claim devices cannot be trusted",
    reading.NoAdmission: "whether the cluster would change or refuse new objects is unknown",
    reading.NoAutoscalers: "no replicas and no nodes are added or removed by autoscalers",
    reading.NoEvents: "when the scheduler last tried a pending pod, and how often, is unknown or incomplete",
    reading.NoGroups: "pods are known to be of a group only where they say so themselves",
    reading.NoCustomResources: "they are made up of the pods that they control",
}


def lacking_sentence(caveat: reading.LackingCaveat) -> str:
    """What is left out, or was assumed."""
    match caveat:
        case (
            reading.NoPods()
            | reading.NoBudgets()
            | reading.OwnersInferred()
            | reading.NoPriorityClasses()
            | reading.NoNamespaces()
            | reading.NoServices()
            | reading.NoWorkloads()
            | reading.NoLimits()
            | reading.NoStorage()
            | reading.NoDevices()
            | reading.NoAdmission()
            | reading.NoAutoscalers()
            | reading.NoEvents()
            | reading.NoGroups()
            | reading.NoCustomResources()
        ):
            if not caveat.reason:
                return absent([caveat])
            return f"{caveat.reason} {by_group(caveat.kinds)}: {_CONSEQUENCES[type(caveat)]}"
        case reading.NodesNotInInput(nodes=nodes, count=count):
            on = f"{'is' if count == 1 else 'are'} on {plural(len(nodes), 'node')} that the input lacks ({some(nodes)})"
            return f"{plural(count, 'pod')} {on}: taken to stay there"
        case reading.NoNodes():
            return "the input holds no Node: kube-scheduler finds no nodes available to schedule pods"
        case reading.DanglingReference(kind=kind, example=example, count=count, user=user):
            what = f"{kind} {example}" if count == 1 else f"{count} objects of kind {kind}, such as {example}"
            return f"missing: {what} (used by {user}): {_DANGLING.get(kind, _NOT_SPREAD)}"
        case reading.UnknownPriorityClass(name=name, pods=pods):
            others = f" and {len(pods) - 1} more" if len(pods) > 1 else ""
            return f"PriorityClass {name} is not in the input: pod {pods[0]}{others} that name it count as priority 0"
        case reading.NoImages():
            return (
                "the snapshot holds no images: ImageLocality scores every node 0, so another node may be taken, and"
                " RemoveDuplicates takes all pods of one owner for duplicates"
            )
    assert_never(caveat)


def absent(caveats: Sequence[reading.Lacking]) -> str:
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


def sentence(caveat: reading.ReadingCaveat) -> str:  # noqa: C901, PLR0911, PLR0912 - one arm per kind of caveat, nothing else
    """What is left out, or was assumed."""
    match caveat:
        case reading.VersionNotRead(kind=kind, count=count):
            return f"{kind} left out, {plural(count, 'object')}: this version is not read"
        case reading.SomeNamespaces():
            return _some_namespaces(caveat)
        case reading.SomeObjects(dump=dump, resources=resources, chosen=chosen):
            return f"{dump} holds only some {listed(resources)}, those {chosen}: the others count nowhere"
        case reading.ObjectsTwice(dump=dump, count=count, example=example):
            return (
                f"{dump} that holds {count} objects more than once, with different contents, such as {example}: the"
                " first of each counts"
            )
        case reading.CollectionFailed():
            return _collection(caveat)
        case reading.SchedulerConfigLeftOut():
            return (
                "the scheduler configuration in a kube-scheduler-simulator export is not applied: give it as"
                " --scheduler-config"
            )
        case reading.RecordedChanges(count=count):
            return f"a kwokctl export with {count} recorded changes: the cluster is as it was before the first one"
        case reading.NoDates():
            return (
                "a kwokctl export has no dates: ages are wrong, as if it had been taken on 1 January 2000; which pod"
                " is the older one is right"
            )
        case reading.TwoMoments(resources=resources):
            return f"the list of {resources} took longer than the server keeps a state: it is as of two moments"
        case reading.Remembered(text=text):
            return text
        case reading.StaleSnapshot(taken_at=taken_at, age=age):
            return f"the cluster is as it was {duration(age)} ago, at {taken_at}: what has changed since is not known"
        case reading.UndatedSnapshot():
            return "when the dump was taken is not known, so it may be older than the policy allows"
        case reading.VersionNotDefault(kind=kind, version=version, count=count):
            return f"{kind} in {version}, {plural(count, 'object')}: served only by clusters that turn this version on"
        case reading.ScheduledMeanwhile(pods=pods):
            were = "was" if len(pods) == 1 else "were"
            return f"Events show that {some(pods)} {were} given a node after pods were listed: taken as pending"
    assert_never(caveat)


def _some_namespaces(caveat: reading.SomeNamespaces) -> str:
    if not caveat.count:
        return f"{caveat.dump} that was asked for some namespaces only: pods of others count nowhere"
    unless = f", unless it was taken with {caveat.unless}" if caveat.unless else ""
    return (
        f"{caveat.dump} holds the namespaces that it was asked for, here {caveat.count}: pods of others count"
        f" nowhere{unless}"
    )


def _collection(caveat: reading.CollectionFailed) -> str:
    count, first = caveat.namespaces, caveat.example
    where = f" of namespace {first}" if count == 1 else f" of {count} namespaces, such as {first}" if count else ""
    return f"{caveat.dump} in which {caveat.resources}{where} are missing: {caveat.file} says why"
