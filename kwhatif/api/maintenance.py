"""`kwhatif.drain`, `outage` and `upgrade`: the effects of maintenance; and the processes that play many scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from typing import Any, Unpack

from msgspec.structs import replace

from kwhatif.api.arguments import require_known, require_names, require_no_autoscaler, require_session
from kwhatif.api.options import DrainArguments, MaintenanceOptions, OutageArguments
from kwhatif.api.pages import answered
from kwhatif.api.simulate import parameters_of, seconds_of
from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.edits.edit import Wrong
from kwhatif.edits.selection import selector_of
from kwhatif.errors import InputError, OutOfTime, Problem
from kwhatif.garbage import rare_garbage_collection
from kwhatif.kube.matching.labels import Selector
from kwhatif.questions.maintenance.drain import drain as play_drain
from kwhatif.questions.maintenance.outage import outage as play_outage
from kwhatif.questions.scenarios import Outages, Runner, ScenarioOutcome, drain_each, outage_each
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.settled_cluster import Outcome, S, ScenarioPlayer, named_nodes
from kwhatif.questions.upgrade.upgrade import ask_upgrade
from kwhatif.report import Report
from kwhatif.sources.scheduler.release import ReleaseOptions, ask_release, known_version
from kwhatif.sources.sweeps import SweepFile
from kwhatif.sweep.processes import play


def drain(
    session: Session,
    *nodes: str,
    each: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **options: Unpack[DrainArguments],
) -> Report:
    """Can these nodes be drained, in which waves, what blocks, and where do the pods land?

    Args:
        session: the cluster; it stays as it is.
        nodes: names, globs, or label selectors such as `pool=general`, which are drained in order; or give `selector`.
        each: drain each of the nodes alone (`report.scenarios`).
        progress: is called with how many scenarios are done, of how many.
        options: the flags, how long things take, and who plays `each`, see `DrainArguments`.

    Raises:
        InputError: there is no such node, or a selector is not one.
        ValueError: a duration is not valid.
    """
    require_session(session, "drain")
    require_known(options, DrainArguments, "drain")
    selector = options.get("selector", "")
    _require_nodes(nodes, selector, "drain")
    flags: dict[str, Any] = {name: value for name, value in options.items() if name in DrainOptions.__struct_fields__}
    if "timeout" in options:
        flags["timeout"] = seconds_of("timeout", options["timeout"])
    question, order = DrainOptions(**flags), options.get("order", False)
    _selector("--pod-selector", question.pod_selector)
    if each and (order or question.parallel != 1):
        problem = Problem("--order" if order else "--parallel", "is about several nodes: leave out --each")
        raise InputError([problem])
    if question.parallel < 1:
        raise InputError([Problem("--parallel", "is less than 1")])
    names = named_nodes(session, nodes, _selector("--selector", selector))
    with rare_garbage_collection():
        run, parameters = _runner(options, progress, each=each), parameters_of(options)
        if each:
            report = drain_each(session, names, question, parameters, run)
        else:
            report = play_drain(session, names, question, parameters, order=order)
    return answered(report, session)


def outage(
    session: Session,
    *nodes: str,
    each: str = "",
    progress: Callable[[int, int], None] | None = None,
    **options: Unpack[OutageArguments],
) -> Report:
    """What is lost when these nodes fail at once, what comes back where and when, and what does not?

    Args:
        session: the cluster; it stays as it is.
        nodes: names, globs, or label selectors such as `topology.kubernetes.io/zone=b`; or give `selector`.
        each: instead of nodes, a label: the nodes of each value fail alone (`report.scenarios`).
        progress: is called with how many scenarios are done, of how many.
        options: how they fail, how long things take, and who plays `each`, see `OutageArguments`.

    Raises:
        InputError: there is no such node, or the selector is not one.
        ValueError: a duration is not valid.
    """
    require_session(session, "outage")
    require_known(options, OutageArguments, "outage")
    selector = options.get("selector", "")
    _require_nodes(nodes, selector or each, "outage")
    if [bool(nodes), bool(selector), bool(each)].count(True) > 1:
        raise TypeError("outage() takes nodes, a selector of nodes, or a label as each: only one of them")
    names = () if each else named_nodes(session, nodes, _selector("--selector", selector))
    deleted = options.get("deleted", False)
    with rare_garbage_collection():
        run, parameters = _runner(options, progress, each=bool(each)), parameters_of(options)
        if each:
            report = outage_each(session, each, Outages(deleted=deleted), parameters, run)
        else:
            report = play_outage(session, names, parameters, deleted=deleted)
    return answered(report, session)


def upgrade(session: Session, *, to: str, progress: Callable[[int, int], None] | None = None) -> Report:
    """What would the scheduler of another release decide differently?

    Compares the pending pods, and every workload as if its pods were restarted while all others stay.

    Args:
        session: the cluster, asked under the release that it runs.
        to: the other release, such as "1.37"; older ones can be asked about, too.
        progress: is called with how many workloads are done, of how many.

    Raises:
        InputError: the release is not modelled, or it refuses the configuration or a feature gate.
    """
    require_session(session, "upgrade")
    require_no_autoscaler(session, "upgrade")
    try:
        known_version(to)
    except ValueError as wrong:
        raise InputError([Problem("--to", str(wrong))]) from wrong
    options = ReleaseOptions(to, dict(session.scheduler.feature_gates) or None)
    with rare_garbage_collection():
        session = session.with_owners()
        asked = ask_release(options, "", (), live=False)
        other = replace(session.for_release(asked.release), caveats=(*session.caveats, *asked.caveats))
        return answered(ask_upgrade(session, other, *([progress] if progress else ())), session)


def _require_nodes(nodes: Sequence[str], otherwise: str, function: str) -> None:
    require_names(nodes, "node")
    if not nodes and not otherwise:
        raise TypeError(f"{function}() needs a node, or a selector of nodes")


def _runner(options: MaintenanceOptions, progress: Callable[[int, int], None] | None, *, each: bool) -> Runner:
    """The runner of the scenarios of `each`."""
    run = runner(options, ScenarioOutcome, progress)
    wrong = [f"--{name}" for name in ("jobs", "dask", "resume") if options.get(name)] if not each else []
    if wrong:
        raise InputError([Problem(name, "is about scenarios: give --each, too") for name in wrong])
    return run


def _selector(option: str, text: str) -> Selector | None:
    try:
        return selector_of(text) if text else None
    except Wrong as wrong:
        raise InputError([Problem(option, wrong.message, hint=wrong.hint)]) from wrong


# --- which processes play many scenarios, and the file that keeps their results --------------------------------------


def runner(
    options: MaintenanceOptions,
    kind: type[Outcome],
    progress: Callable[[int, int], None] | None,
    goes_on: Callable[[], bool] = lambda: True,
) -> Callable[[ScenarioPlayer[S, Outcome], Sequence[S]], Iterator[Outcome]]:
    """A runner that plays the scenarios as the options say, except those that the file of `resume` already has.

    Args:
        options: which processes play.
        kind: the type of a result.
        progress: is called with how many scenarios are done, of how many.
        goes_on: whether there is still time; called after each scenario, and during it.

    Raises:
        InputError: the options contradict each other.
    """
    jobs, dask, resume = options.get("jobs", 0), options.get("dask", ""), options.get("resume", "")
    if jobs and dask:
        raise InputError([Problem("--jobs", "the workers of --dask play the scenarios: give one of the two")])
    if jobs < 0:
        raise InputError([Problem("--jobs", "is less than 1")])
    advance = progress or (lambda done, total: None)  # noqa: ARG005

    def run(player: ScenarioPlayer[S, Outcome], scenarios: Sequence[S]) -> Iterator[Outcome]:
        player.is_awaited = goes_on
        with SweepFile(resume, player, kind) if resume else nullcontext() as file, suppress(OutOfTime):
            known = file.outcomes if file is not None else {}
            left = [scenario for scenario in scenarios if scenario.name not in known]
            yield from [known[scenario.name] for scenario in scenarios if scenario.name in known]
            advance(len(scenarios) - len(left), len(scenarios))
            for number, outcome in enumerate(_played(player, left, jobs, dask), len(scenarios) - len(left) + 1):
                if file is not None:
                    file.add(outcome)
                advance(number, len(scenarios))
                yield outcome
                if not goes_on():
                    return

    return run


def _played(player: ScenarioPlayer[S, Outcome], scenarios: Sequence[S], jobs: int, dask: str) -> Iterator[Outcome]:
    if dask:
        from kwhatif.sweep.on_dask import play_on_dask

        return play_on_dask(player, scenarios, dask)
    return play(player, scenarios, jobs)
