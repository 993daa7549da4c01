"""Options about the cluster: where it is read from, edits of it, and its node autoscaler."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kwhatif.cli.options import node_names, one_of, read_once
from kwhatif.cli.run import now
from kwhatif.cli.usage import AUTOSCALER, CLUSTER, EDITS, OTHER

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session

#: Verbs of edits that are followed by names of nodes.
_ABOUT_NODES = ("cordon", "uncordon", "taint")


def complete_edit(ctx: typer.Context, incomplete: str) -> list[str]:
    """Verbs of edits; after verbs about nodes, the names of nodes in the dump of `--from`."""
    from kwhatif.edits.verbs import VERBS

    head, blank, last = incomplete.rpartition(" ")
    verb = head.split(" ", 1)[0]
    if not blank:
        return [f"{verb} " for verb in VERBS if verb.startswith(last)]
    names: Iterable[str] = ()
    if verb in _ABOUT_NODES or head.endswith(" like"):
        names = node_names(ctx)
    elif verb == "delete" and last.startswith("node/"):
        names = (f"node/{name}" for name in node_names(ctx))
    return [f"{head} {name}" for name in names if name.startswith(last)]


If = Annotated[
    list[str] | None,
    typer.Option(
        "--if",
        metavar="EDIT",
        help="Assume this change: cordon NODE, scale deploy/shop/web=5, add 3 nodes like NODE. Repeatable, in order.",
        rich_help_panel=EDITS,
        autocompletion=complete_edit,
    ),
]
Edits = Annotated[
    list[str] | None,
    typer.Option(
        "--edits",
        metavar="FILE",
        help="The same from a YAML list; made before those of --if. Repeatable.",
        rich_help_panel=EDITS,
    ),
]
Requests = Annotated[
    list[str] | None,
    typer.Option(
        "--requests",
        metavar="FROM",
        help="Pods request what they need by the cluster's VerticalPodAutoscalers (vpa), its PodMetrics (metrics)"
        ", or a file: kubectl top pods --containers, CSV, PodMetrics; of Prometheus cpu=FILE, memory=FILE. Repeatable.",
        rich_help_panel=EDITS,
    ),
]
Compare = Annotated[
    bool,
    typer.Option("--compare", help="Show the answers without and with the edits side by side.", rich_help_panel=EDITS),
]


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
#: The same for commands that also use it without a recording.
AgesAt = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="The reference time for ages, and the moment of a recording, such as 2026-01-31T12:00:00Z."
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


# --- an autoscaler of nodes ------------------------------------------------------------------------------------------


#: The autoscaler whose rules are followed; and whether nodes are added at all.
Autoscaler = Literal["auto", "cluster-autoscaler", "karpenter"]
Growing = Literal["off", Autoscaler]
WhichAutoscaler = Annotated[
    Autoscaler,
    typer.Option(
        "--autoscaler",
        metavar="NAME",
        help=f"The autoscaler: {one_of(Autoscaler)}. auto: the one that the cluster shows.",
    ),
]
WhetherGrowing = Annotated[
    Growing,
    typer.Option(
        "--autoscaler",
        metavar="NAME",
        help=f"Let this autoscaler add nodes for pods that find no room: {one_of(Growing)}.",
        rich_help_panel=AUTOSCALER,
    ),
]
NodeGroupsFile = Annotated[
    str | None,
    typer.Option(
        "--node-groups",
        metavar="FILE",
        help="The Cluster Autoscaler's node groups and flags, or -. Default: the groups that labels of nodes show.",
        rich_help_panel=AUTOSCALER,
    ),
]
InstanceTypesFile = Annotated[
    str | None,
    typer.Option(
        "--instance-types",
        metavar="FILE",
        help="The instance types that Karpenter chooses from, or -. Default: those of the cluster's nodes.",
        rich_help_panel=AUTOSCALER,
    ),
]
NodeStartup = Annotated[
    str,
    typer.Option(
        "--node-startup",
        metavar="DURATION",
        help="How long a new node takes to become ready.",
        rich_help_panel=AUTOSCALER,
    ),
]


@dataclass(frozen=True)
class _Settings:
    """An autoscaler, and those of its settings that are not in the cluster."""

    autoscaler: str
    node_groups: NodeGroupsFile = None
    instance_types: InstanceTypesFile = None
    at: AgesAt = None

    def __post_init__(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            BadParameter: in words for the user.
        """
        if self.node_groups is not None and (self.autoscaler == "karpenter" or self.instance_types is not None):
            raise typer.BadParameter(
                "it is about the Cluster Autoscaler: Karpenter's NodePools are in the cluster",
                param_hint="--node-groups",
            )
        if self.instance_types is not None and self.autoscaler == "cluster-autoscaler":
            raise typer.BadParameter("it is about Karpenter: give --node-groups", param_hint="--instance-types")
        check_ages_at(self.at)

    def arguments(self) -> dict[str, Any]:
        """The library's arguments."""
        return {
            "autoscaler": self.autoscaler,
            "node_groups": read_once(self.node_groups),
            "instance_types": read_once(self.instance_types),
            "at": self.at,
            "now": now(),
        }


@dataclass(frozen=True)
class Scaling(_Settings):
    """The autoscaler of the question."""

    autoscaler: WhichAutoscaler = "auto"


@dataclass(frozen=True)
class Growth(_Settings):
    """The autoscaler that adds nodes for unschedulable pods, if any."""

    autoscaler: WhetherGrowing = "off"
    node_startup: NodeStartup = "90s"

    def __post_init__(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            BadParameter: in words for the user.
        """
        if self.is_asked:
            super().__post_init__()
            return
        for option, value in (("--node-groups", self.node_groups), ("--instance-types", self.instance_types)):
            if value is not None:
                raise typer.BadParameter("it is about an autoscaler: give --autoscaler auto, too", param_hint=option)

    @property
    def is_asked(self) -> bool:
        """Whether nodes may be added."""
        return self.autoscaler != "off"

    def refuse(self, option: str, given: object) -> None:
        """Refuse an option that contradicts new nodes.

        Raises:
            BadParameter: the option is given.
        """
        if given and self.is_asked:
            raise typer.BadParameter(
                "it is answered without nodes that an autoscaler adds: leave out --autoscaler", param_hint=option
            )

    def of(self, session: Session) -> Session:
        """The cluster, with the autoscaler."""
        if not self.is_asked:
            return session
        from kwhatif.api.deciders import with_autoscaler

        return with_autoscaler(session, node_startup=self.node_startup, **self.arguments())
