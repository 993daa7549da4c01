"""`kwhatif.simulate`: what happens until the cluster has settled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from msgspec.structs import replace

from kwhatif.api.arguments import require_edits, require_known, require_session, with_gangs
from kwhatif.api.options import SimulationOptions
from kwhatif.api.pages import answered
from kwhatif.edits.edit import SourcedEdit
from kwhatif.errors import InputError, Problem
from kwhatif.garbage import rare_garbage_collection
from kwhatif.kube.model.caveat import Caveat, merged
from kwhatif.questions.manifests.applied import steps_of, with_gate
from kwhatif.questions.session.completeness import without_modelled
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.rows import Runs
from kwhatif.questions.story.simulate import applied_in
from kwhatif.questions.story.simulate import simulate as play
from kwhatif.report import Report
from kwhatif.simulation.parameters import Parameters
from kwhatif.sources.decoding.stand_ins import settled
from kwhatif.sources.decoding.strict import parse_validation
from kwhatif.sources.manifests.applied import all_applied
from kwhatif.sources.manifests.edits import read_edits
from kwhatif.sources.manifests.given import Source, named_inputs
from kwhatif.sources.manifests.read import read_manifest_set
from kwhatif.sources.manifests.scenario import parse_parameter, read_scenario
from kwhatif.sources.manifests.unmodelled import in_cluster
from kwhatif.sources.text.files import standard_input


def simulate(
    session: Session,
    *manifests: Source,
    then: Sequence[str | Mapping[str, Any]] = (),
    scenario: str | None = None,
    namespace: str | None = None,
    validation: str = "strict",
    progress: Callable[[int, int], None] | None = None,
    **options: Unpack[SimulationOptions],
) -> Report:
    """What follows if this is applied and these edits are made, until nothing happens any more?

    Args:
        session: the cluster.
        manifests: objects to apply first, all at once.
        then: edits to make, each once the cluster has settled; see `docs/edits.md`.
        scenario: a file with steps and parameters: they come after the manifests, and before `then`.
        namespace: of objects that name none; else that of the live cluster's context, or `default`.
        validation: see `schedule`.
        progress: is called with how many of the runs are done, of how many.
        options: how long things take, and how often to play it, see `SimulationOptions`.

    Raises:
        InputError: with what is wrong with manifests, edits or the scenario; or a step is refused.
        ValueError: a duration is not valid, or `runs` is negative.
    """
    require_session(session, "simulate")
    require_known(options, SimulationOptions, "simulate")
    runs, seed = options.get("runs", 0), options.get("seed", 1)
    require_edits(then, "then")
    if runs < 0:
        raise ValueError(f"runs: {runs} is negative")
    where, stdin, minor = namespace or session.namespace, standard_input(), session.cluster.facts.minor
    parameters = parameters_of(options)
    steps: list[SourcedEdit] = []
    caveats: Sequence[Caveat] = ()
    if manifests:
        applied, caveats = _applied(session, named_inputs(manifests, "manifest"), where, validation)
        steps += applied
    if scenario is not None:
        file = read_scenario(scenario, parameters, namespace=where, stdin=stdin, minor=minor)
        parameters = file.parameters
        steps += file.steps
    read = read_edits(then, namespace=where, stdin=stdin, minor=minor, option="--then")
    if read.problems:
        raise InputError(read.problems)
    session = with_gate(session, applied_in(steps))
    caveats = tuple(without_modelled(caveats, session.cluster))
    with rare_garbage_collection():
        report = play(session, (*steps, *read.edits), parameters, where, Runs(runs, seed, progress) if runs else None)
    return answered(replace(report, caveat_details=merged((*caveats, *report.caveat_details))), session)


def parameters_of(options: Mapping[str, object]) -> Parameters:
    """The times of a simulation, from the options.

    Raises:
        InputError: one is not a duration.
    """
    names = [name for name in options if name in Parameters.__struct_fields__]
    return replace(Parameters(), **{name: seconds_of(name, str(options[name])) for name in names})


def seconds_of(name: str, text: str) -> float | None:
    """The seconds of a parameter such as "30s"; None for values that depend on the pods ("grace", "probe").

    Raises:
        InputError: it is neither.
    """
    try:
        return parse_parameter(name, text)
    except ValueError as wrong:
        raise InputError([Problem(f"--{name}", str(wrong))]) from wrong


def _applied(
    session: Session, names: Sequence[str], namespace: str, validation: str
) -> tuple[list[SourcedEdit], Sequence[Caveat]]:
    """The steps that apply the manifests, and caveats about them."""
    read = read_manifest_set(
        names,
        stdin=standard_input(),
        default_namespace=namespace,
        validation=parse_validation(validation),
        minor=session.cluster.facts.minor,
        kinds=session.workload_kinds,
    )
    if read.problems:
        raise InputError(read.problems)
    applied, caveats = with_gangs(all_applied(settled(read.manifests, session.cluster)), session)
    steps = steps_of(", ".join(names), applied, f"apply {' '.join(names)}", session.cluster)
    return list(steps), [*in_cluster(read.caveats, applied, session.cluster), *caveats]
