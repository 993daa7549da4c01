"""Pod Security: the levels that a namespace's labels set, and whether a pod meets them.

Follows `k8s.io/pod-security-admission` (`api/helpers.go`, `policy/registry.go`, `admission/admission.go`). The API
server's AdmissionConfiguration (other defaults and exemptions) is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from kwhatif.admission import pod_security_checks as checks
from kwhatif.admission.outcome import Denied, PodSecurityViolated, forbidden
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod

Level = Literal["privileged", "baseline", "restricted"]
Check = Callable[[Pod], str]

_PREFIX = "pod-security.kubernetes.io/"
_STRICTNESS: Mapping[str, int] = {"privileged": 0, "baseline": 1, "restricted": 2}
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]{0,17})", re.ASCII)
#: A label that every node of an OpenShift cluster has.
_OPENSHIFT = "node.openshift.io/os_id"


class Standard(NamedTuple):
    """A level, and the minor version whose checks apply; None: the API server's own version."""

    level: Level = "privileged"
    minor: int | None = None

    @property
    def text(self) -> str:
        """`restricted:latest`, `baseline:v1.30`."""
        return f"{self.level}:{'latest' if self.minor is None else f'v1.{self.minor}'}"


class Standards(NamedTuple):
    """The standards that a namespace enforces, and that it warns about."""

    enforce: Standard
    warn: Standard


def standards_of(labels: Mapping[str, str]) -> Standards:
    """The standards that the labels set (`PolicyToEvaluate`); enforcing an invalid level means the strictest one."""
    enforced, warned = labels.get(f"{_PREFIX}enforce"), labels.get(f"{_PREFIX}warn")
    enforce = Standard(_level(enforced, "restricted"), _minor(labels.get(f"{_PREFIX}enforce-version")))
    warn = Standard(_level(warned, "privileged"), _minor(labels.get(f"{_PREFIX}warn-version")))
    if warned is None and enforced in _STRICTNESS and _STRICTNESS[enforce.level] > 0:
        version = enforce.minor if f"{_PREFIX}warn-version" not in labels else warn.minor
        warn = Standard(enforce.level, version)
    return Standards(enforce, warn)


def _level(text: str | None, otherwise: Level) -> Level:
    match text:
        case None:
            return "privileged"
        case "privileged" | "baseline" | "restricted":
            return text
    return otherwise


def _minor(text: str | None) -> int | None:
    match = None if text is None else _VERSION.fullmatch(text)
    return None if match is None else int(match[1])


class _Versioned(NamedTuple):
    """A check since a minor version; `overrides`: the baseline check that it replaces."""

    since: int
    check: Check
    overrides: str = ""


#: By ID, in the order of their messages.
_BASELINE: Mapping[str, Sequence[_Versioned]] = {
    "appArmorProfile": [_Versioned(0, checks.app_armor)],
    "capabilities_baseline": [_Versioned(0, checks.default_capabilities)],
    "hostNamespaces": [_Versioned(0, checks.host_namespaces)],
    "hostPathVolumes": [_Versioned(0, checks.host_path_volumes)],
    "hostPorts": [_Versioned(0, checks.host_ports)],
    "hostProbesAndHostLifecycle": [_Versioned(34, checks.hosts_of_probes)],
    "privileged": [_Versioned(0, checks.privileged)],
    "procMount": [_Versioned(0, checks.proc_mount), _Versioned(35, checks.unless_user_namespace(checks.proc_mount))],
    "seLinuxOptions": [
        _Versioned(0, checks.se_linux_options("container_t", "container_init_t", "container_kvm_t")),
        _Versioned(
            31, checks.se_linux_options("container_t", "container_init_t", "container_kvm_t", "container_engine_t")
        ),
    ],
    "seccompProfile_baseline": [_Versioned(0, checks.seccomp_annotations), _Versioned(19, checks.seccomp)],
    "sysctls": [_Versioned(since, checks.sysctls(names)) for since, names in checks.SYSCTLS.items()],
    "windowsHostProcess": [_Versioned(0, checks.host_process)],
}
_RESTRICTED: Mapping[str, Sequence[_Versioned]] = {
    "allowPrivilegeEscalation": [
        _Versioned(8, checks.privilege_escalation),
        _Versioned(25, checks.unless_windows(checks.privilege_escalation)),
    ],
    "capabilities_restricted": [
        _Versioned(22, checks.few_capabilities, "capabilities_baseline"),
        _Versioned(25, checks.unless_windows(checks.few_capabilities), "capabilities_baseline"),
    ],
    "procMount_restricted": [_Versioned(35, checks.proc_mount, "procMount")],
    "restrictedVolumes": [_Versioned(0, checks.volume_types, "hostPathVolumes")],
    "runAsNonRoot": [_Versioned(0, checks.non_root), _Versioned(35, checks.unless_user_namespace(checks.non_root))],
    "runAsUser": [_Versioned(23, checks.root_user), _Versioned(35, checks.unless_user_namespace(checks.root_user))],
    "seccompProfile_restricted": [
        _Versioned(19, checks.seccomp_is_set, "seccompProfile_baseline"),
        _Versioned(25, checks.unless_windows(checks.seccomp_is_set), "seccompProfile_baseline"),
    ],
}
_NEWEST = max(each.since for table in (_BASELINE, _RESTRICTED) for versions in table.values() for each in versions)


@lru_cache(maxsize=256)
def _checks(level: Level, minor: int) -> tuple[Check, ...]:
    """The checks of a level in a version; the baseline checks come first."""
    baseline = dict(_in_version(_BASELINE, minor))
    if level == "baseline":
        return tuple(each.check for each in baseline.values())
    restricted = dict(_in_version(_RESTRICTED, minor))
    overridden = {each.overrides for each in restricted.values()}
    kept = [each.check for name, each in baseline.items() if name not in overridden]
    return (*kept, *(each.check for each in restricted.values()))


def _in_version(table: Mapping[str, Sequence[_Versioned]], minor: int) -> list[tuple[str, _Versioned]]:
    found = ((name, [each for each in versions if each.since <= minor]) for name, versions in table.items())
    return [(name, versions[-1]) for name, versions in found if versions]


def violations(pod: Pod, standard: Standard, minor: int) -> str:
    """The API server's message about violations of the standard; "" if there are none. `minor`: of the API server."""
    if standard.level == "privileged":
        return ""
    newest = min(minor, _NEWEST)
    version = newest if standard.minor is None else min(standard.minor, newest)
    return ", ".join(filter(None, (check(pod) for check in _checks(standard.level, version))))


def check_pod_security(pod: Pod, cluster: Cluster) -> Denied | None:
    """The rejection of a new pod by the standard that its namespace enforces; None if allowed, or not known."""
    standard = enforced(pod.metadata.namespace, cluster)
    if standard.level == "privileged" or fills_in_contexts(cluster):
        return None
    found = violations(pod, standard, cluster.facts.minor)
    if not found:
        return None
    return forbidden(pod, f'violates PodSecurity "{standard.text}": {found}', PodSecurityViolated(standard.text))


def fills_in_contexts(cluster: Cluster) -> bool:
    """Whether the API server adds security contexts to pods, as OpenShift's does.

    Its plugin SecurityContextConstraint comes before Pod Security, and is not modelled.
    """
    return cluster.derived(_is_openshift, Node)


def _is_openshift(cluster: Cluster) -> bool:
    return any(_OPENSHIFT in node.metadata.labels for node in cluster.all(Node).values())


def enforced(namespace: str, cluster: Cluster) -> Standard:
    """The standard that a namespace enforces."""
    return standards_of(cluster.namespace_labels(namespace)).enforce
