"""Options about an autoscaler of nodes, each declared once; `autoscale` and `consolidate` have more."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwhatif.cli.cluster_options import AgesAt, check_ages_at
from kwhatif.cli.options import one_of, read_once
from kwhatif.cli.run import now
from kwhatif.cli.usage import AUTOSCALER

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session


class Autoscaler(Enum):
    """The autoscaler whose rules are followed."""

    AUTO = "auto"
    CLUSTER_AUTOSCALER = "cluster-autoscaler"
    KARPENTER = "karpenter"


class Growing(Enum):
    """Whether nodes are added, and by which autoscaler."""

    OFF = "off"
    AUTO = "auto"
    CLUSTER_AUTOSCALER = "cluster-autoscaler"
    KARPENTER = "karpenter"


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
class Scaling:
    """The autoscaler, and its settings that are not in the cluster."""

    autoscaler: WhichAutoscaler = Autoscaler.AUTO
    node_groups: NodeGroupsFile = None
    instance_types: InstanceTypesFile = None
    at: AgesAt = None

    def __post_init__(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            BadParameter: in words for the user.
        """
        _check(self)

    def arguments(self) -> dict[str, Any]:
        """The library's arguments."""
        return _arguments(self)


@dataclass(frozen=True)
class Growth:
    """The autoscaler that adds nodes for pods that find no room, if any."""

    autoscaler: WhetherGrowing = Growing.OFF
    node_groups: NodeGroupsFile = None
    instance_types: InstanceTypesFile = None
    at: AgesAt = None
    node_startup: NodeStartup = "90s"

    def __post_init__(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            BadParameter: in words for the user.
        """
        if self.is_asked:
            _check(self)
            return
        for option, value in (("--node-groups", self.node_groups), ("--instance-types", self.instance_types)):
            if value is not None:
                raise typer.BadParameter("it is about an autoscaler: give --autoscaler auto, too", param_hint=option)

    @property
    def is_asked(self) -> bool:
        """Whether nodes may be added."""
        return self.autoscaler is not Growing.OFF

    def refuse(self, option: str, given: object) -> None:
        """Refuse an option that contradicts new nodes.

        Raises:
            BadParameter: it is given.
        """
        if given and self.is_asked:
            raise typer.BadParameter(
                "it is answered without nodes that an autoscaler adds: leave out --autoscaler", param_hint=option
            )

    def of(self, session: Session) -> Session:
        """The cluster, with the autoscaler."""
        if not self.is_asked:
            return session
        from kwhatif.api.autoscale import with_autoscaler

        return with_autoscaler(session, node_startup=self.node_startup, **_arguments(self))


def _check(asked: Scaling | Growth) -> None:
    if asked.node_groups is not None and (asked.autoscaler.value == "karpenter" or asked.instance_types is not None):
        raise typer.BadParameter(
            "it is about the Cluster Autoscaler: Karpenter's NodePools are in the cluster",
            param_hint="--node-groups",
        )
    if asked.instance_types is not None and asked.autoscaler.value == "cluster-autoscaler":
        raise typer.BadParameter("it is about Karpenter: give --node-groups", param_hint="--instance-types")
    check_ages_at(asked.at)


def _arguments(asked: Scaling | Growth) -> dict[str, Any]:
    return {
        "autoscaler": asked.autoscaler.value,
        "node_groups": read_once(asked.node_groups),
        "instance_types": read_once(asked.instance_types),
        "at": asked.at,
        "now": now(),
    }
