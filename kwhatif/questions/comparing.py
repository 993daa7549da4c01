"""`compare`: what is different between two clusters, and which answers differ because of which changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from math import comb
from typing import Any, NamedTuple

from msgspec.structs import replace

from kwhatif.admission.outcome import ChangeRow, changes_between
from kwhatif.kube.matching.owners import root_of
from kwhatif.kube.model.cluster import KubernetesObject, ObjectRef, key_of
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.policy import PodDisruptionBudget, PriorityClass
from kwhatif.questions.manifests.differences import Differences
from kwhatif.questions.session.session import Session
from kwhatif.questions.upgrade.blame import release_of
from kwhatif.report import Report
from kwhatif.report.differences import ClusterAnswerRow, ClusterChangeRow, CompareRow, Proof
from kwhatif.state.change import Change, Delete, Upsert
from kwhatif.state.state import State

#: The answer of the first cluster with these changes, by their indexes: subject -> result.
Ask = Callable[[frozenset[int]], Mapping[str, str]]


class Cause(NamedTuple):
    """The changes that decide, by index; `tried` is how many sets were asked about."""

    because: tuple[int, ...] = ()
    proof: Proof = "none"
    tried: int = 0


class Causes:
    """Finds the smallest set of changes that makes an answer differ; remembers what was asked.

    First delta debugging (A. Zeller, R. Hildebrandt: Simplifying and Isolating Failure-Inducing Input), from kinds to
    objects to fields: no change that is left can be left out. Then all smaller sets, as long as there are few enough.
    """

    def __init__(self, ask: Ask, units: Sequence[Sequence[Hashable]], most: int) -> None:
        """Set up.

        Args:
            ask: asks the first cluster with some of the changes.
            units: of each change what it belongs to, from the largest unit down: its kind, its object.
            most: the largest number of sets that are asked about for one cause.
        """
        self._ask = ask
        self._units = units
        self._most = most
        self._known: dict[frozenset[int], Mapping[str, str]] = {}
        self._tried = 0

    def of(self, subject: str, wanted: str | None) -> Cause:
        """The smallest set of changes that gives the subject this result; none if all changes together do not."""
        self._tried = 0
        everything = frozenset(range(len(self._units)))

        def holds(some: frozenset[int]) -> bool:
            return self._answer(some).get(subject) == wanted

        if not everything or not holds(everything):
            return Cause(tried=self._tried)
        left = everything
        for depth in range(len(self._units[0])):
            left = _minimal(self._grouped(left, depth), holds)
        left = _minimal([frozenset([each]) for each in sorted(left)], holds)
        smaller, is_smallest = self._smaller(len(left), holds)
        proof: Proof = "smallest" if is_smallest else "minimal"
        return Cause(tuple(sorted(smaller or left)), proof, self._tried)

    def _grouped(self, some: frozenset[int], depth: int) -> list[frozenset[int]]:
        groups: dict[Hashable, list[int]] = {}
        for place in sorted(some):
            groups.setdefault(tuple(self._units[place][: depth + 1]), []).append(place)
        return [frozenset(group) for group in groups.values()]

    def _smaller(self, size: int, holds: Callable[[frozenset[int]], bool]) -> tuple[frozenset[int] | None, bool]:
        """A smaller set with the same result; and whether it is proven that no set is smaller still."""
        count = len(self._units)
        for fewer in range(size):
            if comb(count, fewer) > self._most - self._tried:
                return None, False
            for some in combinations(range(count), fewer):
                if holds(frozenset(some)):
                    return frozenset(some), True
        return None, True

    def _answer(self, some: frozenset[int]) -> Mapping[str, str]:
        self._tried += 1
        if some not in self._known:
            self._known[some] = self._ask(some)
        return self._known[some]


def _minimal(units: Sequence[frozenset[int]], holds: Callable[[frozenset[int]], bool]) -> frozenset[int]:
    """A minimal set of units for which it still holds (`ddmin`): without any one of them it does not."""
    left = list(units)
    parts = 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        chunks = [left[start : start + size] for start in range(0, len(left), size)]
        rests = [[unit for other in chunks if other is not chunk for unit in other] for chunk in chunks]
        smaller = next((chunk for chunk in (*chunks, *rests) if len(chunk) < len(left) and holds(_union(chunk))), None)
        if smaller is not None:
            parts = 2 if smaller in chunks else max(parts - 1, 2)
            left = smaller
        elif parts >= len(left):
            break
        else:
            parts = min(parts * 2, len(left))
    return _union(left)


def _union(units: Sequence[frozenset[int]]) -> frozenset[int]:
    return frozenset().union(*units)


#: Fields, keys and places that lead to a part of an object; (): the object itself.
Path = tuple[str | int, ...]
#: In which order kinds are looked at: what matters most often comes first, and pods last.
_FIRST: Sequence[type] = (Node, PriorityClass, PodDisruptionBudget)
_TIMES = ("_time", "_timestamp", "_generation", "generation", "uid", "time_added", "resource_version")


class Part(NamedTuple):
    """A part of an object that differs; `before` or `after` is None in the cluster that does not have it."""

    kind: type
    key: str
    path: Path
    before: Any
    after: Any


class SingleChange(NamedTuple):
    """Parts that change together, and how a report names them. Without parts: the scheduler is another one."""

    row: ClusterChangeRow
    parts: tuple[Part, ...] = ()


def single_changes(before: Session, after: Session, *, configured: bool) -> list[SingleChange]:
    """All changes from the first cluster to the second, each of which can be made by itself.

    These are the scheduler, objects by kind and name, times and identifiers.

    `configured`: whether the two have different scheduler configurations.
    """
    found: list[SingleChange] = []
    was, now = before.scheduler, after.scheduler
    if configured or (was.version, was.feature_gates) != (now.version, now.feature_gates):
        fields = () if was.version == now.version else (ChangeRow("", "version", was.version, now.version),)
        found.append(SingleChange(ClusterChangeRow(change="scheduler", object="kube-scheduler", fields=fields)))
    times: list[Part] = []
    differences = Differences(before.state, after.state)
    rank = {kind: place for place, kind in enumerate(_FIRST)} | {Pod: len(_FIRST) + 1}
    for kind in sorted(differences.kinds(), key=lambda each: (rank.get(each, len(_FIRST)), each.__name__)):
        for each in sorted(differences.of(kind), key=lambda one: one.key):
            if each.before == each.after:
                continue
            parts = [Part(kind, each.key, *rest) for rest in _parts((), each.before, each.after)]
            times += filter(_is_time, parts)
            others = (part for part in parts if not _is_time(part))
            found += (SingleChange(_row(part, before.state, after.state), (part,)) for part in others)
    if times:
        count = len({(part.kind, part.key) for part in times})
        found.append(SingleChange(ClusterChangeRow(change="times", object=f"{count}"), tuple(times)))
    return found


def _is_time(part: Part) -> bool:
    return bool(part.path) and isinstance(part.path[-1], str) and part.path[-1].endswith(_TIMES)


def _row(part: Part, before: State, after: State) -> ClusterChangeRow:
    was: Any = before.cluster.get(part.kind, part.key)
    now: Any = after.cluster.get(part.kind, part.key)
    pod, cluster = (was, before.cluster) if now is None else (now, after.cluster)
    row = ClusterChangeRow(
        change="added" if was is None else "removed" if now is None else "changed",
        object=f"{part.kind.__name__} {part.key}",
        workload=root_of(pod, cluster) if isinstance(pod, Pod) else "",
    )
    if was is None or now is None:
        return row
    return replace(row, fields=tuple(changes_between("", was, with_parts(was, [part]))))


def _parts(path: Path, before: Any, after: Any) -> Iterator[tuple[Path, Any, Any]]:
    """The smallest parts that differ and can be set by themselves; a pod template is one."""
    if before is after or before == after:
        return
    same = type(before) is type(after)
    if same and isinstance(before, Model) and not isinstance(before, PodTemplateSpec):
        for name in type(before).__struct_fields__:
            yield from _parts((*path, name), getattr(before, name), getattr(after, name))
    elif same and isinstance(before, Mapping) and path:
        for key in dict.fromkeys([*before, *after]):
            if before.get(key) != after.get(key):
                yield (*path, key), before.get(key), after.get(key)
    elif same and isinstance(before, tuple) and len(before) == len(after) and isinstance(before[0], Model):
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _parts((*path, place), old, new)
    else:
        yield path, before, after


# --- to make them ----------------------------------------------------------------------------------------------------


def with_parts(obj: Any, parts: Collection[Part]) -> Any:
    """The object with these parts as they are in the other cluster; None: it is not there."""
    for part in parts:
        obj = _with(obj, part.path, part.after)
    return obj


def _with(obj: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(obj, Mapping):
        made = {key: each for key, each in obj.items() if key != step}
        return made if not rest and value is None else {**made, step: _with(obj.get(step), rest, value)}
    if isinstance(obj, tuple) and isinstance(step, int):
        return (*obj[:step], _with(obj[step], rest, value), *obj[step + 1 :])
    assert isinstance(step, str), "a field of a struct"
    return replace(obj, **{step: _with(getattr(obj, step), rest, value)})


def applied(before: State, after: State, changes: Sequence[SingleChange]) -> State:
    """The first cluster with these changes only."""
    parts = [part for change in changes for part in change.parts]
    found: list[Change] = []
    for (kind, key), some in groupby(sorted(parts, key=_place), lambda part: (part.kind, part.key)):
        obj: KubernetesObject | None = with_parts(before.cluster.get(kind, key), list(some))
        found.append(Delete(kind, key) if obj is None else Upsert(obj))
    state = before.fork()
    kinds: tuple[type, ...] = (Node, Pod)
    order = {kind: {key: place for place, key in enumerate(after.cluster.all(kind))} for kind in kinds}
    found.sort(key=lambda change: _order(change, order))
    state.apply(*found)
    return state


def _place(part: Part) -> tuple[str, str, tuple[str, ...]]:
    return part.kind.__name__, part.key, tuple(map(str, part.path))


def _order(change: Change, places: Mapping[type, Mapping[str, int]]) -> tuple[int, int]:
    """Deletions come first; pods come last, in the order of the second cluster."""
    if isinstance(change, Delete):
        return 0, 0
    assert isinstance(change, Upsert), "nothing else is made of them"
    known = places.get(type(change.obj), {})
    return 1 + isinstance(change.obj, Pod), known.get(key_of(change.obj), 0)


#: The answer of a cluster: subject -> result.
Question = Callable[[Session], Mapping[str, str]]


def ask_compare(
    before: Session,
    after: Session,
    questions: Mapping[str, Question],
    *,
    most: int,
    configured: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Report:
    """Ask both clusters, and find out which changes make the answers differ.

    Args:
        before: the first cluster.
        after: the second one.
        questions: by name.
        most: the largest number of sets of changes to ask about for each answer that differs; 0: look for no cause.
        configured: whether the two have different scheduler configurations.
        progress: called with the number of answers explained, and the total.
    """
    changes = single_changes(before, after, configured=configured)
    between = _Between(before, after, changes)
    rows: list[ClusterAnswerRow] = []
    unchanged = 0
    for name, question in questions.items():
        was, now = question(before), question(after)
        differ = [subject for subject in dict.fromkeys((*was, *now)) if was.get(subject) != now.get(subject)]
        unchanged += len({*was, *now}) - len(differ)
        causes = Causes(between.asking(question), between.units, most)
        for done, subject in enumerate(differ):
            progress(done, len(differ))
            cause = causes.of(subject, now.get(subject)) if most else Cause()
            rows.append(
                ClusterAnswerRow(
                    question=name,
                    subject=subject,
                    before=was.get(subject),
                    after=now.get(subject),
                    because=cause.because,
                    proof=cause.proof,
                    tried=cause.tried,
                )
            )
    report = after.report("compare", (), dict.fromkeys((*before.caveats, *after.caveats)))
    row = CompareRow(
        before=before.report("compare", (), ()).snapshot,
        after=report.snapshot,
        before_scheduler=before.scheduler,
        changes=tuple(change.row for change in changes),
        questions=tuple(questions),
        answers=tuple(rows),
        unchanged=unchanged,
    )
    return replace(report, compare=row)


class _Between:
    """Clusters between the two: the first with some of the changes."""

    def __init__(self, before: Session, after: Session, changes: Sequence[SingleChange]) -> None:
        self._before, self._after = before, after
        self._changes = changes
        self.units = [list(_units(change)) for change in changes]
        before.state.prepare()

    def asking(self, question: Question) -> Callable[[frozenset[int]], Mapping[str, str]]:
        """Asks the question about the first cluster with the changes at these places."""
        return lambda some: question(self._session(some))

    def _session(self, some: frozenset[int]) -> Session:
        chosen = [self._changes[place] for place in sorted(some)]
        session = self._before
        if any(change.row.change == "scheduler" for change in chosen):
            session = self._under_the_other_scheduler
        return session.at(applied(session.state, self._after.state, chosen))

    @property
    def _under_the_other_scheduler(self) -> Session:
        release = release_of(self._after)
        other = self._before if release == release_of(self._before) else self._before.for_release(release)
        return replace(other, profiles=self._after.profiles, scheduler=self._after.scheduler)


def _units(change: SingleChange) -> Iterator[str]:
    """What the change belongs to, from the largest unit down: its kind, its object."""
    yield ObjectRef.parse(change.row.object).kind if change.row.change != "times" else "times"
    yield change.row.workload or change.row.object
    yield change.row.object
