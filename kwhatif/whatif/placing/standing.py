"""`Standing`: the nodes where a pod could make room for itself, and how they rank, kept up from replica to replica."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

from kwhatif.framework.cycle import Cycle, CycleError
from kwhatif.framework.diagnosis import fit_error, histogram
from kwhatif.framework.guard import unguarded
from kwhatif.framework.incremental import PostFilterKind, class_state, node_class, post_filter_kind
from kwhatif.framework.plugin import Reads
from kwhatif.framework.status import Code, Verdict
from kwhatif.preemption.budgets import Budgets
from kwhatif.preemption.candidate import Candidate, Preemption
from kwhatif.preemption.disruption import Spent
from kwhatif.preemption.evaluator import cleared_nominations
from kwhatif.preemption.policy import EvictsByPolicy, Policy
from kwhatif.preemption.victims import VictimSearch
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.whatif.placing.cell import Cell
from kwhatif.whatif.placing.order import all_ties
from kwhatif.whatif.placing.placement import Placement


class Standing:
    """What preemption comes to on every node, for pods that are all alike.

    Filters that look beyond a node divide the nodes into cells. What they say of a cell is their stance; while that
    stays, only nodes where pods come or go have to be looked at again.
    """

    def __init__(self, cycle: Cycle, policy: Policy, found: Preemption) -> None:
        """Set up.

        Args:
            cycle: of the first pod; its verdicts are up to date, and its filters are kept so.
            policy: the rules of preemption.
            found: what preemption came to for the first pod.
        """
        self._cycle = cycle
        self._policy = policy
        self._budgets = Budgets(cycle.snapshot.cluster)
        self._search = VictimSearch(cycle, policy, self._budgets)
        self._shared = [named for named in cycle.filters if named[1].reads is Reads.CLUSTER]
        self._cells: dict[Hashable, Cell] = {}
        self._cell_of: dict[str, Cell] = {}
        #: Plugins that rejected the pod before any node was looked at.
        self._before = cycle.unschedulable_plugins - {verdict.plugin for verdict in cycle.verdicts.values()}
        self._begin({candidate.node: candidate for candidate in found.candidates})

    def _begin(self, candidates: Mapping[str, Candidate]) -> None:
        verdicts, by_name = self._cycle.verdicts, self._cycle.snapshot.by_name
        members: dict[Hashable, list[str]] = {}
        for name in verdicts:
            members.setdefault(self._key(by_name[name]), []).append(name)
        for key, names in members.items():
            cell = self._cells[key] = Cell(key, names)
            cell.take_stance(self._stance(cell))
            cell.findings.begin({name: verdicts[name] for name in names}, candidates)
            self._cell_of.update(dict.fromkeys(names, cell))

    def place(self, pod: PodInfo) -> Placement | None:
        """Evict where that costs least; None when the scheduler would not."""
        cycle = self._cycle
        if self._policy.why_not_eligible(cycle):
            return None
        best = self._best()
        if best is None:
            return None
        current = [cell.findings for cell in self._cells.values()]
        reasons: Counter[str] = Counter()
        for findings in current:
            findings.count_reasons(reasons)
        total = len(cycle.snapshot.nodes)
        for reason in cycle.absent.status.reasons if cycle.absent else ():
            reasons[reason] += total - len(self._cell_of)
        return Placement(
            pod,
            "Preempts",
            best.node,
            fit_error(total, histogram(+reasons)),
            rejectors=tuple(sorted({*self._before, *(plugin for each in current for plugin in each.plugins)})),
            candidate=best,
            cleared_nominations=cleared_nominations(cycle, best),
            find_ties=all_ties((findings.order, best.rank) for findings in current),
        )

    def _best(self) -> Candidate | None:
        """The best candidate as it is now: of the right rank they all are, but numbers in their story may be old."""
        while tops := [top for cell in self._cells.values() if (top := cell.findings.order.best()) is not None]:
            rank, name = min(tops)
            self._look_at(name)
            best = self._cell_of[name].findings.candidates.get(name)
            if best is not None and best.rank == rank:
                return best
        return None

    # --- keeping up ----------------------------------------------------------------------------------

    def refresh(self, names: Iterable[str], spent: Sequence[Spent]) -> list[str]:
        """Pods came to these nodes or left them, and budgets allow less now; returns which nodes are feasible.

        Raises:
            CycleError: a plugin failed.
        """
        if spent:
            self._budgets = Budgets(self._cycle.snapshot.cluster)
            self._search = VictimSearch(self._cycle, self._policy, self._budgets)
        for name in names:
            if name in self._cell_of:
                self._assign(self._cycle.snapshot.by_name[name])
                self._cell_of[name].outdate(name)
        self._spend(spent)
        for cell in list(self._cells.values()):
            if not cell.names:
                del self._cells[cell.key]
                continue
            cell.take_stance(self._stance(cell))
            self._catch_up(cell)
        return sorted(name for cell in self._cells.values() for name in cell.findings.feasible)

    def _catch_up(self, cell: Cell) -> None:
        """Look at the nodes about which nothing is known in this stance."""
        for name in sorted(cell.findings.outdated):
            self._look_at(name)

    def _assign(self, node: NodeInfo) -> None:
        """Put the node into its cell; what is known of it in another one is forgotten."""
        key = self._key(node)
        before = self._cell_of.get(node.name)
        if before is not None:
            if before.key == key:
                return
            before.remove(node.name)
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = Cell(key)
        cell.add(node.name)
        self._cell_of[node.name] = cell

    def _key(self, node: NodeInfo) -> Hashable:
        if not self._shared:
            return ()
        classes = tuple([node_class(plugin, node) for _, plugin in self._shared])
        return classes, node.name if self._is_crowded(node) else ""

    def _stance(self, cell: Cell) -> Hashable:
        """What the filters that look beyond a node say of the cell; of a crowded node nothing that lasts."""
        node = self._cycle.snapshot.by_name[next(iter(cell.names))]
        return object() if self._is_crowded(node) else tuple([class_state(plugin, node) for _, plugin in self._shared])

    def _is_crowded(self, node: NodeInfo) -> bool:
        """Whether filters that look beyond a node have to be asked with nominated pods on it, too."""
        cycle = self._cycle
        return bool(self._shared and cycle.snapshot.nominated and cycle.nominated_on(node))

    def _spend(self, spent: Sequence[Spent]) -> None:
        """Candidates come out otherwise now where a budget does not allow all the pods there to be evicted.

        As long as it does, it breaks for nobody.
        """
        for budget, allowed, nodes in spent:
            for name in nodes:
                if (
                    name in self._cell_of
                    and sum(budget in self._budgets.of(pod) for pod in self._evictable(name)) > allowed
                ):
                    self._cell_of[name].outdate_candidate(name)

    def _evictable(self, name: str) -> list[PodInfo]:
        return self._policy.potential_victims(self._cycle.pod, self._cycle.snapshot.by_name[name])

    def _look_at(self, name: str) -> None:
        """Judge the node anew, and search it for victims.

        Raises:
            CycleError: a plugin failed.
        """
        cycle, findings = self._cycle, self._cell_of[name].findings
        node = cycle.snapshot.by_name[name]
        objection = cycle.check(node, cycle.filters)
        found: Candidate | Verdict | None = None
        if objection is not None and objection.status.code is Code.UNSCHEDULABLE:
            found = self._search.on(node)
        for verdict in (objection, found):
            if isinstance(verdict, Verdict) and verdict.status.code is Code.ERROR:
                raise CycleError(verdict.status.message)
        findings.record(name, objection, found if isinstance(found, Candidate) else None)


def standing_after(cycle: Cycle, found: Preemption) -> Standing | None:
    """What is kept after the first pod has found a node to make room on; None where that cannot be kept up."""
    for plugin in map(unguarded, cycle.profile.post_filter):
        kind = post_filter_kind(plugin)
        if isinstance(plugin, EvictsByPolicy):
            return Standing(cycle, plugin.policy, found) if kind is PostFilterKind.EVALUATES else None
        if kind is not PostFilterKind.REPORTS:
            return None  # it may have something to say about the next pod
    return None
