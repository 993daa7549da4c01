"""`kwhatif rbac`: what a user must be allowed, so that kwhatif can read a live cluster."""

from __future__ import annotations

from typing import Annotated

import typer


def rbac(
    *,
    watch: Annotated[
        bool, typer.Option("--watch", help="The one for watch and serve, which watch what they read.")
    ] = False,
    workload_kinds: Annotated[
        str | None,
        typer.Option("--workload-kinds", metavar="FILE", help="Also for the custom kinds of this file."),
    ] = None,
) -> None:
    """Print the smallest ClusterRole with which a live cluster can be read.

    \b
    Examples:
      kwhatif rbac | kubectl apply -f -
      kwhatif rbac --watch | kubectl apply -f -
      kubectl create clusterrolebinding kwhatif --clusterrole=kwhatif --user=ann
    """
    from kwhatif.api.sessions import known_kinds
    from kwhatif.render.rbac import cluster_role

    typer.echo(cluster_role(known_kinds(workload_kinds).lists(), watch=watch), nl=False)
