"""`AuditScenario`: one what-if; and `Stage`: the cluster that all of them are asked of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from kwhatif.controllers.drain_filters import WITH_FLAGS
from kwhatif.edits.edit import Edit, SourcedEdit
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import Cluster
from kwhatif.questions.audit.causes import PendingCause
from kwhatif.questions.maintenance.drain import DrainSimulation
from kwhatif.questions.maintenance.outage import OutageSimulation
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.outcome import Ending
from kwhatif.questions.story.settled_cluster import ScenarioPlayer, SettledCluster, Simulation
from kwhatif.questions.story.simulate import StepPlayer
from kwhatif.report.risks import HarmRow, ProbeName


class AuditScenario(msgspec.Struct, frozen=True):
    """One what-if: nodes that fail or are drained, or an edit."""

    probe: ProbeName
    #: The node, zone, workload, budget or class in question.
    about: str
    nodes: tuple[str, ...] = ()
    edit: Edit | None = None
    #: Further data of the probe.
    count: int = 0

    @property
    def name(self) -> str:
        """No other scenario has it."""
        return f"{self.probe} {self.about}"


class ProbeScenarios(NamedTuple):
    """The scenarios of a probe; `skipped` says why there are none, or which were left out."""

    scenarios: Sequence[AuditScenario]
    skipped: str = ""


class AuditOutcome(msgspec.Struct, frozen=True):
    """The effect of the scenario with that name, and the seconds of processor time that it took."""

    name: str
    harms: tuple[HarmRow, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    took: float = 0.0


class EditSimulation(Simulation):
    """A simulation in which an edit is made, if any."""

    def __init__(self, base: SettledCluster, edit: Edit | None) -> None:
        """`edit`: None: nothing is done, and everything that is wrong counts."""
        super().__init__(base)
        self._edit = edit
        if edit is not None:
            StepPlayer(self.engine, base.session.namespace).perform(SourcedEdit(edit.text, edit))
            self.engine.settle()

    @property
    def ending(self) -> Ending:
        """The cluster now, compared with the cluster without the edit."""
        return Ending(self.engine) if self._edit is None else super().ending


class Stage(ScenarioPlayer[AuditScenario, AuditOutcome]):
    """What the probes see of the player: the settled cluster, and results that are kept."""

    #: Which what-ifs are asked changes no outcome.
    question = "audit"

    @cached_property
    def causes(self) -> dict[tuple[str, str, tuple[str, ...]], PendingCause]:
        """By owner, the scheduler's words, and the nodes of the scenario: why a pod is pending."""
        return {}

    @property
    def cluster(self) -> Cluster:
        """The cluster that scenarios start from."""
        return self.base.engine.api_server.state.cluster

    @property
    def settled(self) -> Session:
        """The session at that moment: with what the edits have made."""
        return self.session.at(self.base.engine.api_server.state) if self.edits else self.session

    @cached_property
    def priorities(self) -> Mapping[str, int]:
        """The highest priority of each workload's pods."""
        found: dict[str, int] = {}
        engine = self.base.engine
        for info in engine.api_server.state.pods.values():
            name = engine.tally.root(info.pod)
            found[name] = max(found.get(name, info.priority), info.priority)
        return found

    def played(self, scenario: AuditScenario) -> Simulation:
        """The simulation of the scenario, as the command plays it that shows its findings."""
        match scenario.probe:
            case "outage" | "zone":
                return OutageSimulation(self.base, scenario.nodes, deleted=False)
            case "drain":
                return DrainSimulation(self.base, scenario.nodes, WITH_FLAGS)
        return EditSimulation(self.base, scenario.edit)
