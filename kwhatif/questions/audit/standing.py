"""The probes of the cluster as it stands: pending pods, the next release, pods that cannot return, usage, budgets."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from kwhatif.controllers.disruption import pods_selected_by
from kwhatif.edits.made import evict, object_of
from kwhatif.kube.matching.labels import SelectorError, compile_selector
from kwhatif.kube.matching.owners import root_of
from kwhatif.kube.matching.requests import CPU, MEMORY, resource_nanos
from kwhatif.kube.model.bystanders import PodMetrics
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import Cluster, ObjectRef, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, is_ready, is_terminal
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.workload import SCALABLE
from kwhatif.questions.audit.harms import PlayedProbe
from kwhatif.questions.audit.scenario import AuditScenario, ProbeScenarios, Stage
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.settled_cluster import Simulation
from kwhatif.questions.upgrade.upgrade import ask_upgrade
from kwhatif.report.risks import AuditCause, HarmRow, ProbeName
from kwhatif.scheduler.framework.attempt import objections_on
from kwhatif.scheduler.framework.evidence import CordonedNode, UntoleratedTaint, taint_text
from kwhatif.scheduler.framework.profile import profile_of
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.release import MINORS, find_release
from kwhatif.simulation.pods import unbound
from kwhatif.state.change import Delete
from kwhatif.state.pod_info import PodInfo

#: An edit that does nothing.
NOW = AuditScenario("pending", "now")


class Pending(PlayedProbe):
    """The pods that are pending now, and the workloads whose pods are refused."""

    name: ProbeName = "pending"

    def scenarios(self, session: Session, namespace: str) -> ProbeScenarios:
        """The cluster once it has settled by itself."""
        del session, namespace
        return ProbeScenarios([NOW])

    def found(self, played: Simulation, scenario: AuditScenario, stage: Stage) -> Iterator[HarmRow]:
        """What stays pending, or refused, if nothing happens; gated pods are meant to wait."""
        return (row for row in super().found(played, scenario, stage) if row.cause != "gates")

    def command(self, scenario: AuditScenario) -> str:
        """`simulate`, without anything to do."""
        del scenario
        return "kwhatif simulate"


class Upgrade:
    """The scheduler of the next release."""

    name: ProbeName = "upgrade"

    def scenarios(self, session: Session, namespace: str) -> ProbeScenarios:
        """The release after the cluster's own."""
        del namespace
        following = session.cluster.facts.minor + 1
        if following not in MINORS:
            return ProbeScenarios((), f"1.{following} is not known here")
        return ProbeScenarios([AuditScenario("upgrade", f"1.{following}", count=following)])

    def harms(self, scenario: AuditScenario, stage: Stage) -> Iterator[HarmRow | Caveat]:
        """The workloads whose pods would lose their node, or evict more pods."""
        session = stage.settled
        other = session.for_release(find_release(scenario.count))
        row = ask_upgrade(session, other).upgrade
        for each in row.worse if row is not None else ():
            yield HarmRow(
                probe="upgrade",
                scenario=scenario.about,
                harm="upgrade-worse",
                cause="release",
                subject=each.workload,
                about=each.rules or each.plugins,
                pods=1,
                example=each.pod,
                said=f"{each.before.outcome} before, {each.after.outcome} after",
            )

    def command(self, scenario: AuditScenario) -> str:
        """`upgrade --to VERSION`."""
        return f"kwhatif upgrade --to {scenario.about}"


# --- pods that cannot come back where they are -------------------------------------------------------------------

#: Rules about the node alone, and what has changed if one rejects a pod that already runs there.
_CHANGED: Mapping[str, AuditCause] = {
    "NodeAffinity": "labels",
    "TaintToleration": "taint",
    "VolumeZone": "volume",
    "VolumeBinding": "volume",
}
#: Taints that come and go by themselves: conditions, and the beginning and end of a node's life.
_PASSING = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "karpenter.sh/", "ToBeDeletedBy")


class Returns:
    """For each workload the pods that would not be placed again where they run."""

    name: ProbeName = "return"

    def scenarios(self, session: Session, namespace: str) -> ProbeScenarios:
        """All workloads in one: most of their pods share verdicts."""
        del session
        return ProbeScenarios([AuditScenario("return", namespace or "all namespaces")])

    def harms(self, scenario: AuditScenario, stage: Stage) -> Iterator[HarmRow | Caveat]:
        """By workload and cause: how many of its pods could not be placed again."""
        engine = stage.base.engine
        state = engine.api_server.state
        state.prepare()  # forks share what is built here
        verdicts: dict[tuple[str, int], tuple[AuditCause, str] | None] = {}
        found: dict[tuple[str, AuditCause, str], list[PodInfo]] = {}
        counts: dict[str, int] = {}
        for node in state.nodes:
            for info in node.pods:
                owner = controller_of(info.pod.metadata)
                if owner is None or owner.kind in ("DaemonSet", "Node", "Job"):
                    continue
                root = engine.tally.root(info.pod)
                counts[root] = counts.get(root, 0) + 1
                place = root, node.shape
                has_volumes = any(each.persistent_volume_claim for each in info.pod.spec.volumes)
                if has_volumes or place not in verdicts:
                    verdicts[place] = self._why_not(info, node.name, stage)
                why = verdicts[place]
                if why is not None:
                    found.setdefault((root, *why), []).append(info)
        for (root, cause, about), pods in found.items():
            if scenario.about in ("all namespaces", pods[0].namespace):
                yield HarmRow(
                    probe="return",
                    scenario=pods[0].key,
                    harm="no-way-back",
                    cause=cause,
                    subject=root,
                    about=(about,) if about else (),
                    pods=len(pods),
                    of=counts[root],
                    priority=max(info.priority for info in pods),
                    example=pods[0].key,
                    said=f"node {pods[0].pod.spec.node_name}",
                )

    def _why_not(self, info: PodInfo, node: str, stage: Stage) -> tuple[AuditCause, str] | None:
        session = stage.session
        profile = profile_of(info.pod, session.profiles)
        if profile is None:
            return None
        state = stage.base.engine.api_server.state.fork()
        state.apply(Delete(Pod, info.key))
        for verdict in objections_on(profile, PodInfo(unbound(info.pod)), state, node):
            cause = _CHANGED.get(verdict.plugin)
            if cause is not None and not _is_passing(verdict):
                return cause, _words(verdict)
        return None

    def command(self, scenario: AuditScenario) -> str:
        """`schedule pod/NAMESPACE/NAME`."""
        return f"kwhatif schedule {shlex.quote(f'pod/{scenario.about}')}"


def _is_passing(verdict: Verdict) -> bool:
    first = next(iter(verdict.status.evidence), None)
    return isinstance(first, CordonedNode) or (isinstance(first, UntoleratedTaint) and first.key.startswith(_PASSING))


def _words(verdict: Verdict) -> str:
    first = next(iter(verdict.status.evidence), None)
    if isinstance(first, UntoleratedTaint):
        return taint_text(first)
    terms = getattr(first, "terms", ())
    return ", ".join(terms)


# --- requests and usage ------------------------------------------------------------------------------------------

#: A workload that uses less than this share of its requests, or more than that one.
_LITTLE, _MUCH = 0.2, 1.5
#: The smallest difference between requests and use that is worth a line: nano-units of a core, and of a byte.
_WORTH = {CPU: 10**9, MEMORY: 2**30 * 10**9}


class Usage:
    """Requests that are far from the real use."""

    name: ProbeName = "usage"

    def scenarios(self, session: Session, namespace: str) -> ProbeScenarios:
        """Only where metrics were read."""
        if not session.cluster.all(PodMetrics):
            return ProbeScenarios((), "no PodMetrics were read")
        return ProbeScenarios([AuditScenario("usage", namespace or "all namespaces")])

    def harms(self, scenario: AuditScenario, stage: Stage) -> Iterator[HarmRow | Caveat]:
        """Workloads that use much less than they request, or much more."""
        engine = stage.base.engine
        metrics = stage.session.cluster.all(PodMetrics)
        sums: dict[str, dict[str, list[int]]] = {}
        pods: dict[str, list[PodInfo]] = {}
        for info in engine.api_server.state.pods.values():
            measured = metrics.get(info.key)
            if measured is None or scenario.about not in ("all namespaces", info.namespace):
                continue
            root = engine.tally.root(info.pod)
            pods.setdefault(root, []).append(info)
            usage: dict[str, int] = {}
            for container in measured.containers:
                for name, amount in resource_nanos(container.usage).items():
                    usage[name] = usage.get(name, 0) + amount
            for name, scale in ((CPU, 10**6), (MEMORY, 10**9)):
                asked, used = sums.setdefault(root, {}).setdefault(name, [0, 0])
                sums[root][name] = [asked + info.resources.requested.of(name) * scale, used + usage.get(name, 0)]
        for root, by_name in sums.items():
            for name, (asked, used) in by_name.items():
                cause: AuditCause = "asks-too-much" if asked > used else "asks-too-little"
                far = used < asked * _LITTLE if asked > used else used > asked * _MUCH
                if far and abs(asked - used) >= _WORTH[name]:
                    yield HarmRow(
                        probe="usage",
                        scenario=root,
                        harm="requests-far",
                        cause=cause,
                        subject=root,
                        about=(name,),
                        pods=len(pods[root]),
                        of=len(pods[root]),
                        priority=max(info.priority for info in pods[root]),
                        example=pods[root][0].key,
                        said=f"{round(100 * used / asked)}%" if asked else "",
                    )

    def command(self, scenario: AuditScenario) -> str:
        """What the metrics say."""
        return f"kubectl top pods -n {shlex.quote(ObjectRef.parse(scenario.about).namespace)}"


# --- budgets ---------------------------------------------------------------------------------------------------------

#: The most pods that are evicted: if all of these go, and nothing is required, nothing is protected.
_MOST = 12


class BudgetProbe(PlayedProbe):
    """Each budget: does it stop anything when all of its pods are evicted at once?"""

    name: ProbeName = "budgets"

    def scenarios(self, session: Session, namespace: str) -> ProbeScenarios:
        """The budgets of the namespace."""
        cluster = session.with_owners().cluster
        if "PodDisruptionBudget" in cluster.facts.unread:
            return ProbeScenarios((), "the budgets could not be read")
        found = [
            self._scenario(key, cluster)
            for key, budget in sorted(cluster.all(PodDisruptionBudget).items())
            if namespace in ("", budget.metadata.namespace)
        ]
        return ProbeScenarios(found, "" if found else "there are no budgets")

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

    def found(self, played: Simulation, scenario: AuditScenario, stage: Stage) -> Iterator[HarmRow]:
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
