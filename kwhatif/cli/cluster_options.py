"""Options that say which cluster is meant, and which scheduler is asked."""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.usage import CLUSTER, OTHER, SCHEDULER


def complete_version(incomplete: str) -> list[str]:
    """The releases that are modelled."""
    from kwhatif.scheduler.release import MINORS

    return [version for version in (f"1.{minor}" for minor in MINORS) if version.startswith(incomplete)]


def complete_gate(ctx: typer.Context, incomplete: str) -> list[str]:
    """The gates of the release that are not locked."""
    from kwhatif.sources.scheduler.release import completed_gates

    return completed_gates(ctx.params.get("kubernetes_version"), incomplete)


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
        help="Of a recording (--from): what the cluster was like then: 2026-01-31T14:05Z, or 90m for 90 minutes ago.",
        rich_help_panel=CLUSTER,
    ),
]
#: Of commands that need it also without a recording.
AgesAt = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="The moment that ages count to, and of a recording the one that is read, such as 2026-01-31T12:00:00Z."
        " Without it, when the dump was taken.",
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
        help="Fail if information about the cluster is missing; else that is a caveat.",
        rich_help_panel=CLUSTER,
    ),
]
SchedulerConfig = Annotated[
    str | None,
    typer.Option(
        "--scheduler-config",
        metavar="FILE",
        help="The KubeSchedulerConfiguration of your scheduler. Without it, kube-scheduler's defaults.",
        rich_help_panel=SCHEDULER,
    ),
]
CallExtenders = Annotated[
    bool,
    typer.Option(
        "--call-extenders",
        help="Call the extenders of that configuration. Without it, each of them is a caveat.",
        rich_help_panel=SCHEDULER,
    ),
]
Plugin = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="MODULE:CLASS",
        help="Add a scheduler plugin of your own, written in Python. Repeatable.",
        rich_help_panel=SCHEDULER,
    ),
]
KubernetesVersion = Annotated[
    str | None,
    typer.Option(
        "--kubernetes-version",
        metavar="VERSION",
        help="The release whose scheduler is asked, such as 1.34; else $KWHATIF_KUBERNETES_VERSION, else what the"
        " cluster says.",
        rich_help_panel=SCHEDULER,
        autocompletion=complete_version,
    ),
]
FeatureGates = Annotated[
    list[str] | None,
    typer.Option(
        "--feature-gates",
        metavar="A=true,B=false",
        help="Feature gates of kube-scheduler that differ from the release's defaults. Repeatable.",
        rich_help_panel=SCHEDULER,
        autocompletion=complete_gate,
    ),
]
TreatAsGang = Annotated[
    bool,
    typer.Option(
        "--treat-as-gang",
        help="Judge the groups of Volcano, Kueue, KAI and coscheduling, and the pods of a JobSet, LeaderWorkerSet,"
        " RayCluster or PyTorchJob, as gangs by the rule of kube-scheduler 1.37.",
        rich_help_panel=SCHEDULER,
    ),
]
WorkloadKinds = Annotated[
    str | None,
    typer.Option(
        "--workload-kinds",
        metavar="FILE",
        help="Custom kinds of which pods are made, besides the built-in ones: where template and replicas stand, and"
        " what each behaves like.",
        rich_help_panel=SCHEDULER,
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
