"""`kwhatif snapshot save|info`: a cluster in one file, and what it contains."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kwhatif.api.options import KindsOption, Option, OptionError
from kwhatif.cli.cluster import ClusterSource
from kwhatif.cli.option_groups import expanded
from kwhatif.cli.options import ColorOption, output_option, seconds
from kwhatif.cli.run import now, print_blocks, print_data
from kwhatif.cli.usage import Command, CommandGroup

if TYPE_CHECKING:
    from kwhatif.api.live import LiveCluster

app = typer.Typer(
    cls=CommandGroup,
    help="A cluster in one file: save it, describe it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command(cls=Command)
@expanded
def save(
    where: ClusterSource,
    kinds: KindsOption,
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="The file to write: .json or .yaml, also followed by .gz or .zst."),
    ] = None,
    images: Annotated[bool, Option("Keep the names of images, so that ImageLocality can score nodes.")] = False,
    anonymize: Annotated[bool, Option("Rename everything; decisions stay the same.")] = False,
    report: Annotated[bool, Option("With --anonymize: print which texts are not renamed, where, and why.")] = False,
    follow: Annotated[bool, Option("Watch the live cluster, and write the file again when it has changed.")] = False,
    record: Annotated[
        str | None, Option("Watch the live cluster, and record its history in this folder.", metavar="DIR")
    ] = None,
    every: Annotated[
        str,
        Option(
            "With --follow: the shortest time between two files. With --record: how often to record.",
            metavar="TIME",
            check=seconds,
        ),
    ] = "1m",
    keep: Annotated[
        str, Option("With --record: delete older history, such as 48h.", metavar="TIME", check=seconds)
    ] = "24h",
    color: ColorOption = "auto",
) -> None:
    """Save what scheduling needs of a cluster, and nothing else; loading it gives the same reports.

    \b
    Examples:
      kwhatif snapshot save cluster.json.gz
      kwhatif snapshot save cluster.json.gz --follow --every 5m
      kwhatif snapshot save --record history --keep 48h
      kwhatif snapshot save bug.yaml --anonymize --report --from cluster.yaml
    """
    from kwhatif.api.snapshots import save_cluster
    from kwhatif.render.inventory import kept_blocks
    from kwhatif.sources.saving.formats import format_of

    if report and not anonymize:
        raise OptionError("--report", "lists what --anonymize keeps: give both")
    if file is None and record is None:
        raise OptionError("FILE", "name the file to write, or a folder with --record")
    if record is not None and anonymize:
        raise OptionError("--anonymize", "every moment would have other names: leave it out")
    try:
        format_of("any.json" if file is None else file)
    except ValueError as wrong:
        raise OptionError("FILE", f"{file} {wrong}") from wrong
    if follow or file is None or record is not None:
        _follow(_Followed(file, record, every, keep, images=images, anonymize=anonymize), where, kinds)
        return
    dumps = where.from_ or ()
    at = where.moment(dumps)
    with where.progress() as advance:
        saved = save_cluster(
            file,
            *dumps,
            images=images,
            anonymize=anonymize,
            strict=where.strict,
            at=at,
            taken_at=None if dumps else now(),
            progress=advance,
            **kinds,
            **where.live(),
        )
    if report:
        print_blocks(kept_blocks(saved.kept), color)
    typer.echo(f"{saved.size} objects saved to {file}", err=True)


class _Followed:
    """How a followed live cluster is written."""

    def __init__(
        self, file: str | None, record: str | None, every: str, keep: str, *, images: bool, anonymize: bool
    ) -> None:
        from kwhatif.sources.saving.record import Recorder

        self._file, self._record = file, record
        self._images, self._anonymize = images, anonymize
        self.every = seconds(every)
        self._recorder = None
        if record is not None:
            kept = seconds(keep)
            self._recorder = Recorder(record, every=self.every, keep=kept, images=images)

    @property
    def is_recorded(self) -> bool:
        """Whether the cluster is also written if nothing has changed."""
        return self._recorder is not None

    def write(self, live: LiveCluster, *, has_changed: bool, is_known: bool) -> None:
        """Write the cluster as it is now.

        Raises:
            InputError: it cannot be written.
        """
        if self._recorder is not None:
            number = live.record(self._recorder, is_known=is_known)
            typer.echo(f"{number} objects recorded in {self._record}", err=True)
        if self._file is not None and has_changed:
            number = live.save(self._file, images=self._images, anonymize=self._anonymize)
            typer.echo(f"{number} objects saved to {self._file}", err=True)


def _follow(followed: _Followed, where: ClusterSource, kinds: KindsOption) -> None:
    """Write the cluster whenever it has changed and no news is missing, until the process is interrupted."""
    from kwhatif.api.live import watch

    if where.from_:
        raise OptionError("--from", "a live cluster is followed: leave it out")
    with watch(strict=where.strict, live=where.live(), **kinds) as live:
        live.settle()
        has_changed = is_known = True
        while True:
            followed.write(live, has_changed=has_changed, is_known=is_known)
            has_changed, is_known, written_at = False, True, time.monotonic()
            while (
                live.behind
                or time.monotonic() - written_at < followed.every
                or not (has_changed or followed.is_recorded)
            ):
                has_changed |= live.wait(min(1.0, max(followed.every, 0.05)))
                is_known &= not live.behind


@app.command(cls=Command)
@expanded
def info(
    where: ClusterSource,
    kinds: KindsOption,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Dumps, as with --from. Without any, the live cluster."),
    ] = None,
    output: Annotated[
        Literal["table", "json"],
        output_option(Literal["table", "json"]),
    ] = "table",
    color: ColorOption = "auto",
) -> None:
    """Describe a dump: what it contains, and what is missing for a trustworthy answer.

    \b
    Examples:
      kwhatif snapshot info cluster.json.gz
      kwhatif snapshot info must-gather.tar.gz -o json
    """
    import kwhatif
    from kwhatif.render.formats import to_json
    from kwhatif.render.inventory import inventory_blocks

    dumps = [*(paths or ()), *(where.from_ or ())]
    at = where.moment(dumps)
    with where.progress() as advance:
        inventory = kwhatif.describe(*dumps, strict=where.strict, at=at, progress=advance, **kinds, **where.live())
    if output == "json":
        print_data(to_json(inventory), "json")
        return
    print_blocks(inventory_blocks(inventory), color)
