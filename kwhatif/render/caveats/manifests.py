"""What of the manifests is not judged, in words."""

from __future__ import annotations

from typing import assert_never

from kwhatif.model.caveat import manifests
from kwhatif.sources.text.problems import BUILD
from kwhatif.words.amounts import listed, plural, some

NOTHING_JUDGED = "nothing was judged: the manifests hold no pod, and nothing that makes pods"


def sentence(caveat: manifests.ManifestsCaveat) -> str:  # noqa: C901 - one arm per kind of caveat, nothing else
    """What is left out, or was assumed."""
    match caveat:
        case manifests.NothingJudged():
            return NOTHING_JUDGED
        case manifests.NotBuilt(file=file):
            return f"{file} is not built, so what it would change is not judged: {BUILD}"
        case manifests.UnjudgedKind(object=name, kind=kind):
            return f"{name} holds a pod template that was not judged: give --pod-template-path {kind}=.spec.template"
        case manifests.PodSecurityNotChecked(namespaces=namespaces):
            levels = some([f"{name} ({level})" for name, level in namespaces])
            standard = f"the Pod Security Standard of namespace{'s' if len(namespaces) > 1 else ''} {levels}"
            return f"{standard} is not checked: the API server may refuse pods"
        case manifests.ServiceAccountsNotChecked(names=names):
            accounts = "ServiceAccount" if len(names) == 1 else f"{len(names)} ServiceAccounts"
            return f"whether there is {accounts} {some(names)} is not checked: without it the pods are refused"
        case manifests.MissingServiceAccounts(names=names):
            which = "ServiceAccount" if len(names) == 1 else "ServiceAccounts"
            return (
                f"the dump has no {which} {some(names)}, but others of that namespace: the API server refuses the pods"
            )
        case manifests.AdmissionNotAsked(kinds=kinds):
            have = [plural(count, kind, f"{kind[:-1]}ies" if kind[-1] == "y" else "") for kind, count in kinds]
            return f"the cluster has {listed(have)}, which are not asked: they may change pods, or refuse them"
        case manifests.UnknownQuotaScope(quota=quota, scope=scope):
            return f"ResourceQuota {quota} has scope {scope}, which is not known: the quota counts for no pod"
        case manifests.FieldIgnored(where=where, problem=problem, hint=hint):
            return f"{where}: {problem}" + (f" ({hint})" if hint else "")
        case manifests.CustomKind(kind=kind, version=version, count=count):
            return (
                f"{kind} in {version}, {plural(count, 'object')}, is not judged: it is a custom kind,"
                " whose fields, and whether pods are made of it, only its own controller knows"
            )
    assert_never(caveat)
