"""Options about an autoscaler of nodes, each declared once; `autoscale` and `consolidate` have others besides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwhatif.cli.options import one_of
from kwhatif.cli.usage import AUTOSCALER

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session


class Autoscaler(Enum):
    """Whose rules are followed."""

    AUTO = "auto"
    CLUSTER_AUTOSCALER = "cluster-autoscaler"
    KARPENTER = "karpenter"


class Growing(Enum):
    """Whether nodes come, and by whose rules."""

    OFF = "off"
    AUTO = "auto"
    CLUSTER_AUTOSCALER = "cluster-autoscaler"
    KARPENTER = "karpenter"


WhichAutoscaler = Annotated[
    Autoscaler,
    typer.Option(
        "--autoscaler", metavar="NAME", help=f"Whose rules: {one_of(Autoscaler)}. auto: of the one that is seen there."
    ),
]
WhetherGrowing = Annotated[
    Growing,
    typer.Option(
        "--autoscaler",
        metavar="NAME",
        help=f"Go on with the nodes that it adds for what finds no room: {one_of(Growing)}.",
        rich_help_panel=AUTOSCALER,
    ),
]
NodeGroupsFile = Annotated[
    str | None,
    typer.Option(
        "--node-groups",
        metavar="FILE",
        help="The Cluster Autoscaler's node groups and flags, or -. Without it, the groups that labels of nodes show.",
        rich_help_panel=AUTOSCALER,
    ),
]
InstanceTypesFile = Annotated[
    str | None,
    typer.Option(
        "--instance-types",
        metavar="FILE",
        help="The instance types that Karpenter chooses from, or -. Without it, those that run in the cluster.",
        rich_help_panel=AUTOSCALER,
    ),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="The moment that ages count to, and of a recording the one that is read, such as 2026-01-31T12:00:00Z."
        " Without it, when the dump was taken.",
        rich_help_panel=AUTOSCALER,
    ),
]
NodeStartup = Annotated[
    str,
    typer.Option(
        "--node-startup",
        metavar="DURATION",
        help="How long a node takes from being asked for until it is ready.",
        rich_help_panel=AUTOSCALER,
    ),
]


def check_scaling(autoscaler: str, node_groups: str | None, instance_types: str | None, at: str | None) -> None:
    """Refuse what cannot be meant together.

    Raises:
        BadParameter: in words for the user.
    """
    from kwhatif.kube.model.meta import parse_time

    given = {"--node-groups": node_groups, "--instance-types": instance_types}
    if autoscaler == "off":
        for option, value in given.items():
            if value is not None:
                raise typer.BadParameter("it is about an autoscaler: give --autoscaler auto, too", param_hint=option)
        return
    if node_groups is not None and (autoscaler == "karpenter" or instance_types is not None):
        raise typer.BadParameter(
            "it is about the Cluster Autoscaler: Karpenter's NodePools are in the cluster",
            param_hint="--node-groups",
        )
    if instance_types is not None and autoscaler == "cluster-autoscaler":
        raise typer.BadParameter("it is about Karpenter: give --node-groups", param_hint="--instance-types")
    try:
        parse_time(at or "2026-01-31T12:00:00Z")
    except ValueError as wrong:
        said = f"{at!r} is not an RFC 3339 time, such as 2026-01-31T12:00:00Z"
        raise typer.BadParameter(said, param_hint="--at") from wrong


def read_once(path: str | None) -> Any:
    """A file's path; of standard input the text, as two answers may need it."""
    import kwhatif
    from kwhatif.sources.text.files import STDIN, standard_input

    return kwhatif.text(standard_input().read(), STDIN) if path == "-" else path


@dataclass(frozen=True)
class Growth:
    """The autoscaler that adds nodes for what finds no room, if any."""

    autoscaler: WhetherGrowing = Growing.OFF
    node_groups: NodeGroupsFile = None
    instance_types: InstanceTypesFile = None
    at: At = None
    node_startup: NodeStartup = "90s"

    def __post_init__(self) -> None:
        """Refuse what cannot be meant together.

        Raises:
            BadParameter: in words for the user.
        """
        check_scaling(self.autoscaler.value, self.node_groups, self.instance_types, self.at)

    @property
    def is_asked(self) -> bool:
        """Whether nodes may come."""
        return self.autoscaler is not Growing.OFF

    def refuse(self, option: str, given: object) -> None:
        """Refuse an option that cannot be meant together with nodes that come.

        Raises:
            BadParameter: it is given.
        """
        if given and self.autoscaler is not Growing.OFF:
            raise typer.BadParameter(
                "it is about one moment, and no node comes in it: leave out --autoscaler", param_hint=option
            )

    def of(self, session: Session) -> Session:
        """The cluster, with the autoscaler."""
        if self.autoscaler is Growing.OFF:
            return session

        from kwhatif.api.autoscale import with_autoscaler
        from kwhatif.cli.run import now

        return with_autoscaler(
            session,
            autoscaler=self.autoscaler.value,
            node_groups=read_once(self.node_groups),
            instance_types=read_once(self.instance_types),
            at=self.at,
            node_startup=self.node_startup,
            now=now(),
        )
