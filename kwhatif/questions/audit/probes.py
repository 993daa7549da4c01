"""The what-ifs of an audit: each probe is one of the other questions, asked about everything in the cluster."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from kwhatif.admission.plugins import classes_above
from kwhatif.edits.made import named, restart, scale
from kwhatif.kube.matching.requests import pod_resources
from kwhatif.kube.model.bystanders import HorizontalPodAutoscaler
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import Cluster, ObjectRef
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import ZONE, Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import SCALABLE, DaemonSet, Deployment, StatefulSet
from kwhatif.questions.audit.harms import PlayedProbe, evicted_by
from kwhatif.questions.audit.scenario import AuditOutcome, AuditScenario, ProbeScenarios, Stage
from kwhatif.questions.audit.standing import BudgetProbe, Pending, Returns, Upgrade, Usage
from kwhatif.questions.maintenance.drain import DrainSimulation
from kwhatif.questions.maintenance.outage import OutageSimulation
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.rows import story_of
from kwhatif.questions.story.settled_cluster import Simulation, together
from kwhatif.report.risks import AuditHarm, HarmRow, ProbeName
from kwhatif.report.story import Story
from kwhatif.workloads.counts import scalers_of, target_of
from kwhatif.workloads.expand import replicas_of


class Probe(Protocol):
    """One kind of what-if."""

    @property
    def name(self) -> ProbeName:
        """Its name, as `--only` takes it."""

    def scenarios(self, session: Session, namespace: str) -> ProbeScenarios:
        """What is asked; `namespace`: only about workloads there, "" for all."""

    def harms(self, scenario: AuditScenario, stage: Stage) -> Iterator[HarmRow | Caveat]:
        """What is wrong, and caveats about the answer."""

    def command(self, scenario: AuditScenario) -> str:
        """The command that shows it."""


class _Nodes(PlayedProbe):
    def scenarios(self, session: Session, namespace: str) -> ProbeScenarios:
        """Each node alone."""
        del namespace
        found = [AuditScenario(self.name, node.name, (node.name,)) for node in session.state.nodes]
        return ProbeScenarios(together(session, found), "" if found else "there are no nodes")


class Outage(_Nodes):
    """Each node is lost."""

    name: ProbeName = "outage"

    def command(self, scenario: AuditScenario) -> str:
        """`outage NODE`."""
        return f"kwhatif outage {shlex.quote(scenario.about)}"


class Drain(_Nodes):
    """Each node is drained."""

    name: ProbeName = "drain"

    def command(self, scenario: AuditScenario) -> str:
        """`drain NODE` with the flags that the audit takes."""
        return f"kwhatif drain {shlex.quote(scenario.about)} --ignore-daemonsets --delete-emptydir-data --force"


class Zone(PlayedProbe):
    """Each zone is lost."""

    name: ProbeName = "zone"

    def scenarios(self, session: Session, namespace: str) -> ProbeScenarios:
        """Each zone alone, if there are several."""
        del namespace
        zones: dict[str, list[str]] = {}
        for name, node in session.cluster.all(Node).items():
            zones.setdefault(node.metadata.labels.get(ZONE, ""), []).append(name)
        without = zones.pop("", [])
        if len(zones) < 2:
            return ProbeScenarios((), f"no node has the label {ZONE}" if not zones else "all nodes are in one zone")
        left_out = f"{len(without)} nodes have no label {ZONE}" if without else ""
        found = [AuditScenario(self.name, zone, tuple(sorted(nodes))) for zone, nodes in zones.items()]
        return ProbeScenarios(together(session, found), left_out)

    def command(self, scenario: AuditScenario) -> str:
        """`outage LABEL`."""
        return f"kwhatif outage {shlex.quote(f'{ZONE}={scenario.about}')}"


# --- changes of a workload -------------------------------------------------------------------------------------------


class _EditProbe(PlayedProbe):
    """An edit is made."""

    def command(self, scenario: AuditScenario) -> str:
        """`simulate --then EDIT`."""
        assert scenario.edit is not None
        return f"kwhatif simulate --then {shlex.quote(scenario.edit.text)}"


class _Edited(_EditProbe):
    """A workload is changed: effects on its own pods are one harm, effects on others another."""

    harm: AuditHarm

    def found(self, played: Simulation, scenario: AuditScenario, stage: Stage) -> Iterator[HarmRow]:
        """What is worse at the end; the pods of the workload itself that get no node are the subject."""
        for row in super().found(played, scenario, stage):
            is_own = row.subject == scenario.about and row.cause != "loop"
            yield replace(row, harm=self.harm) if is_own else row


class Restart(_Edited):
    """Each workload is restarted, by its own strategy."""

    name: ProbeName = "restart"
    harm: AuditHarm = "restart-hangs"

    def scenarios(self, session: Session, namespace: str) -> ProbeScenarios:
        """Each Deployment, StatefulSet and DaemonSet that rolls."""
        found = [
            AuditScenario(self.name, name, edit=restart(named(name)))
            for name, workload in _workloads(
                session.with_owners().cluster, namespace, (Deployment, StatefulSet, DaemonSet)
            )
            if _rolls(workload)
        ]
        return ProbeScenarios(found, "" if found else "no workload rolls")


def _rolls(workload: object) -> bool:
    match workload:
        case Deployment():
            return not workload.spec.paused and replicas_of(workload) > 0
        case StatefulSet():
            return workload.spec.update_strategy.type != "OnDelete" and replicas_of(workload) > 0
        case DaemonSet():
            return workload.spec.update_strategy.type != "OnDelete"
    return False


class Replica(_Edited):
    """Each workload without an autoscaler gets one more pod."""

    name: ProbeName = "replica"
    harm: AuditHarm = "no-growth"

    def scenarios(self, session: Session, namespace: str) -> ProbeScenarios:
        """One more pod than it has."""
        cluster = session.with_owners().cluster
        found = [
            AuditScenario(self.name, name, edit=scale(named(name), count + 1), count=count + 1)
            for name, each in _workloads(cluster, namespace, SCALABLE)
            if (count := replicas_of(each)) > 0 and not scalers_of(each, cluster)
        ]
        return ProbeScenarios(found, "" if found else "no workload can be scaled")


class Peak(_Edited):
    """Each workload gets as many pods as its HorizontalPodAutoscaler allows."""

    name: ProbeName = "peak"
    harm: AuditHarm = "peak-out-of-reach"

    def scenarios(self, session: Session, namespace: str) -> ProbeScenarios:
        """The maximum of each autoscaler, if it is not reached yet."""
        cluster = session.with_owners().cluster
        most: dict[str, int] = {}
        for scaler in cluster.all(HorizontalPodAutoscaler).values():
            target = target_of(scaler, cluster)
            if target is None or namespace not in ("", target.metadata.namespace) or not replicas_of(target):
                continue
            limit = scaler.spec.max_replicas or 0
            if limit > replicas_of(target):
                most[scaler.target] = min(limit, most.get(scaler.target, limit))
        found = [
            AuditScenario(self.name, name, edit=scale(named(name), count), count=count)
            for name, count in sorted(most.items())
        ]
        return ProbeScenarios(found, "" if found else "no HorizontalPodAutoscaler is below its maximum")


#: The number of new pods per node, and in total.
_MORE, _MOST_MORE = 2, 60


class Arrival(_EditProbe):
    """More pods of each priority class are created than there is room for: which pods do they evict?"""

    name: ProbeName = "arrival"

    def scenarios(self, session: Session, namespace: str) -> ProbeScenarios:
        """For each class that may evict, scale up the workload whose pods request the most."""
        del namespace  # new pods may evict pods of any namespace
        session = session.with_owners()
        cluster = session.cluster
        lowest = min((info.priority for info in session.state.pods.values()), default=0)
        classes = classes_above(lowest, cluster)
        largest = _largest_by_class(cluster)
        found = [
            AuditScenario(self.name, name, edit=scale(named(largest[name][1]), count), count=count)
            for each in classes
            if (name := each.metadata.name) in largest
            for count in [largest[name][2] + min(_MORE * len(session.state.nodes), _MOST_MORE)]
        ]
        unused = [each.metadata.name for each in classes if each.metadata.name not in largest]
        skipped = f"no workload has the class {', '.join(unused)}" if unused else ""
        return ProbeScenarios(found, skipped or ("" if found else "no class may evict"))

    def found(self, played: Simulation, scenario: AuditScenario, stage: Stage) -> Iterator[HarmRow]:
        """The workloads that matter and are evicted."""
        return evicted_by(played, scenario, stage)


def _largest_by_class(cluster: Cluster) -> Mapping[str, tuple[tuple[int, int], str, int]]:
    """By class, the workload whose pods request the most cpu and memory, and its number of pods."""
    found: dict[str, tuple[tuple[int, int], str, int]] = {}
    for name, workload in _workloads(cluster, "", SCALABLE):
        template = workload.spec.template
        if template is None or not replicas_of(workload):
            continue
        asked = pod_resources(Pod(spec=template.spec), cluster.facts.resizes).requested
        size = (asked.cpu, asked.memory), name, replicas_of(workload)
        key = template.spec.priority_class_name
        found[key] = max(found.get(key, size), size)
    return found


def _workloads(cluster: Cluster, namespace: str, kinds: Sequence[type]) -> Iterator[tuple[str, Any]]:
    """The workloads of these kinds that no other workload makes, by name."""
    for kind in kinds:
        for key in sorted(cluster.all(kind)):
            workload: Any = cluster.all(kind)[key]
            meta = workload.metadata
            if namespace in ("", meta.namespace) and controller_of(meta) is None and meta.deletion_timestamp is None:
                yield str(ObjectRef.of(workload)), workload


#: In the order in which they are asked: cheap and certain ones first.
_ALL: tuple[Probe, ...] = (
    Pending(),
    BudgetProbe(),
    Outage(),
    Zone(),  # the slowest ones do not come last, when all other processes are idle
    Drain(),
    Restart(),
    Peak(),
    Replica(),
    Arrival(),
    Returns(),
    Upgrade(),
    Usage(),
)
PROBES: Mapping[ProbeName, Probe] = {probe.name: probe for probe in _ALL}


#: What manifests may make worse.
OF_CHANGES: tuple[ProbeName, ...] = ("pending", "budgets", "outage", "drain", "restart", "zone", "peak")


class AuditPlayer(Stage):
    """Plays each scenario with its probe."""

    def _outcome(self, scenario: AuditScenario) -> AuditOutcome:
        start = time.process_time()
        found = list(PROBES[scenario.probe].harms(scenario, self))
        harms = tuple(each for each in found if isinstance(each, HarmRow))
        caveats = tuple(each for each in found if not isinstance(each, HarmRow))
        return AuditOutcome(scenario.name, harms, caveats, round(time.process_time() - start, 3))

    def story(self, scenario: AuditScenario) -> Story | None:
        """The edit of the scenario; None if nothing is simulated for it."""
        if not isinstance(PROBES[scenario.probe], PlayedProbe):
            return None
        played = self.played(scenario)
        if isinstance(played, DrainSimulation):
            return played.story(played.blocked)
        return played.story() if isinstance(played, OutageSimulation) else story_of(played.ending, (), self.base.asked)


def command_of(scenario: AuditScenario) -> str:
    """The command that shows what a scenario finds."""
    return PROBES[scenario.probe].command(scenario)
