"""Edits in words: the sentences about what an edit does, or does not do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import assert_never

from msgspec.structs import replace

from kwhatif.kube.matching.requests import CPU, to_text
from kwhatif.kube.model.quantity import milli_value, value
from kwhatif.report import edit_notes as notes
from kwhatif.report.capacity import AddedNodesRow, CapacityRow, NodesToAdd
from kwhatif.report.edit_notes import EditNote
from kwhatif.report.inputs import EditRow, MadeEdit

_UNCHANGED = {
    "labels": "the labels are already set",
    "fields": "the fields are already set",
    "replicas": "all have these numbers of pods",
    "requests": "all pods have these requests",
}
_ALREADY = {"cordon": "cordoned already", "uncordon": "already uncordoned", "taint": "already tainted like this"}
#: The scheduler does not count what is infeasible; what is deferred it counts as if it were granted.
_PUT_OFF = {
    "Deferred": "defers the resize of {} ({}): it keeps what it has, though the scheduler counts what it asks for",
    "Infeasible": "finds the resize of {} infeasible ({}): it keeps what it has",
}
#: The maximum number of names.
_MOST_NAMED = 3


def worded_edit(row: EditRow) -> EditRow:
    """The edit with its notes in words."""
    if not isinstance(row, MadeEdit):
        return row
    return EditRow(edit=row.edit, touched=row.touched, notes=sentences_of(row.remarks))


def worded_capacity(row: CapacityRow) -> CapacityRow:
    """The answer with its notes about added nodes in words."""
    added = row.added_nodes
    if not isinstance(added, NodesToAdd):
        return row
    fields = {name: getattr(added, name) for name in AddedNodesRow.__struct_fields__}
    return replace(row, added_nodes=AddedNodesRow(**fields | {"notes": sentences_of(added.remarks)}))


def sentences_of(remarks: Sequence[EditNote]) -> tuple[str, ...]:
    """The notes in words."""
    return tuple(map(sentence_of, remarks))


def sentence_of(note: EditNote) -> str:  # noqa: C901, PLR0911, PLR0912 - one sentence for each kind
    """The note in words."""
    match note:
        case notes.NothingChanges():
            return f"nothing changes: {_UNCHANGED[note.what]}"
        case notes.HooksLeftOut():
            return f"Helm hooks are left out: {', '.join(note.hooks)}"
        case notes.PodsRefused():
            return f"the API server refuses {note.pods} of its pods: {note.message}"
        case notes.PodsNotMade():
            return f"{note.pods} more pods are not made: no node has room for them"
        case notes.BudgetStale():
            budget = f"PodDisruptionBudget {note.budget}"
            return f"the status of {budget} still counts pods that are gone (`budget` recounts it)"
        case notes.NodesUnchanged():
            return f"{', '.join(note.nodes)} {'is' if len(note.nodes) == 1 else 'are'} {_ALREADY[note.verb]}"
        case notes.NodesAdded():
            names = "names are" if note.count > 1 else "name is"
            return f"the {names} made up, the images of {note.like} are not copied"
        case notes.StateNotCopied():
            what = ", ".join(["its cordon"] * note.cordoned + [*note.taints])
            return f"left out is what {note.like} has because of its state: {what}"
        case notes.DevicesNotCopied():
            return f"without the devices (ResourceSlices) of {note.like}"
        case notes.DaemonPodsPlaced():
            return _placed(note)
        case notes.DaemonPodsPending():
            finds = "find" if note.pods > 1 else "finds"
            return f"{_daemons(note.pods)} ({_some(note.daemon_sets)}) {finds} no room there"
        case notes.DaemonPodsRefused():
            return f"the API server refuses {_daemons(note.pods)} there: {note.message}"
        case notes.PodsStayAssigned():
            return f"{note.pods} pod{'s stay' if note.pods > 1 else ' stays'} assigned to it until they are deleted"
        case notes.ReplicasUnchanged():
            return f"{note.workload} already has this number of replicas"
        case notes.ScaledBack():
            return f"Deployment {note.deployment} would scale it back: scale the Deployment instead"
        case notes.AutoscalerBound():
            return f"{', '.join(note.workloads)}: no more than the maximum of its HorizontalPodAutoscaler"
        case notes.AutoscalerSets():
            return f"HorizontalPodAutoscaler {', '.join(note.autoscalers)} makes that {note.replicas}"
        case notes.DependentsDeleted():
            pods = f"{note.pods} pod{'s' if note.pods > 1 else ''}"
            return f"{pods} that it owns go with it, as with kubectl's --cascade=background"
        case notes.PodRecreated():
            return "its controller would create a new pod: use `simulate` to include that"
        case notes.PriorityUnchanged():
            return f"{note.name} already has the value {note.value}"
        case notes.PrioritiesKept():
            return f"existing pods keep their priority: {note.pods} of this class"
        case notes.PriorityFollows():
            return f"its priority follows: {note.before} is now {note.after}"
        case notes.NewBudget():
            return f"a new budget, for the pods of {note.workload}"
        case notes.PodsKeepLabels():
            return "its pods keep their labels: those are in its template"
        case notes.PodsKeepTemplate():
            return "its pods do not change: a template is for new pods"
        case notes.PodsNotScaled():
            return "its pods do not change: use `scale` to create and delete pods"
        case notes.RequestsChanged():
            return f"these pods together request {' and '.join(starmap(_from_to, note.totals.items()))}"
        case notes.MostMeasured():
            most = "the most that was measured in any pod of its workload"
            return f"of each container it is {most}, and at most its limit"
        case notes.NodesExceeded():
            nodes = _some([f"{name} ({_exceeded(resources)})" for name, resources in note.nodes.items()])
            return f"pods request more than there is on {nodes}: they run on, but not all could start there again"
        case notes.PodsNotMeasured():
            return f"left out, of no workload of the input or measured as a whole: {_some(note.pods)}"
        case notes.ResizeUnknown():
            return f"{note.pod}: node {note.node} is not in the input: whether it has room for that is not known"
        case notes.ResizeUnseen():
            return f"{note.pod}: the kubelet of {note.node} is silent: it keeps what it has"
        case notes.Resized():
            why = f", and restarts {', '.join(note.restarts)} (resizePolicy)" if note.restarts else ""
            return f"kubelet {note.node} has room for that and resizes {note.pod} in place{why}"
        case notes.ResizePutOff():
            return f"kubelet {note.node} {_PUT_OFF[note.decision].format(note.pod, note.message)}"
        case _:
            assert_never(note)


def _placed(note: notes.DaemonPodsPlaced) -> str:
    """`2 pods of DaemonSets take 300m cpu and 64Mi memory on each: kube-system/proxy`."""
    amounts = [f"{to_text(name, amount)} {name}" for name, amount in note.requests.items() if amount]
    verb = "take" if note.pods > 1 else "takes"
    what = f"{verb} {' and '.join(amounts)}" if amounts else f"run{'s' * (note.pods == 1)}"
    where = {"one": "there", "each": "on each", "all": "there in all"}[note.where]
    return f"{_daemons(note.pods)} {what} {where}: {_some(note.daemon_sets)}"


def _daemons(pods: int) -> str:
    return f"{pods} pod{'s' * (pods > 1)} of DaemonSets"


def _from_to(name: str, amounts: tuple[int, int]) -> str:
    return f"{name} {' to '.join(_amount(name, each) for each in amounts)}"


def _exceeded(resources: Mapping[str, tuple[int, int]]) -> str:
    return ", ".join(
        f"{_amount(name, requested)} of {_amount(name, there)} {name}" for name, (requested, there) in resources.items()
    )


def _some(names: Sequence[str]) -> str:
    """The first few names, and the number of the others."""
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _amount(name: str, nanos: int) -> str:
    return f"{milli_value(nanos) / 1000:g}" if name == CPU else f"{value(nanos) / 2**30:.4g}Gi"
