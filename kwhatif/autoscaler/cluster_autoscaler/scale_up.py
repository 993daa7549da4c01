"""One loop of scale-up (`core/static_autoscaler.go`, `core/scaleup/orchestrator/orchestrator.go`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from kwhatif.autoscaler.cluster_autoscaler.estimator import Estimation, PodGroup, limit_of
from kwhatif.autoscaler.cluster_autoscaler.expander import Choice, Option, are_similar, balanced, choose
from kwhatif.autoscaler.cluster_autoscaler.flags import Flags
from kwhatif.autoscaler.cluster_autoscaler.groups import DEFAULT_EXPANDER, NodeGroup, NodeGroups
from kwhatif.autoscaler.cluster_autoscaler.nodes import amount_of, gpu_of, gpu_type, has_started
from kwhatif.autoscaler.cluster_autoscaler.pods import equivalent, shown
from kwhatif.autoscaler.cluster_autoscaler.snapshot import Snapshot, nearest
from kwhatif.autoscaler.cluster_autoscaler.templates import Template
from kwhatif.autoscaler.contract import GroupDelta, GroupRefusal, NearestGroup, RefusedPod, ScaleUpOption, ScalingRound
from kwhatif.kube.matching.requests import CPU, MEMORY
from kwhatif.kube.model.node import Node
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.state.pod_info import PodInfo

#: The name of the cluster-wide limits, which a cloud or the flags set.
_ID = "cluster-wide"
_VIRTUAL = ("type", "virtual-kubelet")


class Quotas:
    """The remaining cluster-wide limits (`resourcequotas/`). Nodes of a virtual kubelet do not count."""

    def __init__(self, settings: NodeGroups, nodes: Iterable[Node]) -> None:
        maxima = _limits(settings.flags)
        known: dict[str, Mapping[str, int]] = {}
        groups = settings.of_nodes()
        used = dict.fromkeys(maxima, 0)
        for node in nodes:
            if node.metadata.labels.get(_VIRTUAL[0]) == _VIRTUAL[1]:
                continue
            group = groups.get(node.metadata.name)
            # All nodes of a group count with the amounts of the first one.
            if group is not None and group.name in known:
                amounts = known[group.name]
            else:
                amounts = _amounts(node)
                if group is not None:
                    known[group.name] = amounts
            for name in maxima:
                used[name] += amounts.get(name, 0)
        self._left = {name: max(0, limit - used[name]) for name, limit in maxima.items()}
        self._known = known

    def _of(self, template: Template) -> Mapping[str, int]:
        return self._known.setdefault(template.group, _amounts(template.node))

    def allowed(self, template: Template, nodes: int) -> int:
        """How many of these nodes are within the limits (`CheckDelta`)."""
        return min([nodes, *(self._left[name] // amount for name, amount in self._short(template, nodes))])

    def exceeded(self, template: Template, nodes: int) -> str:
        """Why that number of nodes exceeds the limits, with upstream's message; "" if it does not."""
        names = [name for name, _ in self._short(template, nodes)]
        return f'exceeded quota: "{_ID}", resources: {", ".join(names)}' if names else ""

    def _short(self, template: Template, nodes: int) -> list[tuple[str, int]]:
        return [
            (name, amount)
            for name, amount in self._of(template).items()
            if amount > 0 and name in self._left and self._left[name] < amount * nodes
        ]

    def consume(self, template: Template, nodes: int) -> None:
        """Count the nodes, if they are within the limits (`ConsumeQuota`)."""
        if not self._short(template, nodes):
            for name, amount in self._of(template).items():
                if name in self._left:
                    self._left[name] = max(self._left[name] - amount * nodes, 0)


def _limits(flags: Flags) -> dict[str, int]:
    maxima = {CPU: flags.cores_total[1], MEMORY: flags.memory_total[1]}
    return maxima | {name: maximum for name, _, maximum in flags.gpu_total}


def _amounts(node: Node) -> Mapping[str, int]:
    """The node's capacity: whole cores, bytes, and GPUs by type."""
    found = {CPU: max(amount_of(CPU, node), 0), MEMORY: max(amount_of(MEMORY, node), 0)}
    resource = gpu_of(node)
    if resource is not None and gpu_type(node):
        found[gpu_type(node)] = amount_of(resource, node)
    return found


# The words of `orchestrator/skippedreasons.go` and `rejectedreasons.go`.
NOT_READY = "not ready for scale-up"
MAX_SIZE = "max node group size reached"
FILTERED_OUT = "expansion options filtered out and no longer considered"
FAILED = "scale-up execution failed"


class Scaling(msgspec.Struct, frozen=True):
    """The result of one loop, and its random choices and unknown values."""

    round: ScalingRound
    #: The groups of which one is chosen at random.
    tied: tuple[str, ...] = ()
    unpriced: tuple[str, ...] = ()
    #: The number of options.
    options: int = 0


class _Group(msgspec.Struct):
    """Equivalent pods: the node groups that accept the first pod, and the reasons of the other node groups."""

    pods: PodGroup
    takers: set[str]
    objections: dict[str, Verdict]
    #: Node group -> why it is not scaled up after all.
    dropped: dict[str, str]


class ScaleUp:
    """One loop. The snapshot has upcoming nodes, and the pods that fit on existing nodes."""

    def __init__(
        self,
        snapshot: Snapshot,
        settings: NodeGroups,
        templates: Mapping[str, Template],
        pods: Sequence[PodInfo],
        unready: Collection[str],
    ) -> None:
        self._snapshot, self._settings, self._flags, self._unready = snapshot, settings, settings.flags, unready
        self._templates = templates
        nodes = [info.node for info in snapshot.state.nodes]
        self._node_count = len(nodes)
        self._quotas = Quotas(settings, nodes)
        self._pods = [_Group(found, set(), {}, {}) for found in equivalent(pods)]
        #: Groups that are not considered, and why.
        self._skipped: dict[str, str] = {}
        self._valid = [group for group in settings.groups if not self._skips(group)]

    def run(self) -> Scaling:
        """Find the options, choose one, and spread its nodes."""
        for group in self._valid:
            self._find_takers(group)
        options = [option for option in map(self._option, self._valid) if option is not None]
        if not options:
            return Scaling(self._round((), {}))
        expanders = self._settings.expander or (DEFAULT_EXPANDER,)
        choice = choose(expanders, options, self._node_count)
        if not choice.options:
            self._drop(FILTERED_OUT)
            return Scaling(self._round(options, {}), options=len(options))
        return self._chosen(options, choice)

    def _chosen(self, options: Sequence[Option], choice: Choice) -> Scaling:
        best = choice.options[0]
        added = self._added(best)
        tied = tuple(option.group.name for option in choice.options) if len(choice.options) > 1 else ()
        return Scaling(self._round(options, added), tied, choice.unpriced, len(options))

    # --- which groups -------------------------------------------------------------------------------------------------

    def _skips(self, group: NodeGroup) -> bool:
        """Record why the group is not considered, if so (`filterValidScaleUpNodeGroups`)."""
        template = self._templates.get(group.name)
        if not self._is_healthy(group):
            reason = NOT_READY
        elif group.size >= group.maximum:
            reason = MAX_SIZE
        elif template is None:
            reason = NOT_READY
        else:
            reason = self._quotas.exceeded(template, 1)
        if reason:
            self._skipped[group.name] = reason
        return bool(reason)

    def _is_healthy(self, group: NodeGroup) -> bool:
        """Whether few of its nodes, or a small share of them, are unready (`IsNodeGroupHealthy`)."""
        there = [name for name in group.nodes if self._snapshot.state.node(name) is not None]
        unready = sum(name in self._unready for name in there)
        is_too_many = unready > self._flags.ok_total_unready_count
        return not (is_too_many and unready > self._flags.max_total_unready_percentage / 100 * len(there))

    def _find_takers(self, group: NodeGroup) -> None:
        """Whether the first of each kind of pods fits on a new node (`SchedulablePodGroups`)."""
        trial, node = self._with_node(self._templates[group.name])
        for found in self._pods:
            objection = trial.objection(found.pods[0], node)
            if objection is None:
                found.takers.add(group.name)
            else:
                found.objections[group.name] = objection

    # --- options ------------------------------------------------------------------------------------------------------

    def _option(self, group: NodeGroup) -> Option | None:
        """The option for this group (`ComputeExpansionOption`); None if it fits no pod."""
        pods = [found.pods for found in self._pods if group.name in found.takers]
        if not pods:
            return None
        template = self._templates[group.name]
        similar = self._similar(group)
        room = sum(max(each.maximum - each.size, 0) for each in (group, *similar))
        limit = limit_of(self._flags, room, self._node_count)
        estimate = Estimation(self._snapshot, template, limit).run(pods, fast=self._flags.fastpath_binpacking_enabled)
        if not (estimate.pods and estimate.nodes):
            return None
        return Option(group, template, estimate.nodes, estimate.pods, similar)

    def _similar(self, group: NodeGroup) -> Sequence[NodeGroup]:
        """Similar groups that fit all pods of this group (`ComputeSimilarNodeGroups`)."""
        if not self._flags.balance_similar_node_groups:
            return ()
        template = self._templates[group.name]
        return [
            other
            for other in self._settings.groups
            if other.name != group.name
            and (like := self._templates.get(other.name)) is not None
            and are_similar(template, like, self._flags)
            and self._is_healthy(other)
            and all(other.name in found.takers for found in self._pods if group.name in found.takers)
            and other in self._valid
        ]

    # --- requests to the cloud ----------------------------------------------------------------------------------------

    def _added(self, best: Option) -> Mapping[str, int]:
        """How many nodes each group gets, within all limits."""
        nodes = best.nodes
        if self._flags.max_nodes_total > 0:
            nodes = min(nodes, self._flags.max_nodes_total - self._node_count)
            if nodes < 1:
                self._drop(FAILED)
                return {}
        nodes = self._quotas.allowed(best.template, nodes)
        similar = [group for group in best.similar if not self._quotas.exceeded(self._templates[group.name], 1)]
        return self._within_quotas(balanced([best.group, *similar], nodes))

    def _within_quotas(self, added: Mapping[str, int]) -> Mapping[str, int]:
        """Reduce the number of nodes of each group, in order, to the remaining limits (`capScaleUpsByQuota`)."""
        capped: dict[str, int] = {}
        for name, delta in added.items():
            template = self._templates[name]
            capped[name] = self._quotas.allowed(template, delta)
            self._quotas.consume(template, capped[name])
        return {name: delta for name, delta in capped.items() if delta}

    def _drop(self, reason: str) -> None:
        """Record that no group is scaled up for any pod after all (`markAllGroupsAsUnschedulable`)."""
        for found in self._pods:
            found.dropped.update(dict.fromkeys(found.takers, reason))
            found.takers.clear()

    # --- the result ---------------------------------------------------------------------------------------------------

    def _round(self, options: Iterable[Option], added: Mapping[str, int]) -> ScalingRound:
        return ScalingRound(
            options=tuple(
                ScaleUpOption(group=option.group.name, nodes=option.nodes, pods=tuple(sorted(map(shown, option.pods))))
                for option in options
            ),
            scale_up=tuple(GroupDelta(group=name, delta=delta) for name, delta in sorted(added.items())),
            refused=tuple(self._refused()),
        )

    def _refused(self) -> Iterator[RefusedPod]:
        """The pods that no group helps, and why (`GetRemainingPods`)."""
        for found in self._pods:
            if found.takers:
                continue
            skipped = self._objections_of_skipped(found)
            if self._flags.scaleup_simulation_for_skipped_node_groups_enabled:
                found.objections.update(skipped)
            reasons = tuple(GroupRefusal(group=name, reason=why) for name, why in sorted(self._reasons(found).items()))
            closest = self._nearest(found, skipped)
            for pod in found.pods:
                yield RefusedPod(pod=shown(pod), reasons=reasons, nearest=closest)

    def _reasons(self, found: _Group) -> dict[str, str]:
        objections = {name: "; ".join(verdict.status.reasons) for name, verdict in found.objections.items()}
        skipped = {name: why for name, why in self._skipped.items() if name not in objections}
        return objections | skipped | found.dropped

    def _objections_of_skipped(self, found: _Group) -> Mapping[str, Verdict]:
        """The objections of new nodes of the skipped groups."""
        templates = {name: self._templates[name] for name in self._skipped if name in self._templates}
        tried = {name: self._objection(template, found.pods[0]) for name, template in templates.items()}
        return {name: verdict for name, verdict in tried.items() if verdict is not None}

    def _objection(self, template: Template, pod: PodInfo) -> Verdict | None:
        trial, node = self._with_node(template)
        return trial.objection(pod, node)

    def _with_node(self, template: Template) -> tuple[Snapshot, str]:
        """The cluster with one more node of this template, and the node's name."""
        trial = self._snapshot.fork()
        node, pods, besides = template.made("0")
        trial.add_node(node, pods, besides)
        return trial, node.metadata.name

    def _nearest(self, found: _Group, skipped: Mapping[str, Verdict]) -> NearestGroup | None:
        """The closest group: one that fits the pod but cannot grow; else the one whose new node lacks the least."""
        full = sorted(name for name in self._skipped if name in self._templates and name not in skipped)
        if full:
            return NearestGroup(group=full[0], reasons=(self._skipped[full[0]],))
        objections = {**skipped, **found.objections}
        if not objections:
            return None
        name = nearest(objections)
        status = objections[name].status
        return NearestGroup(
            group=name, plugin=objections[name].plugin, reasons=status.reasons, evidence=status.evidence
        )


def upcoming(
    settings: NodeGroups, snapshot: Snapshot, templates: Mapping[str, Template], unready: Mapping[str, Node], now: int
) -> None:
    """Add the nodes that were already requested from the cloud, empty; they replace nodes that are starting.

    (`GetUpcomingNodes` in `clusterstate/clusterstate.go`)
    """
    for group in settings.groups:
        there = sum(snapshot.state.node(name) is not None for name in group.nodes)
        starting = [
            name for name in group.nodes if name in unready and not has_started(unready[name], settings.flags, now)
        ]
        template = templates.get(group.name)
        for name in starting:
            snapshot.remove_node(name)
        count = group.size - (there - len(starting))
        for number in range(count if template is not None else 0):
            assert template is not None
            snapshot.add_node(*template.made(f"upcoming-{number}"))
