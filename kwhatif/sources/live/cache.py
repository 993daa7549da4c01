"""`Cache`: a watched cluster as a state, kept up by what the API server says (`pkg/scheduler/eventhandlers.go`).

The law: after any sequence of lists and events it is what reading the lists at that moment would have given, and so are
answers. Nothing is ever assumed, as nothing is ever bound: a pod is where the API server says it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec

from kwhatif.admission.defaults import default_object
from kwhatif.admission.load import PodCompletion, is_stored, with_status
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster, KubernetesObject, key_of, list_order
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import Pod, SchedulingEvents
from kwhatif.kube.model.policy import PodDisruptionBudget, PriorityClass
from kwhatif.sources.decoding.bystanders import BYSTANDERS, EventLog, read_bystander
from kwhatif.sources.decoding.kinds import Asked
from kwhatif.sources.decoding.workload_kinds import KnownKinds
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.dumps.left_out import without_understood
from kwhatif.sources.live.custom import CustomResources
from kwhatif.sources.live.lists import ListEnded, ListEvent, ListRestarted, Page, entries
from kwhatif.sources.live.read import Intake, without_needless_events
from kwhatif.sources.live.watches import WatchEvent
from kwhatif.sources.text.documents import Document
from kwhatif.sources.text.problems import Origin, Place
from kwhatif.state.change import Change, ChangedObject, Delete, Reference, SetFacts, Sort, Upsert
from kwhatif.state.nodes import images_differ, moves
from kwhatif.state.state import State

_KINDS = {kind.__name__: kind for kind in BYSTANDERS}
_ENTRIES = msgspec.json.Decoder(tuple[msgspec.Raw, ...])


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Named(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()

    @property
    def key(self) -> str:
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


_NAMED = msgspec.json.Decoder(_Named)


class Cache:
    """First `take` all lists, `note_unfinished` and `begin`; then `take` what happens, and ask for a `moment`."""

    def __init__(self, collected: Collected, intake: Intake, kinds: KnownKinds | None = None) -> None:
        """`collected` knows of the cluster only how it is called; `intake` takes pages in; `kinds` are custom ones."""
        kinds = kinds or KnownKinds()
        self._lists = kinds.lists()
        #: Custom resources of which pods are made.
        self.custom = CustomResources(kinds)
        self.collected = collected
        self._intake = intake
        self._state: State | None = None
        self._events = EventLog()
        #: Whether Events have said something since the last moment.
        self.has_news = False
        #: Whether there is something else to be said of how the cluster was read than at the last moment.
        self.has_remarks = False
        #: Objects beside those that scheduling reads, by list: their keys.
        self._beside: dict[Asked, set[str]] = {}
        self._versions: dict[Asked, str] = {}
        #: As the API server has them: pods and budgets in which something is filled in. Of budgets, and of dependent
        #: pods, it depends on other objects.
        self._unfinished_pods: dict[str, Pod] = {}
        self._dependent_pods: dict[str, None] = {}
        self._unfinished_budgets: dict[str, PodDisruptionBudget] = {}
        #: Objects that are new since the last moment, or that have moved.
        self._misplaced: set[Reference] = set()
        #: Whether a node has other images since then: image sizes may be taken from another node.
        self._has_other_images = False
        #: Lists that could not be read -> why.
        self._unread: dict[Asked, str] = {}
        #: Fills in what pods do not say, as other objects are now.
        self._completion: PodCompletion | None = None

    # --- the beginning -------------------------------------------------------------------------------

    def begin(self, cluster: Cluster) -> State:
        """All lists have been read, and this came of them: keep it up from now on.

        Returns:
            A fork of the state, as `moment` gives it.
        """
        pods = cluster.all(Pod)
        self._dependent_pods = {key: None for key, pod in self._unfinished_pods.items() if _is_dependent(pod)}
        self._unfinished_pods = {
            key: pod for key, pod in self._unfinished_pods.items() if key in self._dependent_pods or pods[key] != pod
        }
        self._state = State(cluster)
        self._state.prepare()
        return self.moment(cluster.facts.taken_at)

    @property
    def is_complete(self) -> bool:
        """Whether every list has been read."""
        return len(self._versions) == len(self._lists)

    # --- what happens --------------------------------------------------------------------------------

    def take(self, happened: Iterable[ListEvent | WatchEvent]) -> list[ChangedObject]:
        """Take in pages, ends of lists and events, in their order; what changed by all of it together.

        Raises:
            ClusterUnreadable: what the server says makes no sense.
        """
        batch: dict[Reference, Change] = {}
        self._completion = None
        for each in happened:
            match each:
                case WatchEvent():
                    self._watched(each, batch)
                case Page():
                    self._intake.page(each)
                case ListRestarted():
                    self._intake.restart(each.asked)
                case ListEnded():
                    self._end(each, batch)
        return self._apply(batch)

    def _end(self, end: ListEnded, batch: dict[Reference, Change]) -> None:
        """What was listed is there, and nothing else of that kind."""
        asked = end.asked
        is_first = asked not in self._versions
        self._versions[asked] = asked.api_version(end.version)
        self.has_remarks |= self._unread.get(asked, "") != end.unread
        if end.unread:
            self._unread[asked] = end.unread
        else:
            self._unread.pop(asked, None)
        if asked.type is None:
            self._end_beside(asked, batch)
            return
        listed = self._intake.objects(asked)
        if is_first:
            self.collected.cluster.add_all(asked.type, listed)
            return
        for key in self._cluster.all(asked.type).keys() - listed.keys():
            self._gone(asked.type, key, batch)
        for obj in listed.values():
            self._there(obj, batch)

    def _watched(self, event: WatchEvent, batch: dict[Reference, Change]) -> None:
        asked, path = event.asked, event.asked.path(event.api_version.rpartition("/")[2])
        if asked.type is None:
            self._watched_beside(event, batch)
            return
        with self._intake.sense(path):
            document = Document(event.json, Place(Origin(f"GET {path}")))
            found = [pair for each in self._intake.decoder.document(document) for pair in self._intake.checked(each)]
        for key, obj in found:
            if event.type == "DELETED":
                self._gone(asked.type, key, batch)
            else:
                self._there(obj, batch)

    def _there(self, obj: KubernetesObject, batch: dict[Reference, Change]) -> None:
        """The object is there, as the API server has it in store."""
        key = key_of(obj)
        self._finish(type(obj), key)
        if isinstance(obj, Pod):
            batch[Pod, key] = Upsert(obj if self._state is None or is_stored(obj) else self._finished_pod(key, obj))
            return
        if isinstance(obj, PodDisruptionBudget) and obj.status is None:
            self._unfinished_budgets[key] = obj
        batch[type(obj), key] = Upsert(default_object(cast("Any", obj)))

    def _finished_pod(self, key: str, pod: Pod) -> Pod:
        """The pod with what it does not say; what depends on other objects is filled in again (`finish`)."""
        if self._completion is None:
            self._completion = PodCompletion(self._cluster)
        finished = self._completion.stored(pod)
        if _is_dependent(pod):
            self._dependent_pods[key] = None
        if finished != pod or key in self._dependent_pods:
            self._unfinished_pods[key] = pod
        return finished

    def _finish(self, kind: type, key: str) -> None:
        """Nothing is left to be filled in there."""
        if kind is Pod:
            self._unfinished_pods.pop(key, None)
            self._dependent_pods.pop(key, None)
        elif kind is PodDisruptionBudget:
            self._unfinished_budgets.pop(key, None)

    def _gone(self, kind: type, key: str, batch: dict[Reference, Change]) -> None:
        self._finish(kind, key)
        if kind is PriorityClass and key in SYSTEM_PRIORITY_CLASSES:  # every cluster has it, whatever the list says
            built_in = PriorityClass(metadata=ObjectMeta(name=key), value=SYSTEM_PRIORITY_CLASSES[key])
            batch[kind, key] = Upsert(built_in)
        else:
            batch[kind, key] = Delete(kind, key)

    # --- beside what scheduling reads ----------------------------------------------------------------

    def _end_beside(self, asked: Asked, batch: dict[Reference, Change]) -> None:
        before = self._beside.get(asked, set())
        self._beside[asked] = now = set()
        for page in self._intake.bystanders(asked):
            for entry in _ENTRIES.decode(entries(page.body)):
                key = _NAMED.decode(entry).key
                now.add(key)
                self._see(asked, page.api_version, key, entry, batch)
        for key in before - now:
            self._forget(asked, key, batch)

    def _watched_beside(self, event: WatchEvent, batch: dict[Reference, Change]) -> None:
        asked = event.asked
        key = _NAMED.decode(event.json).key
        known = self._beside.setdefault(asked, set())
        if event.type == "DELETED":
            known.discard(key)
            self._forget(asked, key, batch)
        else:
            known.add(key)
            self._see(asked, event.api_version, key, msgspec.Raw(event.json), batch)

    def _see(self, asked: Asked, api_version: str, key: str, json: msgspec.Raw, batch: dict[Reference, Change]) -> None:
        if asked.reason:
            self._events.forget(key)
            self._events.see(asked.reason, json)
            self.has_news = True
            return
        if asked.is_custom:
            self.custom.see(asked, api_version, key, bytes(json))
            self.has_remarks = True
            return
        found = read_bystander(api_version, asked.kind, json)
        if found is not None:
            batch[type(found), key] = Upsert(found)
        else:
            self._forget(asked, key, batch)
            self.has_remarks = True

    def _forget(self, asked: Asked, key: str, batch: dict[Reference, Change]) -> None:
        if asked.reason:
            self._events.forget(key)
            self.has_news = True
        elif asked.is_custom:
            self.custom.forget(asked, key)
            self.has_remarks = True
        elif asked.kind in _KINDS:
            batch[_KINDS[asked.kind], key] = Delete(_KINDS[asked.kind], key)
        else:
            self.has_remarks = True

    # --- changes -------------------------------------------------------------------------------------

    def _apply(self, batch: dict[Reference, Change]) -> list[ChangedObject]:
        """Make the changes that change anything."""
        found: list[ChangedObject] = []
        changes: list[Change] = []
        cluster = self._cluster
        for (kind, key), change in batch.items():
            before = cluster.get(kind, key)
            after = change.obj if isinstance(change, Upsert) else None
            if before == after:
                continue
            changes.append(change)
            found.append(ChangedObject(before, after))
            if moves(before, after):
                self._misplaced.add((kind, key))
            self._has_other_images |= images_differ(before, after)
        if self._state is not None and changes:
            self._state.cluster.take_over()
            self._state.apply(*changes)
            self._state.forget_history()  # it would keep hundreds of thousands of old pods in memory
        elif changes:
            _make(changes, cluster)
        return found

    @property
    def _cluster(self) -> Cluster:
        return self.collected.cluster if self._state is None else self._state.cluster

    # --- moments -------------------------------------------------------------------------------------

    def moment(self, taken_at: str) -> State:
        """The state as it is now, independent of what happens later; it says of itself that it is of `taken_at`."""
        fork = self._raw(taken_at)
        self.custom.complete(fork, self._unfinished_pods.values(), self._budgets_in_order())
        return fork

    def _raw(self, taken_at: str) -> State:
        """The moment, without what stands for custom resources."""
        state = self.state
        self.finish()
        if self._misplaced or self._has_other_images:
            state.apply(Sort(tuple(self._misplaced)))
            state.forget_history()
            self._misplaced.clear()
            self._has_other_images = False
        self.has_news = self.has_remarks = False
        state.cluster.take_over()
        fork = state.fork()
        unread = without_needless_events(self._reasons(), is_waiting=bool(fork.pending))
        events = self.scheduling_events()
        fork.apply(SetFacts.of(fork.cluster, taken_at=taken_at, unread=unread, scheduling_events=events))
        return fork

    def _reasons(self) -> dict[str, str]:
        return {asked.subject: reason for asked, reason in self._unread.items()}

    def scheduling_events(self) -> Mapping[str, SchedulingEvents]:
        """What Events say about pods that wait, by key."""
        return self._events.about({key: info.pod for key, info in self.state.pending.items()})

    def finish(self) -> list[ChangedObject]:
        """Fill in what depends on other objects, as these are now; what changed by it."""
        if not (self._dependent_pods or self._unfinished_budgets):
            return []
        finished = self._finished(PodCompletion(self.state.cluster))
        return self._apply({(type(obj), key_of(obj)): Upsert(obj) for obj in finished})

    def as_read(self, taken_at: str) -> Collected:
        """The cluster as reading it now would give it, with nothing filled in: to be saved."""
        state = self._raw(taken_at)
        cluster = state.cluster.fork()
        for obj in (*self._unfinished_pods.values(), *self._unfinished_budgets.values()):
            cluster.add(obj)
        self.custom.stand_in(cluster)
        return msgspec.structs.replace(
            self.collected, cluster=cluster, skipped=self._skipped(state), caveats=self._said()
        )

    def _said(self) -> list[Caveat]:
        return [*self.collected.caveats, *self.custom.caveats]

    def caveats(self, state: State) -> list[Caveat]:
        """Caveats about how a moment was read, as for a cluster that was read then."""
        completion = PodCompletion(state.cluster)
        budgets = [with_status(each, state.cluster)[1] for each in self._budgets_in_order()]
        for key in self._dependent_pods:
            completion.stored(self._unfinished_pods[key])
        self.collected.skipped = self._skipped(state)
        collected = msgspec.structs.replace(self.collected, caveats=self._said())
        return collected.said_of(state.cluster, [*completion.caveats(), *budgets])

    def _skipped(self, state: State) -> Counter[str]:
        """The objects that are not read, by version and kind."""
        counts = ((f"{self._versions[asked]}/{asked.kind}", len(keys)) for asked, keys in self._beside.items())
        skipped: Counter[str] = Counter()
        for name, number in counts:
            skipped[name] += number
        return without_understood(+skipped, state.cluster)

    @property
    def state(self) -> State:
        """What is known, in whatever order it came."""
        assert self._state is not None, "all lists have been read"
        return self._state

    def note_unfinished(self) -> None:
        """All lists are read, and nothing is filled in: see in which pods and budgets that has to be done."""
        cluster = self.collected.cluster
        cluster.update_facts(unread=self._reasons())
        self._unfinished_pods = {key: pod for key, pod in cluster.all(Pod).items() if not is_stored(pod)}
        budgets = cluster.all(PodDisruptionBudget).items()
        self._unfinished_budgets = {key: budget for key, budget in budgets if budget.status is None}
        self.collected.unfinished = list(self._unfinished_pods)

    def _finished(self, completion: PodCompletion) -> Iterator[KubernetesObject]:
        """The objects in which something has to be filled in, as the rest of the cluster is now."""
        yield from (completion.stored(self._unfinished_pods[key]) for key in self._dependent_pods)
        yield from (with_status(each, self.state.cluster)[0] for each in self._budgets_in_order())

    def _budgets_in_order(self) -> list[PodDisruptionBudget]:
        return [self._unfinished_budgets[key] for key in sorted(self._unfinished_budgets, key=list_order)]


def _is_dependent(pod: Pod) -> bool:
    """Whether its priority is filled in from its class."""
    return pod.spec.priority is None or not pod.spec.preemption_policy


def _make(changes: Iterable[Change], cluster: Cluster) -> None:
    """Change a cluster that is still being read."""
    for change in changes:
        if isinstance(change, Upsert):
            cluster.add(change.obj)
        elif isinstance(change, Delete):
            cluster.discard(change.kind, change.key)
