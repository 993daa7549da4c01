"""The probe of disruption budgets: all pods of each are evicted at once."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from kwhatif.controllers.disruption import pods_selected_by
from kwhatif.edits.made import evict, object_of
from kwhatif.kube.matching.labels import SelectorError, compile_selector
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod import Pod, is_ready, is_terminal
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.workload import SCALABLE
from kwhatif.questions.audit.harms import PlayedProbe
from kwhatif.questions.audit.scenario import Asked, AuditScenario, Stage
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.played import Played
from kwhatif.report.risks import AuditCause, HarmRow, ProbeName
from kwhatif.simulation.view import root_of

#: The most pods that are evicted: if all of these go, and nothing is required, nothing is protected.
_MOST = 12


class Budgets(PlayedProbe):
    """Each budget: does it stop anything when all of its pods are evicted at once?"""

    name: ProbeName = "budgets"

    def scenarios(self, session: Session, namespace: str) -> Asked:
        """The budgets of the namespace."""
        cluster = session.with_owners().cluster
        if "PodDisruptionBudget" in cluster.unread:
            return Asked((), "the budgets could not be read")
        found = [
            self._scenario(key, cluster)
            for key, budget in sorted(cluster.all(PodDisruptionBudget).items())
            if namespace in ("", budget.metadata.namespace)
        ]
        return Asked(found, "" if found else "there are no budgets")

    def _scenario(self, key: str, cluster: Cluster) -> AuditScenario:
        pods = [key_of(pod) for pod in _running(pods_selected_by(key, cluster))] or _meant(key, cluster)
        edit = evict([object_of(Pod, pod) for pod in pods[:_MOST]]) if pods else None
        return AuditScenario("budgets", key, edit=edit, count=len(pods))

    def harms(self, scenario: AuditScenario, stage: Stage) -> Iterator[HarmRow | Caveat]:
        """A budget that selects nothing, or allows the eviction of all of its pods at once."""
        base = stage.base.engine.api_server.state.cluster
        budget = base.all(PodDisruptionBudget)[scenario.about]
        pods = _running(pods_selected_by(scenario.about, base))
        subject = f"PodDisruptionBudget {scenario.about}"
        if not pods and not pods_selected_by(scenario.about, base):
            meant = sorted({_root(base.all(Pod)[key], base) for key in _meant(scenario.about, base)})
            yield _row(scenario, subject, "selects-nothing", tuple(meant))
            return
        demanded = budget.status.desired_healthy if budget.status is not None else 0
        if len(pods) < 2 or demanded or scenario.edit is None:
            return
        yield from super().harms(scenario, stage)

    def found(self, played: Played, scenario: AuditScenario, stage: Stage) -> Iterator[HarmRow]:
        """A budget that allows the eviction of all of its pods at once."""
        base = stage.base.engine.api_server.state.cluster
        pods = _running(pods_selected_by(scenario.about, base))
        gone = [each for each in played.engine.api_server.history.gone.values() if each.how == "Evicted"]
        if len(gone) >= min(len(pods), _MOST):
            owners, subject = tuple(sorted({_root(pod, base) for pod in pods})), f"PodDisruptionBudget {scenario.about}"
            yield _row(scenario, subject, "allows-all", owners, pods=len(pods), priority=_highest(pods))

    def command(self, scenario: AuditScenario) -> str:
        """`simulate --then "evict …"`; for a budget without pods, the audit of budgets."""
        if scenario.edit is None:
            return f"kwhatif audit --only budgets -n {shlex.quote(scenario.about.partition('/')[0])}"
        return f"kwhatif simulate --then {shlex.quote(scenario.edit.text)}"


def _row(
    scenario: AuditScenario,
    subject: str,
    cause: AuditCause,
    about: tuple[str, ...],
    *,
    pods: int = 0,
    priority: int = 0,
) -> HarmRow:
    return HarmRow(
        probe="budgets",
        scenario=scenario.about,
        harm="budget-useless",
        cause=cause,
        subject=subject,
        about=about,
        pods=pods,
        priority=priority,
    )


def _running(pods: Sequence[Pod]) -> list[Pod]:
    return sorted(
        (pod for pod in pods if is_ready(pod) and not is_terminal(pod) and pod.metadata.deletion_timestamp is None),
        key=key_of,
    )


def _highest(pods: Sequence[Pod]) -> int:
    return max((pod.spec.priority or 0 for pod in pods), default=0)


def _root(pod: Pod, cluster: Cluster) -> str:
    return root_of(pod, cluster) or f"Pod {key_of(pod)}"


def _meant(key: str, cluster: Cluster) -> list[str]:
    """The pods that a budget without pods is probably meant for: by one of its labels, or by a workload's name."""
    namespace = key.partition("/")[0]
    budget = cluster.all(PodDisruptionBudget)[key]
    wanted = set((budget.spec.selector.match_labels if budget.spec.selector is not None else {}).items())
    pods = [
        pod
        for pod in cluster.all(Pod).values()
        if pod.metadata.namespace == namespace and is_ready(pod) and pod.metadata.deletion_timestamp is None
    ]
    for kind in SCALABLE:
        workload = cluster.get(kind, key)
        if workload is not None and workload.spec.selector is not None:
            try:
                selector = compile_selector(workload.spec.selector)  # type: ignore[arg-type]
            except SelectorError:
                continue
            return sorted(key_of(pod) for pod in pods if selector.matches(pod.metadata.labels))
    return sorted(key_of(pod) for pod in pods if wanted & set(pod.metadata.labels.items()))
