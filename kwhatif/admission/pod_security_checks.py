"""The checks of the Pod Security Standards (`k8s.io/pod-security-admission/policy/check_*.go`), with their messages.

A check returns "" for a pod that it allows, otherwise what is forbidden, with details in brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from kwhatif.kube.matching.field_errors import quoted
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import (
    Container,
    LifecycleHandler,
    PodSecurityContext,
    Probe,
    SecurityContext,
    SecurityProfile,
)
from kwhatif.kube.model.storage import Volume

#: The parts of a message that name the pod or the containers that set a value.
_POD = "pod"


def containers_of(pod: Pod) -> tuple[Container, ...]:
    """Init containers first (`visitContainers`). Ephemeral containers are added later, by a separate request."""
    return (*pod.spec.init_containers, *pod.spec.containers)


def _names(pod: Pod, is_bad: Callable[[Container], bool]) -> list[str]:
    return [each.name for each in containers_of(pod) if is_bad(each)]


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def _listed(noun: str, names: Collection[str]) -> str:
    """`container "a"`, `containers "a", "b"`."""
    return f"{noun if len(names) == 1 else noun + 's'} {_quoted(names)}"


def _setters(*, pod: bool, containers: Sequence[str]) -> str:
    """`pod and containers "a", "b"`."""
    parts = [_POD] if pod else []
    return " and ".join([*parts, _listed("container", containers)] if containers else parts)


# --- baseline ----------------------------------------------------------------------------------------


def app_armor(pod: Pod) -> str:
    """Profiles other than the runtime's default or a local one; also in the old annotations."""

    def is_bad(profile: SecurityProfile | None) -> bool:
        return profile is not None and profile.type not in ("RuntimeDefault", "Localhost")

    own = pod.spec.security_context.app_armor_profile
    bad = [each for each in containers_of(pod) if is_bad(each.security_context.app_armor_profile)]
    values = {own.type} if own is not None and is_bad(own) else set[str]()
    values |= {profile.type for each in bad if (profile := each.security_context.app_armor_profile) is not None}
    noted = sorted(
        f"{key}={quoted(value)}"
        for key, value in pod.metadata.annotations.profiles.items()
        if key.startswith(APP_ARMOR) and not _is_allowed_note(value)
    )
    setters = _setters(pod=is_bad(own), containers=[each.name for each in bad])
    if noted:
        setters = " and ".join(filter(None, (setters, "annotation" if len(noted) == 1 else "annotations")))
    if not setters:
        return ""
    listed = [*sorted(values), *noted]
    profiles = "forbidden AppArmor profile" if len(listed) == 1 else "forbidden AppArmor profiles"
    return f"{profiles} ({setters} must not set AppArmor profile type to {_quoted(listed)})"


APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
#: Prefixes of the annotations that name profiles.
PROFILES = (APP_ARMOR, SECCOMP_POD, SECCOMP_CONTAINER)


def _is_allowed_note(profile: str) -> bool:
    return profile in ("", "runtime/default") or profile.startswith("localhost/")


_DEFAULT_CAPABILITIES = frozenset(
    (
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    )
)


def _added(container: Container) -> tuple[str, ...]:
    capabilities = container.security_context.capabilities
    return () if capabilities is None else capabilities.add


def _adding(pod: Pod, allowed: Collection[str]) -> str:
    """The containers that add other capabilities, and which ones."""
    bad = _names(pod, lambda each: any(name not in allowed for name in _added(each)))
    others = sorted({name for each in containers_of(pod) for name in _added(each) if name not in allowed})
    if not bad:
        return ""
    return f"{_listed('container', bad)} must not include {_quoted(others)} in securityContext.capabilities.add"


def default_capabilities(pod: Pod) -> str:
    """Capabilities beyond the default ones."""
    found = _adding(pod, _DEFAULT_CAPABILITIES)
    return f"non-default capabilities ({found})" if found else ""


def host_namespaces(pod: Pod) -> str:
    """Use of the node's network, PID and IPC namespaces."""
    spec = pod.spec
    named = (("hostNetwork", spec.host_network), ("hostPID", spec.host_pid), ("hostIPC", spec.host_ipc))
    found = [f"{name}=true" for name, is_set in named if is_set]
    return f"host namespaces ({', '.join(found)})" if found else ""


def host_path_volumes(pod: Pod) -> str:
    """Directories of the node."""
    found = [volume.name for volume in pod.spec.volumes if volume.host_path is not None]
    return f"hostPath volumes ({_listed('volume', found)})" if found else ""


def host_ports(pod: Pod) -> str:
    """Host ports."""
    bad = _names(pod, lambda each: any(port.host_port for port in each.ports))
    ports = sorted({str(port.host_port) for each in containers_of(pod) for port in each.ports if port.host_port})
    if not bad:
        return ""
    uses = f"{'uses' if len(bad) == 1 else 'use'} {'hostPort' if len(ports) == 1 else 'hostPorts'}"
    return f"hostPort ({_listed('container', bad)} {uses} {', '.join(ports)})"


def hosts_of_probes(pod: Pod) -> str:
    """Probes and lifecycle handlers that name a host."""
    hosts = {each.name: set(_hosts(each)) for each in containers_of(pod)}
    bad = sorted(name for name, found in hosts.items() if found)
    named = sorted({host for found in hosts.values() for host in found})
    if not bad:
        return ""
    uses = f"{'uses' if len(bad) == 1 else 'use'} probe or lifecycle host{'s' if len(named) > 1 else ''}"
    return f"probe or lifecycle host ({_listed('container', bad)} {uses} {_quoted(named)})"


def _hosts(container: Container) -> Iterator[str]:
    lifecycle = container.lifecycle
    handlers: tuple[Probe | LifecycleHandler | None, ...] = (
        container.liveness_probe,
        container.readiness_probe,
        container.startup_probe,
        *((lifecycle.post_start, lifecycle.pre_stop) if lifecycle else ()),
    )
    for handler in handlers:
        for action in (handler.http_get, handler.tcp_socket) if handler else ():
            if action is not None and action.host:
                yield action.host


def privileged(pod: Pod) -> str:
    """Privileged containers."""
    bad = _names(pod, lambda each: each.security_context.privileged is True)
    return f"privileged ({_listed('container', bad)} must not set securityContext.privileged=true)" if bad else ""


def proc_mount(pod: Pod) -> str:
    """An unmasked /proc."""
    found = {each.name: each.security_context.proc_mount for each in containers_of(pod)}
    bad = _names(pod, lambda each: each.security_context.proc_mount not in ("", "Default"))
    if not bad:
        return ""
    types = _quoted(sorted({found[name] for name in bad}))
    return f"procMount ({_listed('container', bad)} must not set securityContext.procMount to {types})"


def se_linux_options(*types: str) -> Callable[[Pod], str]:
    """A user or role, or a type other than `types`."""
    allowed = ("", *types)

    def check(pod: Pod) -> str:
        own = pod.spec.security_context.se_linux_options
        found = [(_POD, own), *((each.name, each.security_context.se_linux_options) for each in containers_of(pod))]
        bad = [
            (index, options)
            for index, (_, options) in enumerate(found)
            if options is not None and (options.type not in allowed or options.user or options.role)
        ]
        if not bad:
            return ""
        wrong = sorted({options.type for _, options in bad if options.type not in allowed})
        parts = [_listed("type", wrong)] if wrong else []
        parts += ["user may not be set"] if any(options.user for _, options in bad) else []
        parts += ["role may not be set"] if any(options.role for _, options in bad) else []
        names = [found[index][0] for index, _ in bad if index]
        setters = _setters(pod=bad[0][0] == 0, containers=names)
        return f"seLinuxOptions ({setters} set forbidden securityContext.seLinuxOptions: {'; '.join(parts)})"

    return check


def seccomp_annotations(pod: Pod) -> str:
    """Seccomp profiles in annotations, which were used before seccomp had fields."""
    notes = pod.metadata.annotations.profiles
    keys = [SECCOMP_POD, *(f"{SECCOMP_CONTAINER}{each.name}" for each in containers_of(pod))]
    found = sorted({f"{key}={quoted(notes[key])}" for key in keys if key in notes and not _is_seccomp_note(notes[key])})
    if not found:
        return ""
    return f"seccompProfile (forbidden {'annotation' if len(found) == 1 else 'annotations'} {', '.join(found)})"


def _is_seccomp_note(profile: str) -> bool:
    return profile in ("runtime/default", "docker/default") or profile.startswith("localhost/")


def _is_seccomp(profile: SecurityProfile) -> bool:
    return profile.type in ("Localhost", "RuntimeDefault")


def seccomp(pod: Pod) -> str:
    """Profiles other than the runtime's default or a local one."""
    own = pod.spec.security_context.seccomp_profile
    profiles = {each.name: each.security_context.seccomp_profile for each in containers_of(pod)}
    bad = {name: profile for name, profile in profiles.items() if profile is not None and not _is_seccomp(profile)}
    is_own_bad = own is not None and not _is_seccomp(own)
    if not (bad or is_own_bad):
        return ""
    values = {profile.type for profile in bad.values()} | ({own.type} if own is not None and is_own_bad else set())
    setters = _setters(pod=is_own_bad, containers=list(bad))
    return f"seccompProfile ({setters} must not set securityContext.seccompProfile.type to {_quoted(sorted(values))})"


_SYSCTLS_1_0 = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
)
_SYSCTLS_1_27 = (*_SYSCTLS_1_0, "net.ipv4.ip_local_reserved_ports")
_SYSCTLS_1_29 = (
    *_SYSCTLS_1_27,
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
)
_SYSCTLS_1_32 = (*_SYSCTLS_1_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
#: Minor version -> the sysctls that are allowed since then.
SYSCTLS = {0: _SYSCTLS_1_0, 27: _SYSCTLS_1_27, 29: _SYSCTLS_1_29, 32: _SYSCTLS_1_32}


def sysctls(allowed: Collection[str]) -> Callable[[Pod], str]:
    """Kernel settings other than the allowed ones."""

    def check(pod: Pod) -> str:
        found = [each.name for each in pod.spec.security_context.sysctls if each.name not in allowed]
        return f"forbidden sysctls ({', '.join(found)})" if found else ""

    return check


def host_process(pod: Pod) -> str:
    """Windows host processes."""

    def is_bad(context: PodSecurityContext | SecurityContext) -> bool:
        return context.windows_options is not None and context.windows_options.host_process is True

    setters = _setters(
        pod=is_bad(pod.spec.security_context), containers=_names(pod, lambda each: is_bad(each.security_context))
    )
    return f"hostProcess ({setters} must not set securityContext.windowsOptions.hostProcess=true)" if setters else ""


# --- restricted --------------------------------------------------------------------------------------


def privilege_escalation(pod: Pod) -> str:
    """Containers that do not forbid privilege escalation."""
    bad = _names(pod, lambda each: each.security_context.allow_privilege_escalation is not False)
    if not bad:
        return ""
    detail = f"{_listed('container', bad)} must set securityContext.allowPrivilegeEscalation=false"
    return f"allowPrivilegeEscalation != false ({detail})"


def few_capabilities(pod: Pod) -> str:
    """Containers that do not drop all capabilities, or add any except NET_BIND_SERVICE."""

    def keeps(container: Container) -> bool:
        capabilities = container.security_context.capabilities
        return capabilities is None or "ALL" not in capabilities.drop

    bad = _names(pod, keeps)
    parts = [f'{_listed("container", bad)} must set securityContext.capabilities.drop=["ALL"]'] if bad else []
    details = "; ".join(filter(None, (*parts, _adding(pod, ("NET_BIND_SERVICE",)))))
    return f"unrestricted capabilities ({details})" if details else ""


#: Field of a volume -> the name of the type; the first one that is set counts.
_RESTRICTED = {
    "host_path": "hostPath",
    "gce_persistent_disk": "gcePersistentDisk",
    "aws_elastic_block_store": "awsElasticBlockStore",
    "git_repo": "gitRepo",
    "nfs": "nfs",
    "iscsi": "iscsi",
    "glusterfs": "glusterfs",
    "rbd": "rbd",
    "flex_volume": "flexVolume",
    "cinder": "cinder",
    "cephfs": "cephfs",
    "flocker": "flocker",
    "fc": "fc",
    "azure_file": "azureFile",
    "vsphere_volume": "vsphereVolume",
    "quobyte": "quobyte",
    "azure_disk": "azureDisk",
    "photon_persistent_disk": "photonPersistentDisk",
    "portworx_volume": "portworxVolume",
    "scale_io": "scaleIO",
    "storageos": "storageos",
}


def _restricted_type(volume: Volume) -> str:
    return next((name for field, name in _RESTRICTED.items() if getattr(volume, field) is not None), "")


def volume_types(pod: Pod) -> str:
    """Volumes of restricted types."""
    found = [(volume.name, _restricted_type(volume)) for volume in pod.spec.volumes]
    bad = [name for name, type_ in found if type_]
    if not bad:
        return ""
    types = sorted({type_ for _, type_ in found if type_})
    uses = f"{'uses' if len(bad) == 1 else 'use'} restricted volume type{'s' if len(types) > 1 else ''}"
    return f"restricted volume types ({_listed('volume', bad)} {uses} {_quoted(types)})"


def non_root(pod: Pod) -> str:
    """Containers that may run as root."""
    own = pod.spec.security_context.run_as_non_root
    explicit = _names(pod, lambda each: each.security_context.run_as_non_root is False)
    if setters := _setters(pod=own is False, containers=explicit):
        return f"runAsNonRoot != true ({setters} must not set securityContext.runAsNonRoot=false)"
    implicit = _names(pod, lambda each: each.security_context.run_as_non_root is None) if own is not True else []
    if not implicit:
        return ""
    return f"runAsNonRoot != true (pod or {_listed('container', implicit)} must set securityContext.runAsNonRoot=true)"


def root_user(pod: Pod) -> str:
    """Pods or containers with `runAsUser: 0`."""
    explicit = _names(pod, lambda each: each.security_context.run_as_user == 0)
    setters = _setters(pod=pod.spec.security_context.run_as_user == 0, containers=explicit)
    return f"runAsUser=0 ({setters} must not set runAsUser=0)" if setters else ""


def seccomp_is_set(pod: Pod) -> str:
    """Pods and containers without a seccomp profile."""
    forbidden = seccomp(pod)
    if forbidden or pod.spec.security_context.seccomp_profile is not None:
        return forbidden
    implicit = _names(pod, lambda each: each.security_context.seccomp_profile is None)
    if not implicit:
        return ""
    must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return f"seccompProfile (pod or {_listed('container', implicit)} {must})"


# --- exemptions --------------------------------------------------------------------------------------


def unless_windows(check: Callable[[Pod], str]) -> Callable[[Pod], str]:
    """Skip the check for Windows pods, for which validation does not allow such a field."""
    return lambda pod: "" if pod.spec.os is not None and pod.spec.os.name == "windows" else check(pod)


def unless_user_namespace(check: Callable[[Pod], str]) -> Callable[[Pod], str]:
    """Skip the check for pods in a user namespace (`hostUsers: false`)."""
    return lambda pod: "" if pod.spec.host_users is False else check(pod)
