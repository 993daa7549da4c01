"""Caveats about the input in words: missing kinds, what was read differently, unjudged parts of manifests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, assert_never

from kwhatif.kube.model.caveat import manifests, reading
from kwhatif.render.amounts import duration, listed, plural, some
from kwhatif.sources.decoding.kinds import BY_KIND, by_group
from kwhatif.sources.decoding.workload_kinds import built_in
from kwhatif.sources.text.problems import BUILD

# --- missing kinds ---------------------------------------------------------------------------------------------------


_DANGLING = {
    "Node": "its pods count nowhere",
    "Namespace": "namespace selectors see no label of it but its name",
    "PersistentVolume": "pods that use the claim cannot be judged",
    "StorageClass": "pods that use the claim cannot be judged",
    "PersistentVolumeClaim": "pods that use it cannot be judged",
    "ResourceClaim": "pods that use it cannot be judged",
}

_NOT_SPREAD = "its pods are not spread by default"


class _Lack(NamedTuple):
    """Texts for missing kinds: their name, that they are not known, and what cannot be trusted."""

    name: str
    short: str
    consequence: str


_LACKS: Mapping[type[reading.Lacking], _Lack] = {
    reading.NoPods: _Lack("pods", "no pod is known, so every node counts as empty", "every node counts as empty"),
    reading.NoBudgets: _Lack(
        "budgets",
        "no budget is known",
        "budgets count as if there were none, so whether an eviction violates one is unknown, and with it whom the"
        " scheduler would rather spare",
    ),
    reading.OwnersInferred: _Lack(
        "owners", "owners are inferred from pods", "owners are inferred from pods, with as many replicas as pods"
    ),
    reading.NoPriorityClasses: _Lack(
        "priority classes",
        "no priority class is known",
        "the priority of a new pod that names a class, or none, is unknown",
    ),
    reading.NoNamespaces: _Lack(
        "namespaces", "no namespace is known", "namespace selectors see no label of a namespace but its name"
    ),
    reading.NoServices: _Lack(
        "services",
        "no service is known",
        ("pods of one service or controller are not spread by default, so a node that scores lower may be taken"),
    ),
    reading.NoWorkloads: _Lack(
        "workloads",
        "which workloads run is not known",
        "which pods a workload has already is unknown, so a changed one counts as new",
    ),
    reading.NoLimits: _Lack(
        "limits and quotas",
        "limits and quotas are not known",
        "what limits would add to new pods, or quotas refuse, is unknown",
    ),
    reading.NoStorage: _Lack("volumes", "volumes are not known", "answers about pods with volumes cannot be trusted"),
    reading.NoDevices: _Lack(
        "devices", "devices are not known", "answers about pods that claim devices cannot be trusted"
    ),
    reading.NoAdmission: _Lack(
        "webhooks, policies and service accounts",
        "what refuses new objects is not known",
        "whether the cluster would change or refuse new objects is unknown",
    ),
    reading.NoAutoscalers: _Lack(
        "autoscalers", "autoscalers are not known", "no replicas and no nodes are added or removed by autoscalers"
    ),
    reading.NoEvents: _Lack(
        "events",
        "events are not known",
        "when the scheduler last tried a pending pod, and how often, is unknown or incomplete",
    ),
    reading.NoGroups: _Lack(
        "groups of pods",
        "groups of pods are not known",
        "pods are known to be of a group only where they say so themselves",
    ),
    reading.NoCustomResources: _Lack(
        "custom resources", "custom resources are not known", "they are made up of the pods that they control"
    ),
}


def of_lacking(caveat: reading.LackingCaveat) -> tuple[str, str]:
    """What is left out, or was assumed: in a few words, and in a sentence."""
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
            lack = _LACKS[type(caveat)]
            return lack.short, f"{caveat.reason} {by_group(caveat.kinds)}: {lack.consequence}"
        case reading.NodesNotInInput(nodes=nodes, count=count):
            on = f"{'is' if count == 1 else 'are'} on {plural(len(nodes), 'node')} that the input lacks ({some(nodes)})"
            return "pods are on nodes that are not known", f"{plural(count, 'pod')} {on}: taken to stay there"
        case reading.NoNodes():
            return (
                "no node is known",
                "the input holds no Node: kube-scheduler finds no nodes available to schedule pods",
            )
        case reading.DanglingReference(kind=kind, example=example, count=count, user=user):
            what = f"{kind} {example}" if count == 1 else f"{count} objects of kind {kind}, such as {example}"
            return (
                "something that is referred to is not there",
                f"missing: {what} (used by {user}): {_DANGLING.get(kind, _NOT_SPREAD)}",
            )
        case reading.UnknownPriorityClass(name=name, pods=pods):
            others = f" and {len(pods) - 1} more" if len(pods) > 1 else ""
            return (
                f"priority class {name} is not known",
                f"PriorityClass {name} is not in the input: pod {pods[0]}{others} that name it count as priority 0",
            )
        case reading.NoImages():
            return "images are not known", (
                "the snapshot holds no images: ImageLocality scores every node 0, so another node may be taken, and"
                " RemoveDuplicates takes all pods of one owner for duplicates"
            )
    assert_never(caveat)


def absent(caveats: Sequence[reading.Lacking]) -> tuple[str, str]:
    """Kinds that the dump lacks, all in one clause; and in one sentence, with the command that fetches them."""
    lacks = [_LACKS[type(caveat)] for caveat in caveats]
    short = lacks[0].short if len(lacks) == 1 else f"{listed([lack.name for lack in lacks])} are not known"
    found = dict.fromkeys(kind for caveat in caveats for kind in caveat.kinds)
    kinds = [f"{kind}es" if kind.endswith("s") else f"{kind}s" for kind in found]
    why = "; ".join(dict.fromkeys(lack.consequence for lack in lacks))
    return short, f"the dump has no {listed(kinds)}: {why} (as another --from: {_fetching(found)})"


def _fetching(kinds: Iterable[str]) -> str:
    """The command that prints the lists.

    A list that was fetched by its path has its kind, even if it is empty. A list that `kubectl get` builds from objects
    has no kind.
    """
    paths = [BY_KIND[kind].path for kind in kinds]
    if len(paths) == 1:
        return f"kubectl get --raw {paths[0]}"
    return f"for l in {' '.join(paths)}; do kubectl get --raw $l; done"


def of_reading(caveat: reading.ReadingCaveat) -> tuple[str, str]:  # noqa: C901, PLR0911, PLR0912 - one arm per kind of caveat, nothing else
    """What is left out, or was assumed: in a few words, and in a sentence."""
    match caveat:
        case reading.VersionNotRead(kind=kind, count=count):
            return (
                "some objects are of a version that is not read",
                f"{kind} left out, {plural(count, 'object')}: this version is not read",
            )
        case reading.SomeNamespaces():
            return "only some namespaces are known", _some_namespaces(caveat)
        case reading.SomeObjects(dump=dump, resources=resources, chosen=chosen):
            return (
                "only some pods are known",
                f"{dump} holds only some {listed(resources)}, those {chosen}: the others count nowhere",
            )
        case reading.ObjectsTwice(dump=dump, count=count, example=example):
            return "some objects are there twice", (
                f"{dump} that holds {count} objects more than once, with different contents, such as {example}: the"
                " first of each counts"
            )
        case reading.CollectionFailed(resources=resources):
            return f"some {resources} are not known", _collection(caveat)
        case reading.SchedulerConfigLeftOut():
            return "the scheduler's configuration is not applied", (
                "the scheduler configuration in a kube-scheduler-simulator export is not applied: give it as"
                " --scheduler-config"
            )
        case reading.RecordedChanges(count=count):
            return (
                "recorded changes are not applied",
                f"a kwokctl export with {count} recorded changes: the cluster is as it was before the first one",
            )
        case reading.NoDates():
            return "the input has no times", (
                "a kwokctl export has no dates: ages are wrong, as if it had been taken on 1 January 2000; which pod"
                " is the older one is right"
            )
        case reading.TwoMoments(resources=resources):
            return (
                "the dump was taken at two moments",
                f"the list of {resources} took longer than the server keeps a state: it is as of two moments",
            )
        case reading.Remembered(text=text):
            return "some answers of the API server are remembered ones", text
        case reading.StaleSnapshot(taken_at=taken_at, age=age):
            return (
                f"the cluster is as of {duration(age)} ago",
                f"the cluster is as it was {duration(age)} ago, at {taken_at}: what has changed since is not known",
            )
        case reading.UndatedSnapshot():
            return (
                "the age of the dump is not known",
                "when the dump was taken is not known, so it may be older than the policy allows",
            )
        case reading.VersionNotDefault(kind=kind, version=version, count=count):
            return (
                "a version is read that is not the default one",
                f"{kind} in {version}, {plural(count, 'object')}: served only by clusters that turn this version on",
            )
        case reading.ScheduledMeanwhile(pods=pods):
            were = "was" if len(pods) == 1 else "were"
            return (
                "pods were scheduled while the dump was taken",
                f"Events show that {some(pods)} {were} given a node after pods were listed: taken as pending",
            )
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


# --- manifests -------------------------------------------------------------------------------------------------------


#: How many custom kinds a sentence names.
_MOST_KINDS = 5
NOTHING_JUDGED = "nothing was judged: the manifests hold no pod, and nothing that makes pods"


def of_manifests(caveat: manifests.ManifestsCaveat) -> tuple[str, str]:  # noqa: C901, PLR0911, PLR0912 - one arm per kind of caveat, nothing else
    """What is left out, or was assumed: in a few words, and in a sentence."""
    match caveat:
        case manifests.NothingJudged():
            return "nothing was judged", NOTHING_JUDGED
        case manifests.NotBuilt(file=file):
            return f"{file} is not built", f"{file} is not built, so what it would change is not judged: {BUILD}"
        case manifests.UnjudgedKind(kind=kind, objects=objects):
            hold = "holds a pod template that was" if len(objects) == 1 else "hold pod templates that were"
            return (
                f"{some(objects, 1)} {'is' if len(objects) == 1 else 'are'} not judged",
                f"{some(objects)} {hold} not judged: give --pod-template-path {kind}=.spec.template",
            )
        case manifests.PodSecurityNotChecked(namespaces=namespaces):
            levels = some([f"{name} ({level})" for name, level in namespaces])
            standard = f"the Pod Security Standard of namespace{'s' if len(namespaces) > 1 else ''} {levels}"
            return (
                f"Pod Security of {some([name for name, _ in namespaces])} is not checked",
                f"{standard} is not checked, as OpenShift fills in security contexts: the API server may refuse pods",
            )
        case manifests.PodSecurityWarns(objects=objects, standard=standard, violation=violation):
            return (
                f"the API server warns of {some(objects, 1)}",
                f'the API server warns of {some(objects)}: would violate PodSecurity "{standard}": {violation}',
            )
        case manifests.ServiceAccountsNotChecked(names=names):
            accounts = "ServiceAccount" if len(names) == 1 else f"{len(names)} ServiceAccounts"
            return (
                "ServiceAccounts are not checked",
                f"whether there is {accounts} {some(names)} is not checked: without it the pods are refused",
            )
        case manifests.MissingServiceAccounts(names=names):
            which = "ServiceAccount" if len(names) == 1 else "ServiceAccounts"
            return f"ServiceAccount {some(names, 1)} is missing", (
                f"the dump has no {which} {some(names)}, but others of that namespace: the API server refuses the pods"
            )
        case manifests.AdmissionNotAsked():
            return "admission webhooks are not asked", _not_asked(caveat)
        case manifests.UnknownQuotaScope(quota=quota, scope=scope):
            return (
                f"quota {quota} has a scope that is not known",
                f"ResourceQuota {quota} has scope {scope}, which is not known: the quota counts for no pod",
            )
        case manifests.FieldIgnored(where=where, problem=problem, hint=hint):
            return "a field is ignored", f"{where}: {problem}" + (f" ({hint})" if hint else "")
        case manifests.CustomKind(kinds=kinds):
            return "custom kinds are not judged", _custom_kinds(kinds)
        case manifests.CustomKindPlayed():
            return "custom kinds are judged as Kubernetes' own", _played(caveat)
        case manifests.HelmHooks():
            return "Helm hooks are not judged as the rest is", _helm_hooks(caveat)
    assert_never(caveat)


def _played(caveat: manifests.CustomKindPlayed) -> str:
    are = "is" if len(caveat.objects) == 1 else "are"
    note = next((entry.note for entry in built_in().of(caveat.group, caveat.kind) if entry.note), "")
    article = "a Job" if caveat.like == "Job" else f"a {caveat.like}"
    made_up = ""
    if caveat.inferred:
        made_up = f"; the input lacks {some(caveat.inferred)}, made up of pods with as many replicas"
    return f"{some(caveat.objects)} {are} judged as {article}: {note or 'so the file of workload kinds says'}{made_up}"


def _not_asked(caveat: manifests.AdmissionNotAsked) -> str:
    if caveat.kinds:
        have = [plural(count, kind, f"{kind[:-1]}ies" if kind[-1] == "y" else "") for kind, count in caveat.kinds]
        return f"the cluster has {listed(have)}, which are not asked: they may change pods, or refuse them"
    are, they = ("is", "it") if len(caveat.asked) == 1 else ("are", "they")
    unsure = ""
    if caveat.unsure:
        unsure = f" (whether the matchConditions of {some(caveat.unsure)} hold is not known)"
    return (
        f"{some(caveat.asked)} {are} not asked about {some(caveat.objects)}{unsure}: {they} may change what is created,"
        " or refuse it"
    )


def _custom_kinds(kinds: Sequence[tuple[str, int]]) -> str:
    """One sentence about all of them; if there are many, their names are only in the data."""
    if len(kinds) == 1:
        ((kind, count),) = kinds
        return (
            f"{kind}, {plural(count, 'object')}, is not judged: it is a custom kind, and whether pods are made of it"
            " only its own controller knows"
        )
    objects = plural(sum(count for _, count in kinds), "object")
    named = some([f"{kind} ({count:,})" for kind, count in kinds], _MOST_KINDS)
    more = "; -o json names all" if len(kinds) > _MOST_KINDS + 1 else ""
    return (
        f"{objects} of {len(kinds)} custom kinds are not judged: {named}{more}; whether pods are made of them only"
        " their own controllers know"
    )


def _helm_hooks(caveat: manifests.HelmHooks) -> str:
    parts = []
    if caveat.before:
        runs, is_gone = ("runs", "is") if len(caveat.before) == 1 else ("run", "are")
        parts.append(f"{some(caveat.before)} {runs} before the rest, and {is_gone} gone then")
    if caveat.after:
        parts.append(f"{some(caveat.after)} {'runs' if len(caveat.after) == 1 else 'run'} after the rest")
    if caveat.left_out:
        named = some([f"{name} ({hooks})" for name, hooks in caveat.left_out])
        are, them = ("is", "it") if len(caveat.left_out) == 1 else ("are", "them")
        parts.append(f"{named} {are} left out, as no install or upgrade creates {them}")
    return f"Helm hooks: {'; '.join(parts)}"
