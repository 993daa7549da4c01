"""`kwhatif.drain`, `kwhatif.outage` and `kwhatif.upgrade`: what maintenance brings about, as a library."""

from __future__ import annotations

from typing import Any, Unpack

from msgspec.structs import replace

from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.edits.edit import Wrong
from kwhatif.edits.selection import selector_of
from kwhatif.errors import InputError, Problem
from kwhatif.garbage import rare_garbage_collection
from kwhatif.matching.labels import EVERYTHING, Selector
from kwhatif.render.caveats import worded
from kwhatif.render.story import with_words
from kwhatif.report import Report
from kwhatif.simulation.parameters import Parameters
from kwhatif.sources.release import parse_version
from kwhatif.sources.scenario import parse_parameter
from kwhatif.stories import Times
from kwhatif.whatif.drain import drain as play_drain
from kwhatif.whatif.each import drain_each, outage_each
from kwhatif.whatif.outage import outage as play_outage
from kwhatif.whatif.played import named_nodes
from kwhatif.whatif.session import Session
from kwhatif.whatif.upgrade import ask_upgrade

__all__ = ["drain", "outage", "upgrade"]


def drain(  # noqa: PLR0913 - kubectl's own flags
    session: Session,
    *nodes: str,
    selector: str = "",
    each: bool = False,
    ignore_daemonsets: bool = False,
    delete_emptydir_data: bool = False,
    force: bool = False,
    disable_eviction: bool = False,
    grace_period: int = -1,
    timeout: str = "0s",
    skip_wait_for_delete_timeout: int = 0,
    pod_selector: str = "",
    **times: Unpack[Times],
) -> Report:
    """Can these nodes be drained, in which waves, what blocks, and where do the pods land?

    Args:
        session: the cluster; it stays as it is.
        nodes: names, globs, or label selectors such as `pool=general`; they are drained one after another.
        selector: instead of nodes, the labels that they have.
        each: drain each of the nodes alone (`report.scenarios`).
        ignore_daemonsets: as kubectl's flag: pods of DaemonSets stay.
        delete_emptydir_data: as kubectl's flag: pods with local storage go.
        force: as kubectl's flag: pods without a controller go.
        disable_eviction: as kubectl's flag: pods are deleted, whatever budgets say.
        grace_period: in seconds; a negative one is each pod's own.
        timeout: for each node, such as "5m"; "0s": as long as it takes.
        skip_wait_for_delete_timeout: in seconds: pods whose end is overdue by more are left out; 0: none.
        pod_selector: labels of the pods that are to go; "": all.
        times: how long things take, see `Times`.

    Raises:
        InputError: there is no such node, or a selector is not one.
        ValueError: a duration is none.
    """
    options = DrainOptions(
        ignore_daemonsets=ignore_daemonsets,
        delete_emptydir_data=delete_emptydir_data,
        force=force,
        disable_eviction=disable_eviction,
        grace_period=None if grace_period < 0 else float(grace_period),
        timeout=_seconds("timeout", timeout) or 0.0,
        skip_wait_for_delete_timeout=skip_wait_for_delete_timeout,
        pod_selector=_selector("--pod-selector", pod_selector) or EVERYTHING,
    )
    names = named_nodes(session, nodes, _selector("--selector", selector))
    with rare_garbage_collection():
        play = drain_each if each else play_drain
        report = play(session, names, options, _parameters(times))
    return worded(with_words(report))


def outage(
    session: Session,
    *nodes: str,
    selector: str = "",
    each: str = "",
    deleted: bool = False,
    node_monitor_grace_period: str = "50s",
    **times: Unpack[Times],
) -> Report:
    """What is lost when these nodes fail at once, what comes back where and when, and what does not?

    Args:
        session: the cluster; it stays as it is.
        nodes: names, globs, or label selectors such as `topology.kubernetes.io/zone=b`.
        selector: instead of nodes, the labels that they have.
        each: instead of nodes, a label: for each of its values its nodes fail alone (`report.scenarios`).
        deleted: whether the Node objects go; else their kubelets fall silent.
        node_monitor_grace_period: after how long a silent node is lost: kube-controller-manager's flag.
        times: how long things take, see `Times`.

    Raises:
        InputError: there is no such node, or the selector is not one.
        ValueError: a duration is none.
    """
    names = () if each else named_nodes(session, nodes, _selector("--selector", selector))
    grace = _seconds("node-monitor-grace-period", node_monitor_grace_period) or 0.0
    with rare_garbage_collection():
        parameters = replace(_parameters(times), node_monitor_grace_period=grace)
        if each:
            return worded(outage_each(session, each, parameters, deleted=deleted))
        report = play_outage(session, names, parameters, deleted=deleted)
    return worded(with_words(report))


def upgrade(session: Session, *, to: str) -> Report:
    """What would the scheduler of another release decide otherwise?

    About the pending pods, and about every workload as if its pods started anew, those of the others where they are.

    Args:
        session: the cluster, asked under the release that it runs.
        to: the other release, such as "1.37"; older ones can be asked about, too.

    Raises:
        InputError: that is not a release, or the scheduler's configuration or a feature gate is not one of its own.
    """
    try:
        parse_version(to)
    except ValueError as wrong:
        raise InputError([Problem("--to", str(wrong))]) from wrong
    with rare_garbage_collection():
        return worded(ask_upgrade(session, session.at_release(to)))


def _parameters(times: Any) -> Parameters:
    return replace(Parameters(), **{name: _seconds(name, str(text)) for name, text in times.items()})


def _seconds(name: str, text: str) -> float | None:
    try:
        return parse_parameter(name, text)
    except ValueError as wrong:
        raise InputError([Problem(f"--{name}", str(wrong))]) from wrong


def _selector(option: str, text: str) -> Selector | None:
    try:
        return selector_of(text) if text else None
    except Wrong as wrong:
        raise InputError([Problem(option, wrong.message, hint=wrong.hint)]) from wrong
