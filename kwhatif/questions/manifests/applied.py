"""Objects that are about to be applied, and the cluster with those of them that are not pods and make none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kwhatif.admission.defaults import default_object
from kwhatif.admission.load import counted_budgets
from kwhatif.admission.new_group import GROUP_KINDS, admit_grouping
from kwhatif.admission.outcome import Denied
from kwhatif.admission.updated import updated
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.helm import HelmHook
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import POD_SOURCES, Namespace, NamespaceMeta
from kwhatif.report.inputs import SourceRow
from kwhatif.state.change import Upsert
from kwhatif.state.state import State
from kwhatif.workloads.applied_object import applied_object


def fill_budgets(state: State) -> Iterator[Caveat]:
    """Set the status of every budget without one, as the disruption controller would; yields caveats."""
    for counted, caveat in counted_budgets(state.cluster):
        yield caveat
        state.apply(Upsert(counted))


class Applied(msgspec.Struct, frozen=True):
    """An object, where it stands, and what its annotation `kwhatif.dev/ignore` says."""

    object: KubernetesObject
    source: SourceRow
    ignore: str = ""
    #: It is asked for by name, an object of the cluster: a pod that waits is judged as it stands, what runs as if it
    #: restarted.
    restarted: bool = False
    #: What Helm makes of it; None: it is part of the release.
    hook: HelmHook | None = None
    #: It was read from an API server, which has admitted it: it is taken as it stands.
    stored: bool = False

    @property
    def runs_on(self) -> str | None:
        """Where it runs now, if it is a pod of the cluster that was asked for by name."""
        return self.object.spec.node_name or None if self.restarted and isinstance(self.object, Pod) else None

    @property
    def is_workload(self) -> bool:
        """Whether it is a pod, or pods are made of it."""
        return isinstance(self.object, (*POD_SOURCES, CustomResource))


def apply_surroundings(state: State, applied: Sequence[Applied], *, admission: bool) -> Iterator[Caveat]:
    """Put everything into the cluster that takes effect before pods do, claims aside; yields caveats.

    That a new budget is yet without a status is not a caveat: there will be one, and it is worked out here.
    """
    if admission:
        _keep_namespaces(state, applied)
    for each in applied:
        if not each.is_workload and not isinstance(each.object, (PersistentVolumeClaim, *GROUP_KINDS)):
            stored: Any = default_object(applied_object(each.object, state.cluster))  # type: ignore[type-var]
            state.apply(Upsert(updated(stored, state.cluster)))
    yield from (caveat for caveat in fill_budgets(state) if caveat.missing)


def apply_groups(state: State, applied: Sequence[Applied]) -> Iterator[tuple[Applied, Denied]]:
    """Put PodGroups and Workloads into the cluster; yields those that the API server refuses."""
    for each in applied:
        if not isinstance(each.object, GROUP_KINDS):
            continue
        group = applied_object(each.object, state.cluster)
        admitted = group if each.stored else admit_grouping(group, state.cluster)
        if isinstance(admitted, Denied):
            yield each, admitted
        else:
            state.apply(Upsert(admitted))


def _keep_namespaces(state: State, applied: Sequence[Applied]) -> None:
    """A dump without a single namespace does not say which there are: a new one does not make it say so."""
    if not state.cluster.all(Namespace):
        for name in {each.object.metadata.namespace for each in applied} - {""}:
            state.apply(Upsert(default_object(Namespace(metadata=NamespaceMeta(name=name)))))
