"""`kwhatif serve --metrics`: a page for Prometheus about a cluster that is watched."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.api.options import Option, OptionError
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.option_groups import Without
from kwhatif.cli.options import listening_at, seconds
from kwhatif.errors import InputError, Problem

if TYPE_CHECKING:
    from kwhatif.api.live import LiveCluster
    from kwhatif.cli.metrics import Page
    from kwhatif.sources.manifests.given import Source

#: Seconds between two looks for changes.
_LOOK = 1.0


def serve(
    *,
    cluster: Annotated[SchedulerSource, Without("from_", "at", "compare", "call_extenders")],
    metrics: Annotated[bool, Option("Serve metrics for Prometheus at /metrics.")] = False,
    listen: Annotated[
        str, Option("Where to listen; by default only for this machine.", metavar="ADDRESS:PORT", check=listening_at)
    ] = "127.0.0.1:9095",
    capacity_of: Annotated[
        list[str] | None,
        Option("Measure how many more pods of this manifest fit. Repeatable.", metavar="FILE"),
    ] = None,
    pool_label: Annotated[str, Option("The node label that names a node's pool.", metavar="LABEL")] = "",
    min_interval: Annotated[
        str, Option("The shortest time between two measurements.", metavar="TIME", check=seconds)
    ] = "15s",
    sweep_interval: Annotated[
        str,
        Option("The same for drains and losses of nodes, which take longer.", metavar="TIME", check=seconds),
    ] = "5m",
) -> None:
    """Watch the live cluster, and serve metrics: pending pods, nodes that cannot be drained, the worst loss, free room.

    \b
    Examples:
      kwhatif serve --metrics
      kwhatif serve --metrics --listen 0.0.0.0:9095 --capacity-of web.yaml
    """
    from kwhatif.cli.metrics import Page, serving  # not needed for --help

    if not metrics:
        raise OptionError("--metrics", "say what to serve: --metrics")
    _require_client()
    address = listening_at(listen)
    intervals = seconds(min_interval), seconds(sweep_interval)
    templates = _read(capacity_of or ())
    page = Page()
    with serving(address, page) as url, cluster.watch() as live:  # meanwhile the page says that it is not ready
        live.settle()
        page.live = live
        typer.echo(f"serving {url}", err=True)
        _measure(live, page, templates, pool_label, intervals)


def _require_client() -> None:
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        message = "it needs prometheus-client: pip install 'kwhatif[metrics]'"
        raise OptionError("--metrics", message) from None


def _read(files: Sequence[str]) -> Mapping[str, Source]:
    """The templates; they are read once, and no file is read later."""
    import kwhatif
    from kwhatif.sources.text.files import read_bytes
    from kwhatif.sources.text.inflate import Unreadable

    found: dict[str, Source] = {}
    for file in files:
        try:
            found[file] = kwhatif.text(read_bytes(file).decode(), file)
        except (OSError, Unreadable, UnicodeDecodeError) as failure:
            raise InputError(
                [Problem(file, f"cannot be read: {getattr(failure, 'strerror', None) or failure}")]
            ) from failure
    return found


def _measure(
    live: LiveCluster, page: Page, templates: Mapping[str, Source], pool_label: str, intervals: tuple[float, float]
) -> None:
    """Measure again after changes, but not too often; until it is interrupted."""
    from msgspec.structs import replace

    from kwhatif.api.metrics import measure, measure_losses

    measured_at = swept_at = float("-inf")
    has_changed = is_unswept = True
    release = live.session.scheduler.version
    while True:
        now = time.monotonic()
        if has_changed and not live.behind and now - measured_at >= intervals[0]:
            session, before = live.session, page.measured
            if session.scheduler.version != release:
                typer.echo(f"kube-scheduler {release} → {session.scheduler.version}", err=True)
                release = session.scheduler.version
            measured = measure(session, templates, pool_label)
            if before is not None:
                seconds = {**before.seconds, **measured.seconds}
                measured = replace(measured, blocked=before.blocked, losses=before.losses, seconds=seconds)
            page.measured = measured
            measured_at, has_changed, is_unswept = now, False, True
        elif is_unswept and page.measured is not None and not live.behind and now - swept_at >= intervals[1]:
            page.measured = measure_losses(live.session, page.measured)
            swept_at, is_unswept = now, False
        has_changed |= live.wait(_LOOK)
