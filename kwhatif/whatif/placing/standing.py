"""`Standing`: the nodes where a pod could make room for itself, and how they rank, kept up from replica to replica."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from heapq import heappop, heappush

from kwhatif.framework.cycle import Cycle, CycleError
from kwhatif.framework.diagnosis import fit_error, histogram
from kwhatif.framework.guard import unguarded
from kwhatif.framework.plugin import PostFilterPlugin, Reads
from kwhatif.framework.status import Code, Verdict, count_reasons
from kwhatif.plugins.default_preemption import DefaultPreemption
from kwhatif.preemption.budgets import Budgets
from kwhatif.preemption.candidate import Candidate, Preemption
from kwhatif.preemption.evaluator import cleared_nominations
from kwhatif.preemption.policy import Policy
from kwhatif.preemption.ranking import Rank
from kwhatif.preemption.victims import VictimSearch
from kwhatif.snapshot.pod_info import PodInfo
from kwhatif.whatif.placing.history import History
from kwhatif.whatif.placing.placement import Placement


class Standing:
    """The preemption candidates of pods that are all alike, and the verdicts of the cycle that they come from."""

    def __init__(self, cycle: Cycle, plugins: Sequence[PostFilterPlugin], policy: Policy, found: Preemption) -> None:
        """Set up.

        Args:
            cycle: of the first pod; its verdicts are up to date, and its filters are kept so.
            plugins: what is asked before preemption, and has nothing to say.
            policy: the rules of preemption.
            found: what preemption came to for the first pod.
        """
        self._cycle = cycle
        self._plugins = plugins
        self._policy = policy
        self._budgets = Budgets(cycle.snapshot.cluster)
        self._candidates: dict[str, Candidate] = {}
        #: The best first. What is out of date is dropped when it comes up.
        self._heap: list[tuple[Rank, str]] = []
        #: Budget -> node -> how many of the pods that may be evicted there count against it.
        self._counting: dict[str, Counter[str]] = {}
        #: Nodes whose candidate is of the right rank, but perhaps wrong about budgets that were spent.
        self._outdated: set[str] = set()
        volatile = [plugin for _, plugin in cycle.filters if plugin.reads >= Reads.PODS]
        self._is_steady = all(plugin.monotone for plugin in volatile) and type(policy).rank is Policy.rank
        for candidate in found.candidates:
            self._add(candidate)
        self._history = History({name: candidate.rank for name, candidate in self._candidates.items()})
        verdicts, absent = cycle.verdicts, cycle.absent
        self._reasons = Counter(count_reasons([verdict.status for verdict in verdicts.values()]))
        for reason in absent.status.reasons if absent else ():
            self._reasons[reason] += len(cycle.snapshot.nodes) - len(verdicts)

    def place(self, pod: PodInfo) -> Placement | None:
        """Evict where that costs least; None when the scheduler would not, or not for this reason."""
        cycle = self._cycle
        if self._policy.why_not_eligible(cycle):
            return None
        if any(plugin.post_filter(cycle).status.code is not Code.UNSCHEDULABLE for plugin in self._plugins):
            return None
        best = self._best()
        while best is not None and best.node in self._outdated:
            self._search(best.node)
            best = self._best()
        if best is None:
            return None
        return Placement(
            pod,
            "Preempts",
            best.node,
            fit_error(len(cycle.snapshot.nodes), histogram(self._reasons)),
            candidate=best,
            cleared_nominations=cleared_nominations(cycle, best),
            find_ties=partial(self._history.at, self._history.now, (best.rank,)),
        )

    def _best(self) -> Candidate | None:
        heap = self._heap
        while heap:
            rank, name = heap[0]
            candidate = self._candidates.get(name)
            if candidate is not None and candidate.rank == rank:
                return candidate
            heappop(heap)
        return None

    # --- keeping up ----------------------------------------------------------------------------------

    def refresh(self, names: Sequence[str], spent: Mapping[str, int]) -> list[str]:
        """Pods came to these nodes or left them, and budgets allow less now; returns which nodes are feasible.

        Raises:
            CycleError: a plugin failed.
        """
        if spent:
            self._budgets = Budgets(self._cycle.snapshot.cluster)
        concerned = self._concerned(spent)
        feasible = []
        for name in names:
            verdict = self._judge(name)
            if verdict is None:
                feasible.append(name)
            if verdict is not None and verdict.status.code is Code.UNSCHEDULABLE:
                self._search(name)
            else:
                self._replace(name, None)
        for name in sorted(concerned.difference(names)):
            self._search(name)
        return feasible

    def _concerned(self, spent: Mapping[str, int]) -> set[str]:
        """Nodes whose candidate comes out otherwise now: where a budget does not allow all its pods to be evicted.

        As long as it does, it breaks for nobody. If it does not, the pods that now break it are put back earlier than
        before: nothing comes of that where all of them stayed anyway, and where fewer pods never are a nuisance.
        """
        concerned = set()
        for budget, allowed in spent.items():
            for name, number in self._counting.get(budget, Counter()).items():
                self._outdated.add(name)
                if number > allowed and not (self._is_steady and self._spares(name, budget)):
                    concerned.add(name)
        return concerned

    def _spares(self, name: str, budget: str) -> bool:
        return all(budget not in victim.budgets for victim in self._candidates[name].victims)

    def _judge(self, name: str) -> Verdict | None:
        cycle = self._cycle
        if cycle.node_set is not None and name not in cycle.node_set:
            return cycle.absent
        objection = cycle.check(cycle.snapshot.by_name[name], cycle.filters)
        before = cycle.verdicts.pop(name, None)
        self._count(before, -1)
        if objection is not None:
            if objection.status.code is Code.ERROR:
                raise CycleError(objection.status.message)
            cycle.verdicts[name] = objection
            self._count(objection, 1)
        return objection

    def _count(self, verdict: Verdict | None, amount: int) -> None:
        for reason in verdict.status.reasons if verdict else ():
            self._reasons[reason] += amount
            if not self._reasons[reason]:
                del self._reasons[reason]

    def _search(self, name: str) -> None:
        search = VictimSearch(self._cycle, self._policy, self._budgets)
        found = search.on(self._cycle.snapshot.by_name[name])
        if isinstance(found, Verdict) and found.status.code is Code.ERROR:
            raise CycleError(found.status.message)
        self._replace(name, found if isinstance(found, Candidate) else None)

    def _replace(self, name: str, candidate: Candidate | None) -> None:
        before = self._candidates.pop(name, None)
        self._outdated.discard(name)
        for budget in self._budgets_on(before):
            self._counting[budget].pop(name, None)
        if candidate is not None:
            self._add(candidate)
        rank = candidate.rank if candidate else None
        if rank != (before.rank if before else None):
            self._history.note(name, rank)

    def _add(self, candidate: Candidate) -> None:
        self._candidates[candidate.node] = candidate
        heappush(self._heap, (candidate.rank, candidate.node))
        for budget in self._budgets_on(candidate):
            self._counting.setdefault(budget, Counter())[candidate.node] += 1

    def _budgets_on(self, candidate: Candidate | None) -> Iterable[str]:
        """The budgets that the pods count against which may be evicted there; one for each such pod."""
        if candidate is not None:
            for pod in candidate.removed:
                yield from self._budgets.of(pod)


def standing_after(cycle: Cycle, found: Preemption) -> Standing | None:
    """What is kept after the first pod has found a node to make room on; None where that cannot be kept up."""
    before: list[PostFilterPlugin] = []
    for plugin in cycle.profile.post_filter:
        bare = unguarded(plugin)
        if isinstance(bare, DefaultPreemption):
            is_known = type(bare).post_filter is DefaultPreemption.post_filter
            return Standing(cycle, before, bare.policy, found) if is_known else None
        before.append(plugin)
    return None
