"""`kwhatif.save_snapshot` and `kwhatif.describe`: save a cluster to a file, and describe one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Unpack

from kwhatif.api.arguments import moment_of
from kwhatif.api.options import PathLike
from kwhatif.api.sessions import known_kinds, require_complete
from kwhatif.questions.session.inventory import Inventory, inventory
from kwhatif.questions.session.session import Session
from kwhatif.render.caveats import inventory_worded
from kwhatif.sources.decoding.workload_kinds import KnownKinds
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.dumps.dump import collect_dump
from kwhatif.sources.dumps.left_out import taken_at as dump_taken_at
from kwhatif.sources.manifests.given import Source, named_inputs
from kwhatif.sources.saving import Moment, Saved, save
from kwhatif.sources.text.files import standard_input

if TYPE_CHECKING:
    from kwhatif.sources.dumps.collected import Progress
    from kwhatif.sources.live.kubeconfig import LiveArguments


def save_snapshot(  # noqa: PLR0913 - by name, but for the first
    file: PathLike,
    *paths: Source,
    images: bool = False,
    anonymize: bool = False,
    strict: bool = False,
    taken_at: datetime | None = None,
    at: datetime | None = None,
    progress: Progress | None = None,
    workload_kinds: PathLike | None = None,
    **live: Unpack[LiveArguments],
) -> int:
    """Save what scheduling reads of a cluster; loading it gives the same reports. Returns the number of objects.

    Args:
        file: ends in .json or .yaml, and perhaps .gz or .zst. It is only replaced once everything is written.
        paths: dumps; without any, the live cluster is read.
        images: keep the images of nodes and containers (ImageLocality scores by them).
        anonymize: rename everything; decisions stay the same.
        strict: fail where information is missing.
        taken_at: when the cluster was like this: for a live cluster instead of now, and for dumps that do not show it.
        at: a moment of a recording; without it, its last one.
        progress: is called with how far each list is.
        workload_kinds: a file of custom kinds, whose resources are kept as well (see `docs/custom-kinds.md`).
        live: which cluster, see `kwhatif.load_live`.

    Raises:
        InputError: with every problem of the input, or because the file cannot be written.
        ClusterUnreadable: the live cluster could not be read.
    """
    return save_cluster(
        file,
        *paths,
        images=images,
        anonymize=anonymize,
        strict=strict,
        taken_at=taken_at,
        at=at,
        progress=progress,
        workload_kinds=workload_kinds,
        **live,
    ).size


def save_cluster(  # noqa: PLR0913 - as there
    file: PathLike,
    *paths: Source,
    images: bool,
    anonymize: bool,
    strict: bool,
    taken_at: datetime | None,
    progress: Progress | None,
    at: datetime | None = None,
    workload_kinds: PathLike | None = None,
    **live: Unpack[LiveArguments],
) -> Saved:
    """As `save_snapshot`; returns what was saved, and the texts that an anonymized snapshot keeps."""
    collected = _collect(paths, at, progress, live, known_kinds(workload_kinds))
    if strict:
        require_complete(collected.fork().admitted())
    return save(collected, str(file), taken_at=_moment(collected, taken_at), images=images, anonymize=anonymize)


def _moment(collected: Collected, given: datetime | None) -> Moment:
    """The moment at which the cluster was read."""
    if not collected.live:
        shown = dump_taken_at(collected.cluster, collected.caveats, collected.last_seen)
        if shown is not None or given is None:
            return Moment(shown or "", noted=bool(collected.cluster.facts.taken_at))
    return Moment((given or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ"))


def describe(
    *paths: Source | Session,
    strict: bool = False,
    at: datetime | None = None,
    progress: Progress | None = None,
    workload_kinds: PathLike | None = None,
    **live: Unpack[LiveArguments],
) -> Inventory:
    """What dumps, or the live cluster, contain, and what is missing for good answers.

    `at` is a moment of a recording; without it, its last one. Instead of dumps, a cluster that is already loaded can be
    given. `workload_kinds` is a file of custom kinds.

    Raises:
        InputError: with every problem of the input.
        ClusterUnreadable: the live cluster could not be read.
    """
    match paths:
        case [Session() as session]:
            return inventory_worded(inventory(session.cluster, session.sources, session.caveats))
    loaded = _collect(paths, at, progress, live, known_kinds(workload_kinds)).admitted()
    if strict:
        require_complete(loaded)
    return inventory_worded(inventory(loaded.cluster, loaded.sources, loaded.caveats))


def _collect(
    paths: tuple[Source | Session, ...],
    at: datetime | None,
    progress: Progress | None,
    live: LiveArguments,
    kinds: KnownKinds,
) -> Collected:
    if paths:
        dumps, moment = named_inputs(paths, "dump"), moment_of(at)
        return collect_dump(dumps, stdin=standard_input(), progress=progress, at=moment, kinds=kinds)
    from kwhatif.sources.live import LiveOptions, read_live

    return read_live(LiveOptions.of(**live), progress, kinds=kinds)
