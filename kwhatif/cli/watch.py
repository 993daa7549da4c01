"""`kwhatif watch QUESTION`: a question about a live cluster, answered again whenever the answer may be another one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kwhatif.cli.advise import advise
from kwhatif.cli.capacity import capacity
from kwhatif.cli.drain import drain
from kwhatif.cli.options import seconds
from kwhatif.cli.outage import outage
from kwhatif.cli.preempt import preempt
from kwhatif.cli.queue import queue
from kwhatif.cli.schedule import schedule
from kwhatif.cli.usage import Command, CommandGroup


class Watched(Command):
    """A command that is run again and again, until it is interrupted."""

    def invoke(self, ctx: Any) -> None:
        """Ask, show, wait; and so on."""
        from kwhatif.cli.watching import Watching  # help does without

        watching = Watching(seconds(ctx.parent.params["min_interval"], "--min-interval"))
        with watching.current():
            while True:
                super().invoke(ctx)
                watching.wait()


app = typer.Typer(cls=CommandGroup, no_args_is_help=True, add_completion=False, rich_markup_mode=None)
for command in (schedule, preempt, drain, outage, capacity, queue, advise):
    app.command(cls=Watched)(command)


@app.callback()
def watch(
    min_interval: Annotated[
        str,
        typer.Option("--min-interval", metavar="TIME", help="Ask again after so long at the earliest, such as 10s."),
    ] = "1s",
) -> None:
    """Ask a question again whenever the cluster has changed, and show what is different.

    \b
    Examples:
      kwhatif watch schedule deployment.yaml
      kwhatif watch --min-interval 10s queue -o json
      kwhatif watch drain --each pool=general --ignore-daemonsets
    """
    seconds(min_interval, "--min-interval")
