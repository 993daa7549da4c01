"""Options about the cluster: where it is read from, edits of it, and its node autoscaler."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kwhatif.api.options import Option, OptionError
from kwhatif.api.refusals import check_autoscaler
from kwhatif.cli.options import node_names, one_of, read_once
from kwhatif.cli.run import now
from kwhatif.cli.usage import AUTOSCALER, CLUSTER

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


def complete_version(incomplete: str) -> list[str]:
    """The releases that are modelled."""
    from kwhatif.scheduler.release import MINORS

    return [version for version in (f"1.{minor}" for minor in MINORS) if version.startswith(incomplete)]


def check_ages_at(at: str | None) -> None:
    """Check the moment before the cluster is read.

    Raises:
        OptionError: it is not a time.
    """
    from kwhatif.kube.model.meta import parse_time

    try:
        parse_time(at or "2026-01-31T12:00:00Z")
    except ValueError as wrong:
        said = f"{at!r} is not an RFC 3339 time, such as 2026-01-31T12:00:00Z"
        raise OptionError("--at", said) from wrong


#: `--at` of commands that also use it without a recording.
AgesAt = Annotated[
    str | None,
    Option(
        "The reference time for ages, and the moment of a recording, such as 2026-01-31T12:00:00Z."
        " Default: when the dump was taken.",
        metavar="TIME",
        group=CLUSTER,
    ),
]

# --- an autoscaler of nodes ------------------------------------------------------------------------------------------


#: The autoscaler whose rules are followed; and whether nodes are added at all.
Autoscaler = Literal["auto", "cluster-autoscaler", "karpenter"]
Growing = Literal["off", Autoscaler]


@dataclass(frozen=True)
class _Settings:
    """An autoscaler, and those of its settings that are not in the cluster."""

    autoscaler: str
    node_groups: Annotated[
        str | None,
        Option(
            "The Cluster Autoscaler's node groups and flags, or -. Default: the groups that labels of nodes show.",
            metavar="FILE",
            group=AUTOSCALER,
        ),
    ] = None
    instance_types: Annotated[
        str | None,
        Option(
            "The instance types that Karpenter chooses from, or -. Default: those of the cluster's nodes.",
            metavar="FILE",
            group=AUTOSCALER,
        ),
    ] = None
    at: AgesAt = None

    def __post_init__(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            OptionError: in words for the user.
        """
        check_autoscaler(self.autoscaler, self.node_groups, self.instance_types)
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

    autoscaler: Annotated[
        Autoscaler,
        Option(f"The autoscaler: {one_of(Autoscaler)}. auto: the one that the cluster shows.", metavar="NAME"),
    ] = "auto"


@dataclass(frozen=True)
class Growth(_Settings):
    """The autoscaler that adds nodes for unschedulable pods, if any."""

    autoscaler: Annotated[
        Growing,
        Option(
            f"Let this autoscaler add nodes for pods that find no room: {one_of(Growing)}.",
            metavar="NAME",
            group=AUTOSCALER,
        ),
    ] = "off"
    node_startup: Annotated[
        str, Option("How long a new node takes to become ready.", metavar="DURATION", group=AUTOSCALER)
    ] = "90s"

    def __post_init__(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            OptionError: in words for the user.
        """
        if self.is_asked:
            super().__post_init__()
            return
        for option, value in (("--node-groups", self.node_groups), ("--instance-types", self.instance_types)):
            if value is not None:
                raise OptionError(option, "it is about an autoscaler: give --autoscaler auto, too")

    @property
    def is_asked(self) -> bool:
        """Whether nodes may be added."""
        return self.autoscaler != "off"

    def of(self, session: Session) -> Session:
        """The cluster, with the autoscaler."""
        if not self.is_asked:
            return session
        from kwhatif.api.deciders import with_autoscaler

        return with_autoscaler(session, node_startup=self.node_startup, **self.arguments())
