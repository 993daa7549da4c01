"""`kwhatif version`: the version, and the releases whose rules it knows."""

from __future__ import annotations

import typer

from kwhatif._version import __version__


def version_line() -> str:
    """The version, and the release from whose source the rules were derived."""
    return f"kwhatif {__version__} (rules of kube-scheduler 1.36)"


def version() -> None:
    """Print the version, as --version does, and the Kubernetes releases whose rules are known."""
    from kwhatif.scheduler.release import MINORS

    typer.echo(version_line())
    typer.echo(f"Kubernetes 1.{min(MINORS)} to 1.{max(MINORS)}")
