"""`kwhatif snapshot save|info`: a cluster in one file, and what is in it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated

import typer

from kwhatif.cli.cluster import ClusterSource
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import Color, ColorOption, seconds
from kwhatif.cli.run import now, print_blocks, print_data
from kwhatif.cli.usage import Command, CommandGroup

app = typer.Typer(cls=CommandGroup, no_args_is_help=True, rich_markup_mode=None)


class InfoOutput(Enum):
    """Formats of an inventory."""

    TABLE = "table"
    JSON = "json"


@app.command(cls=Command)
@reads_cluster
def save(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file to write: .json or .yaml, also followed by .gz or .zst.")
    ],
    where: ClusterSource,
    images: Annotated[
        bool, typer.Option("--images", help="Keep the names of images, by which ImageLocality scores nodes.")
    ] = False,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="Give everything another name; decisions stay the same.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report", help="With --anonymize: print which texts are kept, where, and why.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Watch the live cluster, and write the file again when it has changed.")
    ] = False,
    every: Annotated[
        str, typer.Option("--every", metavar="TIME", help="With --follow: after so long at the earliest.")
    ] = "1m",
    color: ColorOption = Color.AUTO,
) -> None:
    """Save what scheduling reads of a cluster, and nothing else; loading it gives the same reports.

    \b
    Examples:
      kwhatif snapshot save cluster.json.gz
      kwhatif snapshot save cluster.json.gz --follow --every 5m
      kwhatif snapshot save bug.yaml --anonymize --report --from cluster.yaml
    """
    from kwhatif.api.snapshots import save_cluster
    from kwhatif.render.kept import kept_blocks
    from kwhatif.sources.saving.formats import format_of

    if report and not anonymize:
        raise typer.BadParameter("lists what --anonymize keeps: give both", param_hint="--report")
    try:
        format_of(file)
    except ValueError as wrong:
        raise typer.BadParameter(f"{file} {wrong}", param_hint="FILE") from wrong
    if follow:
        _follow(file, where, every, images=images, anonymize=anonymize)
        return
    with where.progress() as advance:
        saved = save_cluster(
            file,
            *(where.from_ or ()),
            images=images,
            anonymize=anonymize,
            strict=where.strict,
            taken_at=None if where.from_ else datetime.fromtimestamp(now(), UTC),
            progress=advance,
            **where.live(),
        )
    if report:
        print_blocks(kept_blocks(saved.kept), color)
    typer.echo(f"{saved.size} objects saved to {file}", err=True)


def _follow(file: str, where: ClusterSource, every: str, *, images: bool, anonymize: bool) -> None:
    """Write the file whenever the cluster has changed and nothing is known to be missing; until it is interrupted."""
    from kwhatif.api.live import watch

    if where.from_:
        raise typer.BadParameter("a live cluster is followed: leave it out", param_hint="--from")
    interval = seconds(every, "--every")
    with watch(strict=where.strict, live=where.live()) as live:
        live.settle()
        while True:
            size, saved_at = live.save(file, images=images, anonymize=anonymize), time.monotonic()
            typer.echo(f"{size} objects saved to {file}", err=True)
            has_changed = False
            while not has_changed or live.behind or time.monotonic() - saved_at < interval:
                has_changed |= live.wait(1.0)


@app.command(cls=Command)
@reads_cluster
def info(
    where: ClusterSource,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Dumps, as with --from. Without any, the live cluster."),
    ] = None,
    output: Annotated[
        InfoOutput, typer.Option("--output", "-o", metavar="FORMAT", help="How to print the answer: table or json.")
    ] = InfoOutput.TABLE,
    color: ColorOption = Color.AUTO,
) -> None:
    """Describe a dump: what it holds, and what a trustworthy answer would need besides.

    \b
    Examples:
      kwhatif snapshot info cluster.json.gz
      kwhatif snapshot info must-gather.tar.gz -o json
    """
    import kwhatif
    from kwhatif.render.data import to_json
    from kwhatif.render.inventory import inventory_blocks

    with where.progress() as advance:
        dumps = [*(paths or ()), *(where.from_ or ())]
        inventory = kwhatif.describe(*dumps, strict=where.strict, progress=advance, **where.live())
    if output is InfoOutput.JSON:
        print_data(to_json(inventory), "json")
        return
    print_blocks(inventory_blocks(inventory), color)
