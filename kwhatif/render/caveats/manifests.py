"""Sentences for the caveats about manifests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from kwhatif.kube.model.caveat import manifests
from kwhatif.sources.decoding.workload_kinds import built_in
from kwhatif.sources.text.problems import BUILD
from kwhatif.words.amounts import listed, plural, some

#: How many custom kinds a sentence names.
_MOST_KINDS = 5
NOTHING_JUDGED = "nothing was judged: the manifests hold no pod, and nothing that makes pods"


def sentence(caveat: manifests.ManifestsCaveat) -> str:  # noqa: C901, PLR0911, PLR0912 - one arm per kind of caveat, nothing else
    """What is left out, or was assumed."""
    match caveat:
        case manifests.NothingJudged():
            return NOTHING_JUDGED
        case manifests.NotBuilt(file=file):
            return f"{file} is not built, so what it would change is not judged: {BUILD}"
        case manifests.UnjudgedKind(kind=kind, objects=objects):
            hold = "holds a pod template that was" if len(objects) == 1 else "hold pod templates that were"
            return f"{some(objects)} {hold} not judged: give --pod-template-path {kind}=.spec.template"
        case manifests.PodSecurityNotChecked(namespaces=namespaces):
            levels = some([f"{name} ({level})" for name, level in namespaces])
            standard = f"the Pod Security Standard of namespace{'s' if len(namespaces) > 1 else ''} {levels}"
            return f"{standard} is not checked, as OpenShift fills in security contexts: the API server may refuse pods"
        case manifests.PodSecurityWarns(objects=objects, standard=standard, violation=violation):
            return f'the API server warns of {some(objects)}: would violate PodSecurity "{standard}": {violation}'
        case manifests.ServiceAccountsNotChecked(names=names):
            accounts = "ServiceAccount" if len(names) == 1 else f"{len(names)} ServiceAccounts"
            return f"whether there is {accounts} {some(names)} is not checked: without it the pods are refused"
        case manifests.MissingServiceAccounts(names=names):
            which = "ServiceAccount" if len(names) == 1 else "ServiceAccounts"
            return (
                f"the dump has no {which} {some(names)}, but others of that namespace: the API server refuses the pods"
            )
        case manifests.AdmissionNotAsked():
            return _not_asked(caveat)
        case manifests.UnknownQuotaScope(quota=quota, scope=scope):
            return f"ResourceQuota {quota} has scope {scope}, which is not known: the quota counts for no pod"
        case manifests.FieldIgnored(where=where, problem=problem, hint=hint):
            return f"{where}: {problem}" + (f" ({hint})" if hint else "")
        case manifests.CustomKind(kinds=kinds):
            return _custom_kinds(kinds)
        case manifests.CustomKindPlayed():
            return _played(caveat)
        case manifests.HelmHooks():
            return _helm_hooks(caveat)
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
