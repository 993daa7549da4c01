"""The search for devices on one node: depth first, and the first solution is used (`allocateOne`, `allocateDevice`).

Every step is a generator: it yields the next step to try, and receives the outcome of that step. So the code has the
structure of upstream's recursion, but does not use Python's stack.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import NamedTuple

from kwhatif.dra.devices import PoolDevice
from kwhatif.dra.partial_allocation import PartialAllocation, PooledDevice
from kwhatif.dra.requests import (
    AllocationError,
    AllocationTimeout,
    AllocatorRules,
    ClaimToAllocate,
    Request,
    RequestKey,
)
from kwhatif.kube.matching.nodes import SelectedNode, first_untolerated

#: The maximum number of devices of a claim (`AllocationResultsMaxSize`).
MAX_DEVICES = 32

#: (index of a claim, index of a request in the claim).
RequestPlace = tuple[int, int]


class Task(NamedTuple):
    """The input of a search for devices for claims on one node."""

    node: SelectedNode
    candidates: Sequence[PooledDevice]
    claims: Sequence[ClaimToAllocate]
    #: The allocated devices, and the devices that the search has taken; changes with every step.
    so_far: PartialAllocation
    #: The devices of each request for all devices.
    devices_of: Mapping[RequestKey, Sequence[PooledDevice]]
    rules: AllocatorRules


class FeasibilityBound:
    """Predicts that a search will fail, from the number of devices that remain for each request.

    Upstream tries every combination of devices before it fails. If only the number of devices matters, the result
    follows from that number. The result is the same, except that kube-scheduler may exceed its `filterTimeout`.
    """

    def __init__(self, task: Task) -> None:
        node, candidates, claims, so_far, devices_of, rules = task
        self._so_far = so_far
        self._requests = [
            (place, index, alternatives)
            for place, claim in enumerate(claims)
            for index, alternatives in enumerate(claim.requests)
        ]
        self._needed: dict[RequestKey, int] = {}
        self._usable: dict[RequestKey, list[PoolDevice]] = {}
        #: Whether the outcome is predictable: devices are taken separately and as a whole, and no error can occur.
        self.is_clear = not (rules.forgets_alternative and any(map(_has_later_all, claims))) and all(
            _is_plain(device) and not pool.problem for pool, device in candidates
        )
        for request in _all_requests(claims) if self.is_clear else ():
            fixed = devices_of.get(request.key)
            self._needed[request.key] = len(fixed) if fixed is not None else request.count or 0
            try:
                self._usable[request.key] = [
                    device for _, device in candidates if _can_serve(request, device, node, so_far)
                ]
            except AllocationError:
                self.is_clear = False
                break
        self.is_clear = self.is_clear and all(map(self._is_small_and_free, claims))

    def _is_small_and_free(self, claim: ClaimToAllocate) -> bool:
        """Whether the claim cannot exceed the maximum size, and has no constraint that can fail."""
        largest = (max(self._needed[request.key] for request in alternatives) for alternatives in claim.requests)
        wants_all = any(request.count is None for alternatives in claim.requests for request in alternatives)
        return sum(largest) <= MAX_DEVICES and not (wants_all and claim.constraints)

    def hopeless(self, start: RequestPlace = (0, 0)) -> RequestPlace | None:
        """The first request from `start` on for which too few devices remain; None: there may be a solution."""
        if not self.is_clear:
            return None
        for claim, index, alternatives in self._requests:
            if (claim, index) >= start and not any(self._is_possible(claim, request) for request in alternatives):
                return claim, index
        return None

    def excludes(self, claim: int, request: Request) -> bool:
        """Whether too few devices remain for this request or alternative."""
        return self.is_clear and not self._is_possible(claim, request)

    def _is_possible(self, claim: int, request: Request) -> bool:
        needed, usable, in_use = self._needed[request.key], self._usable[request.key], self._so_far.in_use
        if len(usable) < needed or not needed:
            return False
        return sum([not in_use(claim, request, device) for device in usable]) >= needed


def _has_later_all(claim: ClaimToAllocate) -> bool:
    """Whether an alternative other than the first one requests all devices."""
    return any(request.count is None for alternatives in claim.requests for request in alternatives[1:])


def _is_plain(device: PoolDevice) -> bool:
    """Whether the device can be counted: it is taken as a whole, independently of other devices."""
    return not device.shared and not device.counters


def _can_serve(request: Request, device: PoolDevice, node: SelectedNode, so_far: PartialAllocation) -> bool:
    return (
        request.selects(device, node)
        and so_far.has_room(request, device)
        and device.takable
        and first_untolerated(device.taints, request.tolerations) is None
    )


def _all_requests(claims: Sequence[ClaimToAllocate]) -> Iterator[Request]:
    return (request for claim in claims for alternatives in claim.requests for request in alternatives)


#: The number of steps after which each claim is also searched alone, and the maximum number of steps of such a search.
_PATIENCE, _STEPS_ALONE = 200, 20_000


class SearchOutcome(Enum):
    """The outcome of a step and of all steps after it."""

    DONE = "done"
    FAILED = "failed"
    #: The step failed, only because the claim would get too many devices.
    TOO_MANY = "too many"


class SearchStep(NamedTuple):
    """One step: find the next device."""

    claim: int = 0
    request: int = 0
    alternative: int = 0
    #: Whether an alternative of the request is chosen.
    decided: bool = False
    #: The number of devices already taken for the request.
    taken: int = 0
    #: The index of the first candidate to try: so a request tries combinations instead of permutations.
    start: int = 0


SearchSteps = Generator[SearchStep, SearchOutcome, SearchOutcome]


class DeviceSearch:
    """One attempt to find devices for all claims on one node."""

    def __init__(self, task: Task) -> None:
        self._node, self._candidates, self._claims, self._so_far, self._devices_of, rules = task
        self._task = task
        self._forgets_alternative = rules.forgets_alternative
        self._bound = FeasibilityBound(task)
        #: The claim and request of the furthest step: if there is no solution, this is the unsatisfied request.
        self.furthest: RequestPlace = (0, 0)

    def run(self, tries: int | None) -> bool:
        """Whether devices were found for all claims; they are then in `so_far`. `tries` is the maximum number of steps.

        Raises:
            AllocationTimeout: the search needs more steps.
            AllocationError: a selector is invalid or fails.
        """
        stack = [self._enter(SearchStep())]
        answer: SearchOutcome | None = None
        steps = 0
        while stack:
            try:
                step = stack[-1].send(answer)  # type: ignore[arg-type] # None starts a generator
            except StopIteration as end:
                stack.pop()
                answer = end.value
            else:
                stack.append(self._enter(step))
                answer = None
                steps += 1
                if tries is not None and steps > tries:
                    raise AllocationTimeout("timed out trying to allocate devices")
                if steps == _PATIENCE and self._has_impossible_claim():
                    return False
        return answer is SearchOutcome.DONE

    def _has_impossible_claim(self) -> bool:
        """Whether one of several claims cannot be allocated even alone; `furthest` is then a request of this claim.

        The other claims can only take devices away from this claim. Upstream tries it again for each way to allocate
        the claims before it. The result is the same, except that kube-scheduler may exceed its `filterTimeout`.
        """
        if len(self._claims) == 1 or not self._bound.is_clear:
            return False
        for index, claim in enumerate(self._claims):
            so_far = self._so_far.for_one(claim)
            alone = DeviceSearch(self._task._replace(claims=(claim,), so_far=so_far))
            with suppress(AllocationTimeout):
                if not alone.run(_STEPS_ALONE):
                    self.furthest = index, alone.furthest[1]
                    return True
        return False

    def _enter(self, step: SearchStep) -> SearchSteps:
        if step.claim == len(self._claims):
            return SearchOutcome.DONE
        requests = self._claims[step.claim].requests
        if step.request == len(requests):
            below = yield SearchStep(step.claim + 1)
            return SearchOutcome.FAILED if below is SearchOutcome.TOO_MANY else below
        if not step.decided and not step.taken:
            missing = self._bound.hopeless((step.claim, step.request))
            self.furthest = max(self.furthest, missing or (step.claim, step.request))
            if missing is not None:
                return SearchOutcome.FAILED
        alternatives = requests[step.request]
        request = alternatives[step.alternative]
        if request.parent and not step.decided:
            return (yield from self._first_available(step, alternatives))
        return (yield from self._exactly(step, request))

    def _first_available(self, step: SearchStep, alternatives: Sequence[Request]) -> SearchSteps:
        """Try the alternatives in order; the outcome is TOO_MANY only if every alternative has this outcome."""
        result = SearchOutcome.TOO_MANY
        for index in range(len(alternatives)):
            below = yield step._replace(alternative=index, decided=True)
            if below is SearchOutcome.DONE:
                return below
            if below is SearchOutcome.FAILED:
                result = below
        return result

    def _exactly(self, step: SearchStep, request: Request) -> SearchSteps:
        fixed = None if request.count is not None else self._devices_of[request.key]
        if fixed is not None and not fixed:
            return SearchOutcome.FAILED
        if step.decided and not step.taken and self._bound.excludes(step.claim, request):
            return SearchOutcome.FAILED
        needed = len(fixed) if fixed is not None else request.count or 0
        if step.taken >= needed:
            return (yield SearchStep(step.claim, step.request + 1))
        if len(self._so_far.taken[step.claim]) + needed - step.taken > MAX_DEVICES:
            return SearchOutcome.TOO_MANY
        if fixed is not None:
            return (yield from self._next_of_all(step, request, fixed))
        return (yield from self._any(step, request))

    def _next_of_all(self, step: SearchStep, request: Request, fixed: Sequence[PooledDevice]) -> SearchSteps:
        """Take the next device of a request for all devices; if that fails, there is no solution."""
        pool, device = fixed[step.taken]
        if not self._so_far.take(step.claim, request, pool, device):
            return SearchOutcome.FAILED
        # QUIRK: (allocator_incubating.go, allocateOne) up to 1.35 the next step does not get the alternative's index.
        alternative = 0 if self._forgets_alternative else step.alternative
        below = yield step._replace(alternative=alternative, taken=step.taken + 1)
        if below is not SearchOutcome.DONE:
            self._so_far.give_back(step.claim)
        return below

    def _any(self, step: SearchStep, request: Request) -> SearchSteps:
        """Take any device that comes after the request's previous device."""
        node, so_far = self._node, self._so_far
        for place in range(step.start, len(self._candidates)):
            pool, device = self._candidates[place]
            if pool.problem:  # only up to 1.34 an invalid pool has devices
                raise AllocationError(f"pool {pool.name} is invalid: {pool.problem}")
            if (
                so_far.in_use(step.claim, request, device)
                or not request.selects(device, node)
                or not so_far.has_room(request, device)
                or not so_far.take(step.claim, request, pool, device)
            ):
                continue
            below = yield step._replace(taken=step.taken + 1, start=place + 1)
            if below is SearchOutcome.DONE:
                return below
            self._so_far.give_back(step.claim)
            if below is SearchOutcome.TOO_MANY:
                return below
        return SearchOutcome.FAILED
