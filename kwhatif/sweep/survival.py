"""The rule `survives` of a gate: once the manifests are applied, may any one node, or zone, still fail?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kwhatif.edits.edit import Apply
from kwhatif.errors import InputError
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.node import ZONE
from kwhatif.policy.aftermath import Fragile
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.player import together
from kwhatif.report.maintenance import VerdictRow
from kwhatif.simulation.parameters import Parameters
from kwhatif.sweep.scenario import NodePlayer, Outages, Runner, SweepScenario, groups_of, trouble


def survival(
    session: Session, objects: Iterable[KubernetesObject], kinds: Sequence[str], run: Runner
) -> tuple[list[Fragile], tuple[Caveat, ...]]:
    """The nodes and zones that may no longer fail, and the caveats.

    Args:
        session: the cluster without the manifests.
        objects: the objects of the manifests.
        kinds: "node" and "zone", one of them or both.
        run: plays the scenarios.
    """
    before = NodePlayer(session, Parameters(), Outages())
    after = NodePlayer(session, Parameters(), Outages(), [Apply(text="apply", objects=tuple(objects))])
    try:
        base = after.base
    except InputError as wrong:
        said = "; ".join(problem.message for problem in wrong.problems)
        return [Fragile(kind, unjudged=said) for kind in kinds], ()
    found = [fragile for kind in kinds for fragile in _of_kind(kind, before, after, run)]
    return found, base.caveats(base.engine)


def _of_kind(kind: str, before: NodePlayer, after: NodePlayer, run: Runner) -> Iterator[Fragile]:
    """One finding about all that may not fail with the manifests, but may without them."""
    session = after.session
    nodes = [SweepScenario(node.name, (node.name,)) for node in session.state.nodes]
    scenarios = nodes if kind == "node" else groups_of(session, ZONE)
    if not scenarios:
        lacking = f"no node has the label {ZONE}" if kind == "zone" else "there are no nodes"
        yield Fragile(kind, unjudged=lacking)
        return
    rows = sorted((outcome.row for outcome in run(after, together(session, scenarios))), key=trouble)
    bad = {row.scenario: row.verdict for row in rows if not row.verdict.ok}
    again = [scenario for scenario in scenarios if scenario.name in bad]
    known = {outcome.row.scenario: outcome.row.verdict for outcome in run(before, together(before.session, again))}
    worse = [name for name, verdict in bad.items() if _is_worse(verdict, known[name])]
    if worse:
        yield Fragile(kind, worse[0], bad[worse[0]], more=len(worse) - 1)


def _is_worse(now: VerdictRow, before: VerdictRow) -> bool:
    return before.ok or len(now.pending) > len(before.pending)
