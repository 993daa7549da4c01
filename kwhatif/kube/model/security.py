"""The fields of a pod that Pod Security checks: security contexts, and hosts of probes and lifecycle handlers."""

from __future__ import annotations

from kwhatif.kube.model.meta import Int64, Model


class Capabilities(Model):
    """`capabilities` of a container."""

    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class SecurityProfile(Model):
    """`seccompProfile` or `appArmorProfile`."""

    type: str = ""


class SELinuxOptions(Model):
    """`seLinuxOptions`."""

    user: str = ""
    role: str = ""
    type: str = ""


class WindowsOptions(Model):
    """`windowsOptions`."""

    host_process: bool | None = None


class Sysctl(Model):
    """`sysctls[]` of a pod."""

    name: str = ""


class _Context(Model):
    """The fields that pods and containers share."""

    run_as_non_root: bool | None = None
    run_as_user: Int64 | None = None
    seccomp_profile: SecurityProfile | None = None
    app_armor_profile: SecurityProfile | None = None
    se_linux_options: SELinuxOptions | None = None
    windows_options: WindowsOptions | None = None


class PodSecurityContext(_Context):
    """`securityContext` of a pod."""

    sysctls: tuple[Sysctl, ...] = ()


class SecurityContext(_Context):
    """`securityContext` of a container."""

    privileged: bool | None = None
    allow_privilege_escalation: bool | None = None
    capabilities: Capabilities | None = None
    proc_mount: str = ""


class HostAction(Model):
    """`httpGet` or `tcpSocket`."""

    host: str = ""


class LifecycleHandler(Model):
    """`postStart` or `preStop`."""

    http_get: HostAction | None = None
    tcp_socket: HostAction | None = None


class Lifecycle(Model):
    """`lifecycle` of a container."""

    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None


class PodOS(Model):
    """`os` of a pod."""

    name: str = ""
