"""Options that say which cluster is meant."""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.usage import CLUSTER, OTHER


def complete_version(incomplete: str) -> list[str]:
    """The releases that are modelled."""
    from kwhatif.scheduler.release import MINORS

    return [version for version in (f"1.{minor}" for minor in MINORS) if version.startswith(incomplete)]


def check_ages_at(at: str | None) -> None:
    """Check the moment before the cluster is read.

    Raises:
        BadParameter: it is not a time.
    """
    from kwhatif.kube.model.meta import parse_time

    try:
        parse_time(at or "2026-01-31T12:00:00Z")
    except ValueError as wrong:
        said = f"{at!r} is not an RFC 3339 time, such as 2026-01-31T12:00:00Z"
        raise typer.BadParameter(said, param_hint="--at") from wrong


From = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="PATH",
        help="Read the cluster from this dump: a file, a directory, an archive, or - for standard input. Repeatable."
        " Without it, the live cluster is read.",
        rich_help_panel=CLUSTER,
    ),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="The moment of a recording (--from): 2026-01-31T14:05Z, or 90m for 90 minutes ago. Default: its last one.",
        rich_help_panel=CLUSTER,
    ),
]
#: For commands that need it also without a recording.
AgesAt = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="The moment that ages count to, and the moment of a recording, such as 2026-01-31T12:00:00Z."
        " Default: when the dump was taken.",
        rich_help_panel=CLUSTER,
    ),
]
Kubeconfig = Annotated[
    str | None,
    typer.Option("--kubeconfig", metavar="FILE", help="The kubeconfig file to use.", rich_help_panel=CLUSTER),
]
Context = Annotated[
    str | None,
    typer.Option("--context", metavar="NAME", help="The context of the kubeconfig to use.", rich_help_panel=CLUSTER),
]
As = Annotated[
    str | None,
    typer.Option("--as", metavar="USER", help="Read the cluster as this user.", rich_help_panel=CLUSTER),
]
AsGroup = Annotated[
    list[str] | None,
    typer.Option(
        "--as-group",
        metavar="GROUP",
        help="Read it as a member of this group; needs --as. Repeatable.",
        rich_help_panel=CLUSTER,
    ),
]
RequestTimeout = Annotated[
    str,
    typer.Option(
        "--request-timeout",
        metavar="TIME",
        help="How long one request may take, such as 30s. 0: no limit.",
        rich_help_panel=CLUSTER,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Fail if information about the cluster is missing, instead of a caveat.",
        rich_help_panel=CLUSTER,
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Print on standard error how long each step took, and how much memory.",
        rich_help_panel=OTHER,
    ),
]
