"""One descheduling cycle (`descheduler/descheduler.go`, `framework/profile/profile.go`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.descheduler.attempt import DeschedulingCycle, ExtensionPoint, NodeClassRow, SparedRow, StrategyRow
from kwhatif.descheduler.build import RunnablePolicy, RunnableProfile
from kwhatif.descheduler.default_evictor import DefaultEvictor
from kwhatif.descheduler.handle import Handle, PodEvictor
from kwhatif.descheduler.plugins import PLUGINS
from kwhatif.descheduler.policy import DEFAULT_EVICTOR, DefaultEvictorArgs
from kwhatif.descheduler.sandbox import Sandbox
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.node import Node

#: With fewer nodes nothing is done: an evicted pod could not go to another node.
_FEWEST_NODES = 2


def run_cycle(policy: RunnablePolicy, sandbox: Sandbox) -> DeschedulingCycle:
    """Run all profiles' Deschedule plugins, in order, then the Balance plugins. This changes `sandbox`."""
    nodes = sandbox.ready_nodes(policy.node_selector)
    if len(nodes) < _FEWEST_NODES:
        return DeschedulingCycle(skipped="Skipping descheduling cycle: requires >=2 nodes")
    pod_evictor = PodEvictor(policy, sandbox)
    evictors = [_evictor(profile, sandbox) for profile in policy.profiles]
    spared = [
        row
        for profile, evictor in zip(policy.profiles, evictors, strict=True)
        for row in _spared(profile, evictor, nodes, sandbox)
    ]
    plugins: list[StrategyRow] = []
    classes: list[NodeClassRow] = []
    points: tuple[ExtensionPoint, ...] = ("Deschedule", "Balance")
    for point in points:
        for profile, evictor in zip(policy.profiles, evictors, strict=True):
            for name in profile.deschedule if point == "Deschedule" else profile.balance:
                handle = Handle(profile.name, name, nodes, evictor, pod_evictor)
                before = len(pod_evictor.attempts)
                error = PLUGINS[name](profile.args[name], handle)
                made = pod_evictor.attempts[before:]
                evicted = sum(1 for attempt in made if attempt.by is None)
                plugins.append(
                    StrategyRow(
                        profile.name, name, point, evicted, len(made) - evicted, error or None, tuple(handle.notes)
                    )
                )
                classes += handle.classes
    return DeschedulingCycle("", tuple(pod_evictor.attempts), tuple(plugins), tuple(classes), tuple(spared))


def _evictor(profile: RunnableProfile, sandbox: Sandbox) -> DefaultEvictor:
    args = profile.args[DEFAULT_EVICTOR]
    assert isinstance(args, DefaultEvictorArgs)
    return DefaultEvictor(args, sandbox)


def _spared(
    profile: RunnableProfile, evictor: DefaultEvictor, nodes: Sequence[Node], sandbox: Sandbox
) -> Iterator[SparedRow]:
    """The pods on these nodes that neither strategy of the profile can evict, as long as nothing changes."""
    for name in (node.metadata.name for node in nodes):
        for pod in sandbox.pods(name):
            found = evictor.objections(pod)
            if found is not None:
                yield SparedRow(profile.name, key_of(pod), name, "Filter", found)
            elif (late := evictor.late_objection(pod)) is not None:
                yield SparedRow(profile.name, key_of(pod), name, "PreEvictionFilter", (late,) if late else ())
