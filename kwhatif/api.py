"""kwhatif as a library; the command line uses nothing else.

```python
import kwhatif

cluster = kwhatif.load("cluster.yaml")
report = kwhatif.schedule(cluster, "pod.yaml")
for decision in report.decisions:
    print(decision.pod, decision.outcome, decision.node)
```
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack, get_args

from msgspec.structs import replace

from kwhatif.arguments import require_edits, require_names, require_session
from kwhatif.errors import ClusterUnreadable, InputError, Problem
from kwhatif.framework.profile import DEFAULT_SCHEDULER
from kwhatif.garbage import no_garbage_collection, rare_garbage_collection
from kwhatif.model.meta import parse_time
from kwhatif.model.node import Node
from kwhatif.model.originals import Originals, SessionOriginals
from kwhatif.render.caveats import sentences, worded
from kwhatif.report import Report
from kwhatif.sources.decoding.strict import Validation, parse_validation
from kwhatif.sources.dumps.collected import Collected, LoadedCluster
from kwhatif.sources.dumps.progress import Progress, ProgressReporter
from kwhatif.sources.manifests.applied import Asked, as_row, parse_template_paths, read_applied
from kwhatif.sources.manifests.given import Source, named_input, named_inputs, text
from kwhatif.sources.manifests.named import require_namespace
from kwhatif.sources.scheduler.release import ReleaseOptions, ask_release
from kwhatif.whatif.compare import compare
from kwhatif.whatif.judge import Question, judge
from kwhatif.whatif.session import Session
from kwhatif.workloads.rolling.update import Rollout

if TYPE_CHECKING:
    from kwhatif.framework.profile import Profile
    from kwhatif.policy.rules import Fragile
    from kwhatif.release import Release
    from kwhatif.sources.scheduler.plugins import PluginSource
    from kwhatif.sources.scheduler.profiles import Scheduler, SchedulerConfig

__all__ = [
    "PathLike",
    "SchedulerOptions",
    "Source",
    "advise",
    "compare",
    "deschedule",
    "edited",
    "find_policy",
    "gate",
    "load",
    "load_live",
    "pending",
    "preempt",
    "schedule",
    "text",
]

PathLike = str | Path


class SchedulerOptions(TypedDict, total=False):
    """Which scheduler is asked; without any of it, kube-scheduler with its defaults."""

    #: A KubeSchedulerConfiguration: a file, or "-".
    scheduler_config: PathLike | None
    #: Call the extenders of that configuration; otherwise the report carries a caveat for each.
    call_extenders: bool
    #: Plugins that run in every profile: classes, `module:Class`, or names of entry points (see `docs/plugins.md`).
    plugins: Sequence[PluginSource]
    #: The release of Kubernetes, such as "1.34"; else `$KWHATIF_KUBERNETES_VERSION`, else what the cluster says.
    kubernetes_version: str | None
    #: Feature gates set by hand: by name, or as kube-scheduler's option has them: "A=true,B=false".
    feature_gates: str | Mapping[str, bool] | None


def load(
    *sources: Source,
    strict: bool = False,
    progress: Progress | None = None,
    now: datetime | None = None,
    **scheduler: Unpack[SchedulerOptions],
) -> Session:
    """Read a cluster from dumps: files, directories, archives, text, or objects.

    Args:
        sources: what to read, see `kwhatif.Source`; "-" is standard input.
        strict: fail where information is missing, instead of a caveat in the report.
        progress: hears how far each file is, in bytes and objects.
        now: the moment to compare the age of the dump with, instead of now.
        scheduler: which scheduler is asked, see `SchedulerOptions`.

    Raises:
        InputError: with every problem of the input; with `strict` also where information is missing.
        TypeError: there is no source, or one that cannot be read.
    """
    if not sources:
        raise TypeError("load() needs a dump; kwhatif.load_live() reads the live cluster")
    from kwhatif.sources.dumps.dump import collect_dump

    source = _scheduler_source(scheduler)
    stored = None if source.originals is None else source.originals.stored
    with no_garbage_collection():
        collected = collect_dump(
            named_inputs(sources, "dump"), stdin=sys.stdin.buffer, originals=stored, progress=progress
        )
        return _session(collected, source, progress, strict=strict, now=now)


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
        request_timeout: how long one request may take, such as "30s"; "0" for as long as it likes.
        strict: fail where information is missing, instead of a caveat in the report.
        progress: hears how far each list is.
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
    source = _scheduler_source(scheduler)
    with no_garbage_collection():
        collected = read_live(options, progress, None if source.originals is None else source.originals.stored)
        return _session(collected, source, progress, strict=strict)


class _SchedulerSource(NamedTuple):
    """What the user says of the scheduler, read as far as it can be without the cluster."""

    release: ReleaseOptions
    #: None: the default configuration.
    config: SchedulerConfig | None
    #: Where to keep what extenders are to be sent.
    originals: SessionOriginals | None

    def scheduler(self, release: Release) -> Scheduler | None:
        """The scheduler of that release; None: the default one."""
        return None if self.config is None else self.config.scheduler(release, self.originals)

    def profiles(self, release: Release) -> Mapping[str, Profile]:
        """The profiles of the scheduler of that release, by name."""
        found = self.scheduler(release)
        return {DEFAULT_SCHEDULER: release.default_profile()} if found is None else found.profiles


def _scheduler_source(options: SchedulerOptions) -> _SchedulerSource:
    release = ReleaseOptions(options.get("kubernetes_version"), options.get("feature_gates"))
    release.check()
    originals = SessionOriginals(Originals(), Originals()) if options.get("call_extenders") else None
    config, plugins = options.get("scheduler_config"), options.get("plugins") or ()
    if config is None and not plugins:
        return _SchedulerSource(release, None, originals)
    from kwhatif.sources.scheduler.profiles import read_scheduler_config

    path = None if config is None else str(config)
    return _SchedulerSource(release, read_scheduler_config(path, plugins, stdin=sys.stdin.buffer), originals)


def _admitted(collected: Collected, progress: Progress | None, *, strict: bool) -> LoadedCluster:
    reporter = ProgressReporter(progress)
    loaded = collected.admitted()
    reporter.tell("admission", sum(loaded.cluster.counts().values()), done=True)
    if strict:
        require_complete(loaded)
    return loaded


def require_complete(loaded: LoadedCluster) -> None:
    """What `strict` asks for.

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
    source: _SchedulerSource,
    progress: Progress | None,
    *,
    strict: bool,
    now: datetime | None = None,
) -> Session:
    nodes = collected.cluster.all(Node).values()
    asked = ask_release(source.release, collected.server_version, nodes, live=collected.live)
    asked.release.follow(collected.cluster)
    scheduler = source.scheduler(asked.release)
    profiles = scheduler.profiles if scheduler else source.profiles(asked.release)
    loaded = _admitted(collected, progress, strict=strict)
    reporter = ProgressReporter(progress)
    taken_at = loaded.taken_at
    session = Session(
        loaded.cluster,
        profiles=profiles,
        profiles_of=source.profiles,
        scheduler=asked.info(),
        sources=loaded.sources,
        caveats=[*loaded.caveats, *asked.caveats, *(scheduler.caveats if scheduler else ())],
        age=0 if loaded.live else _age(taken_at, now) if taken_at else None,
        taken_at=taken_at,
        namespace=loaded.namespace,
        originals=source.originals,
    )
    reporter.tell("snapshot", len(session.snapshot.pods) + len(session.snapshot.nodes), done=True)
    return session


def _age(taken_at: str, now: datetime | None) -> int:
    """In seconds."""
    return int((now or datetime.now(UTC)).timestamp()) - parse_time(taken_at) // 1_000_000_000


def edited(
    session: Session,
    *edits: str | Mapping[str, Any],
    files: Sequence[PathLike] = (),
    namespace: str | None = None,
) -> Session:
    """The cluster as it would be after these edits: `kwhatif.edited(cluster, "cordon a1", "scale deploy/shop/web=5")`.

    Nobody reacts to them: evicted and deleted pods are not made anew, nothing is scheduled. `cluster` stays as it is.

    Args:
        session: the cluster.
        edits: what holds, one after another; see `docs/edits.md`.
        files: YAML lists of edits, made before the others; "-" is standard input.
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
    files: Sequence[PathLike],
    namespace: str | None,
    option: str,
) -> Session:
    """See `edited`; `option` is what an edit is called in errors."""
    require_session(session, "edited")
    require_edits(edits, option)
    from kwhatif.sources.manifests.edits import read_edit_files, read_edits
    from kwhatif.whatif.edited import edit_session

    where, stdin = namespace or session.namespace, sys.stdin.buffer
    minor = session.cluster.minor
    first = read_edit_files(list(map(str, files)), namespace=where, stdin=stdin, minor=minor)
    then = read_edits(edits, namespace=where, stdin=stdin, minor=minor, option=option)
    with rare_garbage_collection():
        return edit_session(
            session, (*first.edits, *then.edits), namespace=namespace, problems=(*first.problems, *then.problems)
        )


def _check(session: object, manifests: Sequence[object], function: str) -> None:
    require_session(session, function)
    if function != "preempt" and not manifests:
        raise TypeError(f"{function}() needs a manifest")


class Manifests(TypedDict, total=False):
    """How manifests are read."""

    #: Where manifests belong that name no namespace; else that of the live cluster's context, or `default`.
    namespace: str | None
    #: Where custom resources have their pod templates: "Rollout=.spec.template".
    template_paths: Sequence[str]
    #: Fields that there are not, or that are there twice: errors ("strict", the default), caveats ("warn"), or left
    #: out ("ignore"), as kubectl's --validate.
    validation: Validation


def _read(
    session: Session, inputs: Sequence[str], options: Manifests, *, stored: bool = False
) -> tuple[Asked, Mapping[str, Sequence[str]]]:
    paths = parse_template_paths(options.get("template_paths", ()))
    asked = read_applied(
        inputs,
        session.cluster,
        stdin=sys.stdin.buffer,
        default_namespace=options.get("namespace") or session.namespace,
        originals=session.originals.candidates if session.originals else None,
        custom_kinds=paths,
        validation=parse_validation(options.get("validation", "strict")),
        stored=stored,
    )
    return asked, paths


def schedule(
    session: Session,
    *manifests: Source,
    alone: bool = False,
    admission: bool = True,
    aftermath: bool = False,
    reprieves: bool = True,
    **options: Unpack[Manifests],
) -> Report:
    """If this is applied, where do its pods land; if nowhere, whom do they evict, and why?

    Args:
        session: the cluster.
        manifests: see `kwhatif.Source`; or objects of the cluster by name: "pod/shop/web-0", "deploy/web".
        alone: judge each pod as if it were the only one, the next in the queue; of equal replicas the first.
        admission: False takes pods as the API server has stored them, and judges each alone: what the scheduler
            itself would do with them.
        aftermath: also play it forward until nothing happens any more: the report's `story`.
        reprieves: False leaves out how the victims of each candidate were found, `CandidateRow.reprieves`: in a large
            cluster that is most of the report.
        options: how the manifests are read, see `Manifests`.

    Raises:
        InputError: with every problem of the manifests.
        ValueError: a template path is malformed, or `validation` is none of those words.
    """
    how = _How(alone=alone, admission=admission, aftermath=aftermath, reprieves=reprieves)
    return _answer(session, "schedule", manifests, options, how)


def advise(
    session: Session,
    *manifests: Source,
    most: int = 6,
    workloads: int = 10,
    **options: Unpack[Manifests],
) -> Report:
    """For what does not fit, or only by eviction: the smallest changes that help, each tried by asking again.

    Args:
        session: the cluster.
        manifests: as for `schedule`.
        most: how many pieces of advice each workload gets, the cheapest ones.
        workloads: how many of them get any; the report says how many are left out.
        options: how the manifests are read, see `Manifests`.

    Raises:
        InputError: with every problem of the manifests.
        ValueError: a template path is malformed, or `validation` is none of those words.
    """
    _check(session, manifests, "advise")
    from kwhatif.whatif.advise.question import Limits, ask_advice

    asked, paths = _read(session, named_inputs(manifests, "manifest"), options)
    asked.require_sound()
    question = Question(applied=asked.applied, template_paths=paths, full=True, caveats=asked.caveats)
    with rare_garbage_collection():
        report = worded(ask_advice(session, question, Limits(most, workloads)))
    _require_templates(report)
    return report


def _require_templates(report: Report) -> None:
    if report.problems:
        raise InputError([Problem(row.where, row.message, row.field, row.hint) for row in report.problems])


def preempt(
    session: Session,
    *manifests: Source,
    alone: bool = False,
    admission: bool = True,
    aftermath: bool = False,
    reprieves: bool = True,
    **options: Unpack[Manifests],
) -> Report:
    """Whom would these pods evict; without manifests, every pending pod of the cluster in queue order.

    The arguments are those of `schedule`; without manifests, `namespace` leaves out the pods of all others.

    Raises:
        InputError: with every problem of the manifests; without them, if there is no such namespace.
        ValueError: a template path is malformed, or `validation` is none of those words.
    """
    how = _How(alone=alone, admission=admission, aftermath=aftermath, reprieves=reprieves)
    if manifests:
        return _answer(session, "preempt", manifests, options, how)
    _check(session, manifests, "preempt")
    namespace = options.get("namespace") or ""
    require_namespace(namespace, session.cluster)
    with rare_garbage_collection():
        question = Question(pending_in=namespace, alone=alone, admission=admission, full=True, reprieves=reprieves)
        return _judged(session, "preempt", question, how)


def pending(session: Session, *pods: str, namespace: str | None = None, explain: bool = False) -> Report:
    """Which pods are pending, in the order in which the scheduler takes them, what rejected each, what would wake it?

    Args:
        session: the cluster.
        pods: the pods to explain, by name: "pod/shop/web-0", "shop/web-0", "web-0"; none: all that are pending.
        namespace: where pods belong that name no namespace; without pods, leave out those of all others.
        explain: say of every pod what would wake it.

    Raises:
        InputError: a pod is not there, or not pending; there is no such namespace.
    """
    require_session(session, "pending")
    require_names(pods, "pod")
    from kwhatif.sources.manifests.named import pending_keys
    from kwhatif.whatif.pending.question import ask_queue
    from kwhatif.whatif.pending.trying import QueueQuestion

    clusters = [session.cluster, *([session.unedited.cluster] if session.unedited else [])]
    keys = pending_keys(pods, clusters, namespace or session.namespace)
    within = "" if pods else namespace or ""
    require_namespace(within, session.cluster)
    with rare_garbage_collection():
        return worded(ask_queue(session, QueueQuestion(pods=keys, namespace=within, explain=explain)))


def deschedule(
    session: Session,
    policy: Source | None = None,
    *,
    strategy: str | None = None,
    at: str | None = None,
    rounds: int = 5,
    now: datetime | None = None,
) -> Report:
    """Whom does a descheduler with this policy evict, why, and where do the replacements land?

    Args:
        session: the cluster.
        policy: a DeschedulerPolicy of version descheduler/v1alpha2; see `kwhatif.Source`.
        strategy: instead, the name of a strategy that runs alone, with its defaults: "RemoveDuplicates".
        at: the moment that ages count to (RFC 3339); without it, when the cluster was read.
        rounds: how many cycles to run, unless one evicts nothing.
        now: what a live cluster's ages count to, instead of now.

    Raises:
        InputError: the descheduler refuses the policy; the message is its own.
        ValueError: both policy and strategy are given, or neither; the strategy or the time is none.
    """
    _check(session, (policy or strategy,), "deschedule")
    from kwhatif.descheduler.build import strategy_policy
    from kwhatif.sources.descheduler_policy import DeschedulerPolicyFile, read_descheduler_policy
    from kwhatif.whatif.deschedule import DescheduleQuestion, ask_deschedule, moment_of

    if (policy is None) == (strategy is None):
        raise ValueError("either a policy or a strategy is needed")
    if policy is not None:
        file = read_descheduler_policy(named_input(policy, "policy"), session.cluster, stdin=sys.stdin.buffer)
    else:
        file = DeschedulerPolicyFile(f"strategy {strategy}", strategy_policy(str(strategy)), [])
    moment, caveats = moment_of(session, at, (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ"))
    question = DescheduleQuestion(
        policy=file.policy, name=file.name, at=moment, rounds=rounds, caveats=(*file.caveats, *caveats)
    )
    with rare_garbage_collection():
        return worded(ask_deschedule(session, question))


class _How(NamedTuple):
    """How `schedule` and `preempt` judge."""

    alone: bool
    admission: bool
    aftermath: bool
    reprieves: bool


def _answer(
    session: Session,
    command: str,
    manifests: Sequence[Source],
    options: Manifests,
    how: _How,
) -> Report:
    _check(session, manifests, command)
    inputs = named_inputs(manifests, "manifest")
    asked, paths = _read(session, inputs, options, stored=not how.admission)
    asked.require_sound()
    question = Question(
        applied=asked.applied,
        template_paths=paths,
        alone=how.alone,
        admission=how.admission,
        full=True,
        reprieves=how.reprieves,
        caveats=asked.caveats,
    )
    with rare_garbage_collection():
        report = _judged(session, command, question, how)
    _require_templates(report)
    return report


def _judged(session: Session, command: str, question: Question, how: _How) -> Report:
    answer = judge(session, question)
    if not how.aftermath:
        return worded(answer.report(session, command))
    from kwhatif.render.story import with_words
    from kwhatif.whatif.aftermath import aftermath as aftermath_of

    story, caveats = aftermath_of(session, question.applied)
    answer.caveats.update(dict.fromkeys(caveats))
    return worded(with_words(replace(answer.report(session, command), story=story)))


def find_policy(folder: PathLike | None = None) -> str | None:
    """The policy that the command finds by itself: kwhatif.yaml or .kwhatif.yaml.

    It is looked for in the folder (else the current one), then in the root of the repository that this belongs to.
    """
    from kwhatif.sources.policy import find_policy as find

    found = find(Path(folder or ".").absolute())
    return None if found is None else os.path.relpath(found)


def gate(
    session: Session,
    *manifests: Source,
    policy: Source | None = None,
    rollout: Rollout = "end",
    strict: bool = False,
    today: date | None = None,
    fixes: int = 0,
    **options: Unpack[Manifests],
) -> Report:
    """If all of this is applied, does everything schedule, whom does it evict, and does the policy allow that?

    A manifest that cannot be read is one of the report's `problems`; the others are judged without it.

    Args:
        session: the cluster.
        manifests: as for `schedule`.
        policy: its file, text or dict; without one, that of `find_policy`, else the default policy.
        rollout: how updates are judged: by whether they come to their end, step by step; by their end state only
            ("final"); or while old pods are still there ("surge").
        strict: fail where information is missing, unless the policy says otherwise.
        today: decides which exceptions of the policy have expired.
        fixes: look for the smallest fix of so many workloads that do not fit, as `advise` does.
        options: how the manifests are read, see `Manifests`.

    Raises:
        InputError: there is nothing to judge, or the policy is wrong.
        ValueError: a template path is malformed, or `validation` or `rollout` is none of those words.
    """
    _check(session, manifests, "gate")
    if rollout not in get_args(Rollout):
        raise ValueError(f"rollout: {rollout!r} is none of {', '.join(get_args(Rollout))}")
    from kwhatif.policy.build import default_rulebook
    from kwhatif.sources.policy import read_policy
    from kwhatif.sweep.processes import play
    from kwhatif.sweep.survival import survival
    from kwhatif.whatif.gate import gate as judge_by_policy

    policy = find_policy() if policy is None else policy
    book = default_rulebook() if policy is None else read_policy(named_input(policy, "policy"), stdin=sys.stdin.buffer)
    asked, paths = _read(session, named_inputs(manifests, "manifest"), options)
    question = Question(
        applied=asked.applied,
        rollout=rollout,
        template_paths=paths,
        problems=tuple(map(as_row, asked.problems)),
        caveats=asked.caveats,
    )
    today = today or datetime.now(UTC).date()
    with rare_garbage_collection():
        fragile: list[Fragile] = []
        if book.policy.survives:
            objects = [each.object for each in asked.applied]
            fragile, caveats = survival(session, objects, book.policy.survives, play)
            question = replace(question, caveats=(*question.caveats, *caveats))
        report = judge_by_policy(session, question, book, today=today, strict=strict, fixes=fixes, fragile=fragile)
    from kwhatif.render.story import with_words

    return worded(with_words(report))
