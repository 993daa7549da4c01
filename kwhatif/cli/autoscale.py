"""`kwhatif autoscale` and `kwhatif consolidate`: which nodes would the autoscaler add, and which would it remove?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.names import complete_node
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import Output, OutputOption, Printing, fail_on, one_of
from kwhatif.cli.run import Style, answer, now, parse_conditions

if TYPE_CHECKING:
    from kwhatif.report import Report


class Autoscaler(Enum):
    """Whose rules are followed."""

    AUTO = "auto"
    CLUSTER_AUTOSCALER = "cluster-autoscaler"
    KARPENTER = "karpenter"


WhichAutoscaler = Annotated[
    Autoscaler,
    typer.Option(
        "--autoscaler", metavar="NAME", help=f"Whose rules: {one_of(Autoscaler)}. auto: of the one that is seen there."
    ),
]
NodeGroupsFile = Annotated[
    str | None,
    typer.Option(
        "--node-groups",
        metavar="FILE",
        help="The Cluster Autoscaler's node groups and flags, or -. Without it, the groups that labels of nodes show.",
    ),
]
InstanceTypesFile = Annotated[
    str | None,
    typer.Option(
        "--instance-types",
        metavar="FILE",
        help="The instance types that Karpenter chooses from, or -. Without it, those that run in the cluster.",
    ),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="The moment that ages count to, and of a recording the one that is read, such as 2026-01-31T12:00:00Z."
        " Without it, when the dump was taken.",
    ),
]
Explain = Annotated[
    str | None,
    typer.Option(
        "--explain",
        metavar="node/NAME",
        help="Say in one line whether this node goes, and why not.",
        autocompletion=complete_node,
    ),
]
Rounds = Annotated[
    int,
    typer.Option(
        "--rounds",
        metavar="N",
        min=1,
        max=100,
        help="How many loops of the Cluster Autoscaler, unless one adds nothing. Of Karpenter one is played.",
    ),
]
OfAutoscale = Annotated[str, fail_on("refused", "added")]
OfConsolidate = Annotated[str, fail_on("removed")]


@dataclass(frozen=True)
class Scaling:
    """The autoscaler that is meant, and what it knows besides the cluster."""

    autoscaler: WhichAutoscaler = Autoscaler.AUTO
    node_groups: NodeGroupsFile = None
    instance_types: InstanceTypesFile = None
    at: At = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant together.

        Raises:
            BadParameter: in words for the user.
        """
        from kwhatif.kube.model.meta import parse_time

        karpenter, groups = self.autoscaler is Autoscaler.KARPENTER, self.autoscaler is Autoscaler.CLUSTER_AUTOSCALER
        if self.node_groups is not None and (karpenter or self.instance_types is not None):
            raise typer.BadParameter(
                "it is about the Cluster Autoscaler: Karpenter's NodePools are in the cluster",
                param_hint="--node-groups",
            )
        if self.instance_types is not None and groups:
            raise typer.BadParameter("it is about Karpenter: give --node-groups", param_hint="--instance-types")
        try:
            parse_time(self.at or "2026-01-31T12:00:00Z")
        except ValueError as wrong:
            said = f"{self.at!r} is not an RFC 3339 time, such as 2026-01-31T12:00:00Z"
            raise typer.BadParameter(said, param_hint="--at") from wrong

    def ask(self, question: Callable[..., Report], cluster: SchedulerSource, **options: Any) -> Any:
        """Read the cluster, and ask about it."""
        from datetime import UTC, datetime

        import kwhatif
        from kwhatif.sources.text.files import STDIN, standard_input

        def read(path: str | None) -> Any:
            # Two answers may need it.
            return kwhatif.text(standard_input().read(), STDIN) if path == "-" else path

        groups, types = read(self.node_groups), read(self.instance_types)
        moment = datetime.fromtimestamp(now(), UTC)
        return cluster.ask(
            lambda session, _: question(
                session,
                autoscaler=self.autoscaler.value,
                node_groups=groups,
                instance_types=types,
                at=self.at,
                now=moment,
                **options,
            ),
            dates=True,
        )


@reads_cluster
def autoscale(
    *,
    cluster: SchedulerSource,
    scaling: Scaling,
    rounds: Rounds = 10,
    output: OutputOption = Output.TABLE,
    fail_on: OfAutoscale = "refused",
    printing: Printing,
) -> None:
    """Which nodes would the autoscaler add for the pending pods, and for which of them can it do nothing?

    \b
    Examples:
      kwhatif autoscale --node-groups groups.yaml --from cluster.yaml
      kwhatif autoscale --instance-types types.json --from cluster.yaml
    """
    import kwhatif

    conditions = parse_conditions(fail_on, strict=cluster.strict)
    answer(scaling.ask(kwhatif.autoscale, cluster, rounds=rounds), Style(output.value, printing), conditions)


@reads_cluster
def consolidate(
    *,
    cluster: SchedulerSource,
    scaling: Scaling,
    explain: Explain = None,
    output: OutputOption = Output.TABLE,
    fail_on: OfConsolidate = "none",
    printing: Printing,
) -> None:
    """Which nodes would the autoscaler remove, where do their pods land, and what keeps the other nodes?

    \b
    Examples:
      kwhatif consolidate --node-groups groups.yaml --from cluster.yaml
      kwhatif consolidate --explain node/general-a1 --from cluster.yaml
    """
    import kwhatif

    conditions = parse_conditions(fail_on, strict=cluster.strict)
    if explain is not None:  # one line
        printing = replace(printing, quiet=True)
    answer(scaling.ask(kwhatif.consolidate, cluster, explain=explain), Style(output.value, printing), conditions)
