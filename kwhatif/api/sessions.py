"""Sessions: clusters from dumps, from a live cluster, and after edits; and their scheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from kwhatif.api.arguments import moment_of, require_edits, require_known, require_session
from kwhatif.api.options import PathLike, SchedulerOptions
from kwhatif.errors import ClusterUnreadable, InputError, Problem
from kwhatif.garbage import no_garbage_collection, rare_garbage_collection
from kwhatif.kube.gates import GROUPS_GATE
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod_group import GROUPS_SINCE, PodGroup
from kwhatif.kube.model.saved import Originals, SessionOriginals
from kwhatif.questions.session.session import Session
from kwhatif.render.caveats import sentences
from kwhatif.report.inputs import SchedulerInfo
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.sources.decoding.workload_kinds import KnownKinds, read_workload_kinds
from kwhatif.sources.dumps.collected import Collected, LoadedCluster, Progress, ProgressReporter
from kwhatif.sources.manifests.given import Source, named_inputs
from kwhatif.sources.scheduler.release import AskedRelease, ReleaseOptions, ask_release, parse_version
from kwhatif.sources.text.files import standard_input
from kwhatif.state.state import State
from kwhatif.workloads.adopted import stand_in_for_missing
from kwhatif.workloads.foreign_groups import treat_as_gangs

if TYPE_CHECKING:
    from kwhatif.scheduler.release import Release
    from kwhatif.sources.scheduler.profiles import ConfiguredScheduler, SchedulerConfig


class RequestedScheduler(NamedTuple):
    """The user's options about the scheduler, read as far as possible without the cluster."""

    release: ReleaseOptions
    #: None: the default configuration.
    config: SchedulerConfig | None
    #: The original objects for requests to extenders.
    originals: SessionOriginals | None
    #: Whether groups of pods of other schedulers are judged as gangs.
    treats_as_gangs: bool = False
    #: Custom kinds that create pods.
    kinds: KnownKinds = KnownKinds()

    def scheduler(self, release: Release) -> ConfiguredScheduler | None:
        """The scheduler of that release; None: the default one."""
        return None if self.config is None else self.config.scheduler(release, self.originals)

    def profiles(self, release: Release) -> Mapping[str, Profile]:
        """The profiles of the scheduler of that release, by name."""
        found = self.scheduler(release)
        return {DEFAULT_SCHEDULER: release.default_profile()} if found is None else found.profiles


def _release_asked(options: SchedulerOptions) -> ReleaseOptions:
    """The requested release; if groups of other schedulers count as gangs, one that knows gangs, with the gate on."""
    version, gates = options.get("kubernetes_version"), options.get("feature_gates")
    if not options.get("treat_as_gang"):
        return ReleaseOptions(version, gates)
    if version and parse_version(version) < GROUPS_SINCE:
        why = f"gangs are judged by the rule of 1.{GROUPS_SINCE}, and {version} was asked for"
        raise InputError([Problem("--treat-as-gang", why, hint="leave out --kubernetes-version")])
    if isinstance(gates, Mapping):
        return ReleaseOptions(version or f"1.{GROUPS_SINCE}", {GROUPS_GATE: True, **gates})
    given = f",{gates}" if gates else ""
    return ReleaseOptions(version or f"1.{GROUPS_SINCE}", f"{GROUPS_GATE}=true{given}")


def known_kinds(file: PathLike | None) -> KnownKinds:
    """The custom kinds that create pods: those in a file, and the built-in ones.

    Raises:
        InputError: with everything that is wrong with it.
    """
    return KnownKinds(None if file is None else read_workload_kinds(str(file), stdin=standard_input()))


def scheduler_source(options: SchedulerOptions) -> RequestedScheduler:
    """Read the scheduler configuration, and check the release.

    Raises:
        InputError: with everything that is wrong with them.
    """
    release, treats = _release_asked(options), options.get("treat_as_gang", False)
    release.check()
    originals = SessionOriginals(Originals(), Originals()) if options.get("call_extenders") else None
    kinds = known_kinds(options.get("workload_kinds"))
    config, plugins = options.get("scheduler_config"), options.get("plugins") or ()
    if config is None and not plugins:
        return RequestedScheduler(release, None, originals, treats, kinds)
    from kwhatif.sources.scheduler.profiles import read_scheduler_config

    path = None if config is None else str(config)
    read = read_scheduler_config(path, plugins, stdin=standard_input())
    return RequestedScheduler(release, read, originals, treats, kinds)


def load(
    *sources: Source,
    strict: bool = False,
    progress: Progress | None = None,
    now: datetime | None = None,
    at: datetime | None = None,
    **scheduler: Unpack[SchedulerOptions],
) -> Session:
    """Read a cluster from dumps: files, directories, archives, text, objects, or a recording.

    Args:
        sources: what to read, see `kwhatif.Source`; "-" is standard input.
        strict: fail where information is missing, instead of a caveat in the report.
        progress: is called with how far each file is, in bytes and objects.
        now: the moment that the age of the dump counts to, instead of now or of `at`.
        at: a moment of a recording; without it, its last one.
        scheduler: which scheduler is asked, see `SchedulerOptions`.

    Raises:
        InputError: with every problem of the input; with `strict` also where information is missing.
        TypeError: there is no source, or one that cannot be read.
        ValueError: `at` has no time zone.
    """
    if not sources:
        raise TypeError("load() needs a dump; kwhatif.load_live() reads the live cluster")
    from kwhatif.sources.dumps.dump import collect_dump

    require_known(scheduler, SchedulerOptions, "load")
    problems: list[Problem] = []
    source = None
    try:
        source = scheduler_source(scheduler)
    except InputError as wrong:  # problems of the dump are reported with this one
        problems += wrong.problems
    originals = None if source is None else source.originals
    with no_garbage_collection():
        try:
            collected = collect_dump(
                named_inputs(sources, "dump"),
                stdin=standard_input(),
                originals=None if originals is None else originals.stored,
                progress=progress,
                at=moment_of(at),
                kinds=None if source is None else source.kinds,
            )
        except InputError as wrong:
            raise InputError([*problems, *wrong.problems]) from wrong
        if source is None:
            raise InputError(problems)
        return _session(collected, source, progress, strict=strict, now=now or at)


def load_live(
    *,
    kubeconfig: PathLike | None = None,
    context: str | None = None,
    as_user: str | None = None,
    as_groups: Sequence[str] = (),
    request_timeout: str = "1m",
    strict: bool = False,
    progress: Progress | None = None,
    **scheduler: Unpack[SchedulerOptions],
) -> Session:
    """Read the cluster that kubeconfig names, as kubectl would; nothing but GET is sent.

    Args:
        kubeconfig: a file; else $KUBECONFIG, else `~/.kube/config`, else the service account of this pod.
        context: else kubeconfig's current one.
        as_user: whom to impersonate, with `as_groups`.
        as_groups: groups of `as_user`.
        request_timeout: how long one request may take, such as "30s"; "0" for no limit.
        strict: fail where information is missing, instead of a caveat in the report.
        progress: is called with how far each list is.
        scheduler: which scheduler is asked, see `SchedulerOptions`.

    Raises:
        InputError: the kubeconfig is wrong, or what is asked for is not in it.
        ClusterUnreadable: the cluster could not be read; the message says what to do.
        ValueError: `request_timeout` is not a duration.
    """
    from kwhatif.sources.live import LiveOptions, read_live

    options = LiveOptions.of(
        kubeconfig=kubeconfig,
        context=context,
        as_user=as_user,
        as_groups=as_groups,
        request_timeout=request_timeout,
    )
    require_known(scheduler, SchedulerOptions, "load_live")
    source = scheduler_source(scheduler)
    with no_garbage_collection():
        collected = read_live(
            options, progress, None if source.originals is None else source.originals.stored, kinds=source.kinds
        )
        stand_in_for_missing(collected.cluster, source.kinds.of_owner)
        return _session(collected, source, progress, strict=strict)


def admitted(collected: Collected, progress: Progress | None, *, strict: bool) -> LoadedCluster:
    """The cluster as the API server would store it.

    Raises:
        InputError, ClusterUnreadable: see `require_complete`.
    """
    reporter = ProgressReporter(progress)
    loaded = collected.admitted()
    reporter.report("admission", sum(loaded.cluster.counts().values()), done=True)
    if strict:
        require_complete(loaded)
    return loaded


def require_complete(loaded: LoadedCluster) -> None:
    """Check that nothing is missing, for `strict`.

    Raises:
        InputError: information is missing in a dump.
        ClusterUnreadable: information is missing that a live cluster has.
    """
    missing = sentences([caveat for caveat in loaded.caveats if caveat.missing])
    if missing and loaded.live:
        raise ClusterUnreadable("the cluster could not be read in full: " + "; ".join(missing))
    if missing:
        raise InputError([Problem(", ".join(loaded.sources), sentence) for sentence in missing])


def _session(
    collected: Collected,
    source: RequestedScheduler,
    progress: Progress | None,
    *,
    strict: bool,
    now: datetime | None = None,
) -> Session:
    if source.treats_as_gangs:
        treat_as_gangs(collected.cluster)
    scheduler = follow_release(collected, source)
    loaded = admitted(collected, progress, strict=strict)
    taken_at = loaded.taken_at
    age = 0 if loaded.live else _age(taken_at, now) if taken_at else None
    session = scheduler.session(loaded, State(loaded.cluster), loaded.caveats, age)
    ProgressReporter(progress).report("snapshot", len(session.state.pods) + len(session.state.nodes), done=True)
    return session


class FollowedScheduler(NamedTuple):
    """The scheduler of a cluster, as far as it is known, and caveats about it."""

    source: RequestedScheduler
    profiles: Mapping[str, Profile]
    info: SchedulerInfo
    caveats: tuple[Caveat, ...]

    def session(self, loaded: LoadedCluster, state: State, caveats: Sequence[Caveat], age: int | None) -> Session:
        """A session of a state of the cluster that was loaded; `caveats` are those about its reading."""
        return Session.of(
            state,
            profiles=self.profiles,
            profiles_of=self.source.profiles,
            scheduler=self.info,
            sources=loaded.sources,
            caveats=(*caveats, *self.caveats),
            age=age,
            taken_at=loaded.taken_at,
            namespace=loaded.namespace,
            originals=self.source.originals,
            treats_as_gangs=self.source.treats_as_gangs,
            workload_kinds=self.source.kinds,
        )


def follow_release(collected: Collected, source: RequestedScheduler) -> FollowedScheduler:
    """The scheduler of the cluster's release; it also sets the cluster's release."""
    asked = release_of(collected.cluster, collected, source)
    collected.cluster.update_facts(**asked.release.facts)
    scheduler = source.scheduler(asked.release)
    profiles = scheduler.profiles if scheduler else source.profiles(asked.release)
    caveats = (*asked.caveats, *(scheduler.caveats if scheduler else ()))
    return FollowedScheduler(source, profiles, asked.info(), caveats)


def release_of(cluster: Cluster, collected: Collected, source: RequestedScheduler) -> AskedRelease:
    """The release of this cluster; `collected` has its source."""
    nodes, groups = cluster.all(Node).values(), cluster.all(PodGroup).values()
    return ask_release(source.release, collected.server_version, nodes, groups, live=collected.live)


def _age(taken_at: str, now: datetime | None) -> int:
    """The age in seconds."""
    return int((now or datetime.now(UTC)).timestamp()) - parse_time(taken_at) // 1_000_000_000


def edited(
    session: Session,
    *edits: str | Mapping[str, Any],
    files: Sequence[Source] = (),
    namespace: str | None = None,
) -> Session:
    """The cluster as it would be after these edits: `kwhatif.edited(cluster, "cordon a1", "scale deploy/shop/web=5")`.

    There are no reactions: evicted and deleted pods are not replaced, and nothing is scheduled. `cluster` is not
    changed.

    Args:
        session: the cluster.
        edits: applied in order; see `docs/edits.md`.
        files: YAML lists of edits, made before the others: files, texts, or "-" for standard input.
        namespace: of objects that name none; else that of the live cluster's context, or `default`.

    Raises:
        InputError: with everything that is wrong with any of them.
        TypeError: one is neither a string nor a dict.
    """
    return edited_by(session, edits, files=files, namespace=namespace, option="edit")


def edited_by(
    session: Session,
    edits: Sequence[str | Mapping[str, Any]],
    *,
    files: Sequence[Source],
    namespace: str | None,
    option: str,
    requests: Sequence[str] = (),
) -> Session:
    """The session after these edits, as `edited` returns it.

    `option` is the flag of the edits, for errors; `requests` are the values of the flag `--requests`.
    """
    require_session(session, "edited")
    require_edits(edits, option)
    from kwhatif.questions.manifests.edited import edit_session
    from kwhatif.sources.manifests.edits import read_edit_files, read_edits

    where, stdin = namespace or session.namespace, standard_input()
    minor = session.cluster.facts.minor
    first = read_edit_files(named_inputs(files, "edits"), namespace=where, stdin=stdin, minor=minor)
    then = read_edits(edits, namespace=where, stdin=stdin, minor=minor, option=option, requests=requests)
    with rare_garbage_collection():
        return edit_session(
            session.with_owners(),
            (*first.edits, *then.edits),
            namespace=namespace,
            problems=(*first.problems, *then.problems),
        )
