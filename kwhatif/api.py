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

import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from kwhatif.garbage import no_garbage_collection, rare_garbage_collection
from kwhatif.model.originals import Originals, SessionOriginals
from kwhatif.report import Report
from kwhatif.sources.candidates import Candidates, read_candidates
from kwhatif.sources.collected import Collected, LoadedCluster
from kwhatif.sources.manifests import read_manifest_set
from kwhatif.sources.progress import Progress, Teller
from kwhatif.whatif.session import Session

if TYPE_CHECKING:
    from kwhatif.sources.plugins import PluginSource
    from kwhatif.sources.scheduler import Scheduler
    from kwhatif.workloads.rolling.update import Rollout

PathLike = str | Path


class SchedulerOptions(TypedDict, total=False):
    """Which scheduler is asked; without any of it, kube-scheduler with its defaults."""

    #: A KubeSchedulerConfiguration: a file, or "-".
    scheduler_config: PathLike | None
    #: Call the extenders of that configuration; otherwise the report carries a caveat for each.
    call_extenders: bool
    #: Plugins that run in every profile: classes, `module:Class`, or names of entry points (see `docs/plugins.md`).
    plugins: Sequence[PluginSource]


def load(
    *paths: PathLike, strict: bool = False, progress: Progress | None = None, **scheduler: Unpack[SchedulerOptions]
) -> Session:
    """Read a cluster from dumps: files, directories, archives, or "-" for standard input.

    Args:
        paths: what to read.
        strict: fail where information is missing, instead of a caveat in the report.
        progress: is told how far each file is, in bytes and objects.
        scheduler: which scheduler is asked, see `SchedulerOptions`.

    Raises:
        InputError: with every problem of the input; with `strict` also where information is missing.
    """
    from kwhatif.sources.dump import collect_dump

    asked, originals = _read_scheduler(scheduler)
    stored = None if originals is None else originals.stored
    with no_garbage_collection():
        collected = collect_dump(
            [str(path) for path in paths], stdin=sys.stdin.buffer, originals=stored, progress=progress
        )
        return _session(_admitted(collected, progress, strict=strict), progress, asked, originals)


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
        progress: is told how far each list is.
        scheduler: which scheduler is asked, see `SchedulerOptions`.

    Raises:
        InputError: the kubeconfig is wrong, or what is asked for is not in it.
        ClusterUnreadable: the cluster could not be read; the message says what to do.
        ValueError: `request_timeout` is no duration.
    """
    from kwhatif.sources.live import LiveOptions, read_live

    options = LiveOptions.of(
        kubeconfig=kubeconfig,
        context=context,
        as_user=as_user,
        as_groups=as_groups,
        request_timeout=request_timeout,
    )
    asked, originals = _read_scheduler(scheduler)
    with no_garbage_collection():
        collected = read_live(options, progress, None if originals is None else originals.stored)
        return _session(_admitted(collected, progress, strict=strict), progress, asked, originals)


def _read_scheduler(options: SchedulerOptions) -> tuple[Scheduler | None, SessionOriginals | None]:
    """The scheduler, unless it is the default one; and where to keep what its extenders are to be sent."""
    originals = SessionOriginals(Originals(), Originals()) if options.get("call_extenders") else None
    config, plugins = options.get("scheduler_config"), options.get("plugins") or ()
    if config is None and not plugins:
        return None, None
    from kwhatif.sources.scheduler import read_scheduler

    path = None if config is None else str(config)
    return read_scheduler(path, plugins, originals, stdin=sys.stdin.buffer), originals


def _admitted(collected: Collected, progress: Progress | None, *, strict: bool) -> LoadedCluster:
    teller = Teller(progress)
    loaded = collected.admitted()
    teller.tell("admission", sum(loaded.cluster.counts().values()), done=True)
    if strict:
        loaded.require_complete()
    return loaded


def _session(
    loaded: LoadedCluster,
    progress: Progress | None,
    scheduler: Scheduler | None,
    originals: SessionOriginals | None,
) -> Session:
    teller = Teller(progress)
    session = Session(
        loaded.cluster,
        profiles=scheduler.profiles if scheduler else None,
        sources=loaded.sources,
        caveats=[*loaded.caveats, *(scheduler.caveats if scheduler else ())],
        namespace=loaded.namespace,
        originals=originals,
    )
    teller.tell("snapshot", len(session.snapshot.pods) + len(session.snapshot.nodes), done=True)
    return session


def read_pods(session: Session, manifests: Sequence[PathLike], namespace: str | None = None) -> Candidates:
    """The candidate pods of manifests, as the API server would store them; of equal replicas the first.

    Those that name no namespace are put into `namespace`, else where kubectl would put them: that of the live
    cluster's context, or `default`.

    Raises:
        InputError: with every problem of the manifests.
    """
    return read_candidates(
        [str(path) for path in manifests],
        session.cluster,
        stdin=sys.stdin.buffer,
        default_namespace=namespace or session.namespace,
        originals=session.originals.candidates if session.originals else None,
    )


def schedule(session: Session, *manifests: PathLike, namespace: str | None = None) -> Report:
    """Where would the pods of these manifests land; if nowhere, whom would they evict, and why?"""
    return _judge(session, read_pods(session, manifests, namespace), "schedule")


def preempt(session: Session, *manifests: PathLike, namespace: str | None = None) -> Report:
    """Whom would these pods evict; without manifests, every pending pod of the cluster in queue order."""
    if not manifests:
        with rare_garbage_collection():
            return session.schedule(session.pending_pods(), command="preempt")
    return _judge(session, read_pods(session, manifests, namespace), "preempt")


def _judge(session: Session, candidates: Candidates, command: str) -> Report:
    with rare_garbage_collection():
        return session.having(candidates.claims).schedule(candidates.pods, command, candidates.caveats)


def gate(
    session: Session,
    *manifests: PathLike,
    policy: PathLike | None = None,
    rollout: Rollout = "final",
    namespace: str | None = None,
    template_paths: Sequence[str] = (),
    strict: bool = False,
    today: date | None = None,
) -> Report:
    """If all of this is applied, does everything schedule, whom does it evict, and does the policy allow that?

    A manifest that cannot be read is one of the report's `problems`; the others are judged without it.

    Args:
        session: the cluster.
        manifests: files, directories, globs, or "-".
        policy: the policy's file; without one, the default policy holds.
        rollout: whether updates are judged by their end state, or ("surge") while old pods are still there.
        namespace: where manifests belong that name none.
        template_paths: where custom resources have their pod templates: "Rollout=.spec.template".
        strict: fail where information is missing.
        today: tells which exceptions of the policy have expired.

    Raises:
        InputError: there is nothing to judge, or the policy is wrong.
        ValueError: a template path is malformed.
    """
    from kwhatif.policy.build import default_rulebook
    from kwhatif.sources.applied import as_applied, as_row, parse_template_paths
    from kwhatif.sources.policy import read_policy
    from kwhatif.whatif.gate import Question
    from kwhatif.whatif.gate import gate as judge

    paths = parse_template_paths(template_paths)
    book = default_rulebook() if policy is None else read_policy(str(policy), stdin=sys.stdin.buffer)
    found = read_manifest_set(
        [str(path) for path in manifests],
        stdin=sys.stdin.buffer,
        default_namespace=namespace or session.namespace,
        originals=session.originals.candidates if session.originals else None,
        custom_kinds=paths,
    )
    question = Question(
        applied=tuple(map(as_applied, found.manifests)),
        book=book,
        today=today or datetime.now(UTC).date(),
        rollout=rollout,
        template_paths=paths,
        strict=strict,
        problems=tuple(map(as_row, found.problems)),
        caveats=found.caveats,
    )
    with rare_garbage_collection():
        return judge(session, question)
