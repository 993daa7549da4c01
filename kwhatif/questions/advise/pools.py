"""Changes of node groups and NodePools after which an autoscaler adds the missing nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.autoscaler.cluster_autoscaler.autoscaler import ClusterAutoscaler
from kwhatif.autoscaler.cluster_autoscaler.groups import NodeGroup
from kwhatif.autoscaler.cluster_autoscaler.templates import templates_of
from kwhatif.autoscaler.contract import NodeAutoscaler
from kwhatif.kube.matching.nodes import first_untolerated
from kwhatif.kube.model.bystanders import NodePool
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.node import Node, Taint
from kwhatif.kube.model.pod import Pod, node_affinity_of
from kwhatif.kube.model.quantity import parse_quantity, value
from kwhatif.questions.advise.change import COSTS, Advice, AdvisedChange, Amount
from kwhatif.questions.advise.manifest import tolerating
from kwhatif.questions.session.session import Session
from kwhatif.report.advise import AdviceKind
from kwhatif.scheduler.framework.evidence import UntoleratedTaint
from kwhatif.state.change import Upsert

#: How many groups, or pools, are tried; and how far a maximum is raised.
_MOST_TRIED, _MOST_NODES = 6, 1000
#: Users cannot set labels of these domains.
_RESERVED = ("kubernetes.io", "k8s.io", "karpenter.sh")
_UNITS = {"memory": 1 << 30}


def of_autoscaler(session: Session, pod: Pod) -> Iterator[Advice]:
    """For each group, or pool, all that may keep it from adding a node for the pod; the proof finds the reason."""
    if session.scaling is None:
        return
    autoscaler = session.scaling.autoscaler
    found = (
        _of_groups(session, pod, autoscaler) if isinstance(autoscaler, ClusterAutoscaler) else _of_pools(session, pod)
    )
    for _, changes in zip(range(_MOST_TRIED), filter(None, found), strict=False):
        yield Advice(tuple(changes))


def _change(
    kind: AdviceKind, scale: Callable[[Session], Session], amount: Amount | None = None, **fields: str
) -> AdvisedChange:
    return AdvisedChange(kind=kind, by="cluster", cost=COSTS[kind], scale=scale, amount=amount, **fields)  # type: ignore[arg-type]


def _asked(pod: Pod) -> Iterator[tuple[str, str]]:
    """The labels that the pod requires of its node; of several values, and several terms, the first."""
    yield from (pod.spec.node_selector or {}).items()
    required = node_affinity_of(pod.spec).required
    for term in required.node_selector_terms[:1] if required is not None else ():
        for each in term.match_expressions:
            if each.operator == "In" and each.values:
                yield each.key, each.values[0]


def _missing(pod: Pod, labels: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(key, wanted) for key, wanted in _asked(pod) if labels.get(key) != wanted]


def _tolerations(pod: Pod, taints: Sequence[Taint]) -> Iterator[AdvisedChange]:
    for taint in taints:
        if first_untolerated((taint,), pod.spec.tolerations) is not None:
            yield tolerating(UntoleratedTaint(key=taint.key, value=taint.value, effect=taint.effect))


# --- node groups -----------------------------------------------------------------------------------------------------


def _of_groups(session: Session, pod: Pod, autoscaler: ClusterAutoscaler) -> Iterator[list[AdvisedChange]]:
    assert session.scaling is not None
    templates = templates_of(autoscaler.settings, session.state, parse_time(session.scaling.at), autoscaler.cached)
    for group in autoscaler.settings.groups:
        template = templates.get(group.name)
        if template is None:
            continue
        changes = list(_tolerations(pod, template.node.spec.taints))
        changes += (_labelled(group, *label) for label in _missing(pod, template.node.metadata.labels))
        if group.has_bounds:
            changes.append(_raised(group, 1))
        yield changes


def _raised(group: NodeGroup, more: int) -> AdvisedChange:
    """The group may have this many more nodes."""

    def scale(session: Session) -> Session:
        return _with_group(session, group.name, lambda each: replace(each, maximum=group.maximum + more))

    amount = Amount(more, _MOST_NODES, 1, lambda number: _raised(group, number))
    return _change(
        "raise-group",
        scale,
        amount,
        target=group.name,
        about="max",
        before=str(group.maximum),
        after=str(group.maximum + more),
    )


def _labelled(group: NodeGroup, key: str, wanted: str) -> AdvisedChange:
    """All nodes of the group, also new ones, have the label."""

    def with_label(node: Node) -> Node:
        meta = node.metadata
        return replace(node, metadata=replace(meta, labels={**meta.labels, key: wanted}))

    def scale(session: Session) -> Session:
        state = session.state.fork()
        nodes = [info.node for name in group.nodes if (info := state.node(name)) is not None]
        state.apply(*(Upsert(with_label(node)) for node in nodes))
        changed = session.at(state)

        def of_group(each: NodeGroup) -> NodeGroup:
            return each if each.template is None else replace(each, template=with_label(each.template))

        return _with_group(changed, group.name, of_group)

    return _change("label-group", scale, target=group.name, about=f"{key}={wanted}", after=wanted)


def _with_group(session: Session, name: str, change: Callable[[NodeGroup], NodeGroup]) -> Session:
    scaling = session.scaling
    assert scaling is not None
    autoscaler = scaling.autoscaler
    assert isinstance(autoscaler, ClusterAutoscaler)
    groups = [change(each) if each.name == name else each for each in autoscaler.settings.groups]
    settings = replace(autoscaler.settings, groups=groups)
    made: NodeAutoscaler = ClusterAutoscaler.of(settings, session.state, scaling.at)
    return session.with_scaling(replace(scaling, autoscaler=made))


# --- NodePools -------------------------------------------------------------------------------------------------------


def _of_pools(session: Session, pod: Pod) -> Iterator[list[AdvisedChange]]:
    for pool in session.cluster.all(NodePool).values():
        spec = pool.spec.template
        known = {each.key for each in spec.spec.requirements}
        changes = list(_tolerations(pod, spec.spec.taints))
        missing = _missing(pod, spec.metadata.labels)
        changes += (
            _pool_labelled(pool, key, wanted)
            for key, wanted in missing
            if key not in known and not key.partition("/")[0].endswith(_RESERVED)
        )
        changes += (_limited(pool, name, 1) for name in pool.spec.limits)
        yield changes


def _pool_labelled(pool: NodePool, key: str, wanted: str) -> AdvisedChange:
    def scale(session: Session) -> Session:
        def labelled(each: NodePool) -> NodePool:
            template = each.spec.template
            meta = replace(template.metadata, labels={**template.metadata.labels, key: wanted})
            return replace(each, spec=replace(each.spec, template=replace(template, metadata=meta)))

        return _with_pool(session, pool.metadata.name, labelled)

    target = f"NodePool {pool.metadata.name}"
    return _change("label-group", scale, target=target, about=f"{key}={wanted}", after=wanted)


def _limited(pool: NodePool, resource: str, more: int) -> AdvisedChange:
    """Its nodes may have this much more of the resource: cores, Gi of memory, whole units."""
    unit = _UNITS.get(resource, 1)
    before = value(parse_quantity(pool.spec.limits[resource]))
    after = before + more * unit
    text = f"{-(-after // unit)}Gi" if resource in _UNITS else str(after)

    def scale(session: Session) -> Session:
        def raised(each: NodePool) -> NodePool:
            return replace(each, spec=replace(each.spec, limits={**each.spec.limits, resource: text}))

        return _with_pool(session, pool.metadata.name, raised)

    amount = Amount(more, 1 << 20, 1, lambda number: _limited(pool, resource, number))
    return _change(
        "raise-limit",
        scale,
        amount,
        target=f"NodePool {pool.metadata.name}",
        about=f"limits.{resource}",
        before=str(pool.spec.limits[resource]),
        after=text,
    )


def _with_pool(session: Session, name: str, change: Callable[[NodePool], NodePool]) -> Session:
    state = session.state.fork()
    state.apply(Upsert(change(state.cluster.all(NodePool)[name])))
    return session.at(state)
