"""`kwhatif.capacity`: how many more pods fit, as a library."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Unpack

from kwhatif.api.arguments import ManifestOptions, read_manifests, require_known, require_session
from kwhatif.api.pages import answered
from kwhatif.api.refusals import check_capacity
from kwhatif.errors import InputError, Problem
from kwhatif.garbage import rare_garbage_collection
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod_group import PodGroup, has_groups
from kwhatif.kube.model.workload import DaemonSet
from kwhatif.questions.capacity.capacity import CapacityQuestion, ask_capacity
from kwhatif.questions.capacity.filling import CountedPart
from kwhatif.questions.capacity.headroom import ask_headroom, at_peak
from kwhatif.questions.capacity.more import members_of
from kwhatif.questions.manifests.applied import Applied, ends, with_groups
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.sources.manifests.given import Source, named_inputs, parse_reference
from kwhatif.sources.text.files import GivenText, exists

#: The default limits: for pods or sets, and for each kind of the cluster's pods.
LIMIT, LIMIT_OF_SHAPES = 10_000, 1_000
#: The default limit with an autoscaler, which processes all pods at once.
LIMIT_WITH_NODES = 1_000
_TIMES = re.compile(r"(\d{1,6})\*(.+)", re.DOTALL)


class _Asked(NamedTuple):
    parts: Sequence[CountedPart]
    applied: Sequence[Applied]
    caveats: Sequence[Caveat]


def capacity(
    session: Session,
    *manifests: Source,
    limit: int | None = None,
    target: int | None = None,
    with_preemption: bool = False,
    add_nodes_like: str | None = None,
    peak: bool = False,
    **options: Unpack[ManifestOptions],
) -> Report:
    """How many more pods of these workloads fit, where do they go, and what stops the next one?

    Args:
        session: the cluster; it stays as it is. With an autoscaler (`with_autoscaler`) all pods are asked for at once,
            and it adds nodes until its bounds for those that find none.
        manifests: see `kwhatif.Source`; or workloads of the cluster by name: "deploy/shop/web". How many replicas they
            ask for does not matter: their pods are counted one by one. With several workloads, a set has one pod of
            each; "2*web.yaml": two of it. Without manifests: the most common kinds of pods of the cluster, each alone.
        limit: the most sets to count; by default 10,000, and 1,000 without manifests or with an autoscaler.
        target: check whether this many sets fit; instead of `limit`.
        with_preemption: also count the pods that fit by evicting others, and whom.
        add_nodes_like: find how many nodes like this one it takes to reach the target.
        peak: first scale each workload to the maximum of its HorizontalPodAutoscaler, and place those pods.
        options: how manifests are read, see `ManifestOptions`.

    Raises:
        InputError: with every problem of the manifests; there is no such node; at the peak, no autoscaler of pods.
        ValueError: a number is not positive; `add_nodes_like` has no target, or one above `MOST_WITH_NODES`; a template
            path is malformed; the session has an autoscaler, and pods may evict or `add_nodes_like` is given as well.
    """
    require_session(session, "capacity")
    require_known(options, ManifestOptions, "capacity")
    grows = session.scaling is not None
    if not manifests and (target is not None or with_preemption or grows):
        raise TypeError("capacity() needs a manifest, of which a number of pods could fit")
    check_capacity(
        limit=limit,
        target=target,
        with_preemption=with_preemption,
        add_nodes_like=add_nodes_like,
        peak=peak,
        grows=grows,
    )
    with rare_garbage_collection():
        found = at_peak(session.with_owners()) if peak else None
        session = session if found is None else found.session
        row = None if found is None else found.row
        if not manifests:
            return answered(ask_headroom(session, limit or LIMIT_OF_SHAPES, row), session)
        session = session.with_owners()
        asked = _read(session, named_inputs(manifests, "manifest"), options)
        session, applied = with_groups(session, asked.applied)
        question = CapacityQuestion(
            parts=asked.parts,
            applied=applied,
            limit=target or limit or (LIMIT_WITH_NODES if grows else LIMIT),
            evicts=with_preemption,
            target=target,
            add_nodes_like=add_nodes_like,
            peak=row,
            caveats=asked.caveats,
        )
        return answered(ask_capacity(session, question), session)


def _read(session: Session, inputs: Sequence[str], options: ManifestOptions) -> _Asked:
    """Read each input by itself, as each has its own number.

    Raises:
        InputError: with all problems of all inputs.
    """
    parts: list[CountedPart] = []
    applied: list[Applied] = []
    caveats: list[Caveat] = []
    problems: list[Problem] = []
    for given in inputs:
        times, path = _times(given)
        group = _group_named(path, session, options)
        if group is not None:
            found = list(members_of(group, session.state, path))
            problems += [] if found else [Problem(path, f"PodGroup {group} has no pods", hint="give its manifest")]
            parts += [CountedPart(each, times) for each in found]
            continue
        try:
            asked = read_manifests(session, [path], options)
        except InputError as wrong:
            problems += wrong.problems
            continue
        problems += asked.problems
        applied += (each for each in asked.applied if not ends(each))
        caveats += asked.caveats
        parts += [CountedPart(each, times) for each in asked.applied if each.is_workload and not ends(each)]
        if times == 0:
            problems.append(Problem(given, "no pods of it are asked for", hint="write 1* or more"))
    problems += _not_countable(parts)
    if not (problems or parts):
        problems.append(Problem(", ".join(inputs), "holds no workload", hint="give a Pod, Deployment, Job, …"))
    if problems:
        raise InputError(problems)
    return _Asked(parts, applied, caveats)


def _group_named(path: str, session: Session, options: ManifestOptions) -> str | None:
    """The key of the cluster's group that an input names."""
    reference = parse_reference(path, options.get("namespace") or session.namespace)
    if reference is None or reference.resource.type is not PodGroup or not has_groups(session.cluster):
        return None
    return reference.key if session.cluster.get(PodGroup, reference.key) is not None else None


def _times(given: str) -> tuple[int, str]:
    """How many pods of an input are in a set: `2*web.yaml`, unless a file has this name."""
    found = None if isinstance(given, GivenText) or exists(given) else _TIMES.fullmatch(given)
    return (int(found[1]), found[2]) if found else (1, given)


def _not_countable(parts: Sequence[CountedPart]) -> Iterator[Problem]:
    seen: set[tuple[type, str]] = set()
    for applied, _ in parts:
        obj = applied.object
        where = applied.source.file + (f", line {applied.source.line}" if applied.source.line else "")
        mark = type(obj), key_of(obj)
        if isinstance(obj, DaemonSet):
            yield Problem(
                where, f"{applied.source.object} has one pod on each node: there are no more of them to count"
            )
        elif obj.metadata.name and mark in seen:
            yield Problem(
                where, f"{applied.source.object} is given twice", hint="write 2*FILE for two pods in each set"
            )
        seen.add(mark)
