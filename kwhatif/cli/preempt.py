"""`kwhatif preempt`: every preemption candidate, ranked, with victims and budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.cluster_options import reads_cluster
from kwhatif.cli.options import (
    Aftermath,
    Alone,
    Color,
    ColorOption,
    FailOn,
    Filenames,
    Namespace,
    NoAdmission,
    Output,
    OutputOption,
    Quiet,
    Templates,
    Validate,
    template_paths,
)
from kwhatif.cli.run import Style, answer, parse_conditions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwhatif.report import Report
    from kwhatif.whatif.session import Session


@reads_cluster
def preempt(
    cluster: SchedulerSource,
    manifests: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MANIFEST]...", help="Without one: all pending pods, in queue order."),
    ] = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    alone: Alone = False,
    no_admission: NoAdmission = False,
    aftermath: Aftermath = False,
    validate: Validate = "strict",
    pod_template_path: Templates = None,
    output: OutputOption = Output.TABLE,
    explain: Annotated[bool, typer.Option("--explain", help="Explain the decision step by step.")] = False,
    fail_on: FailOn = "unschedulable",
    color: ColorOption = Color.AUTO,
    quiet: Quiet = False,
) -> None:
    """Whom would these pods evict, where, and why there?

    Without a manifest, every pending pod of the cluster (with -n, of a namespace) in queue order.

    \b
    Examples:
      kwhatif preempt pod.yaml --from cluster.yaml
      kwhatif preempt --explain --from cluster.yaml
    """
    import kwhatif

    conditions = parse_conditions(fail_on, strict=cluster.strict, aftermath=aftermath)
    pods = [*(manifests or ()), *(filename or ())]

    def ask(session: Session, manifests: Sequence[str]) -> Report:
        with template_paths():
            return kwhatif.preempt(
                session,
                *manifests,
                alone=alone,
                admission=not no_admission,
                aftermath=aftermath,
                reprieves=explain or output.holds_everything,
                namespace=namespace,
                template_paths=pod_template_path or (),
                validation=validate,  # type: ignore[arg-type] # checked by the option
            )

    answers = cluster.ask(ask, pods, namespace=namespace)
    answer(answers, Style(output.value, color, quiet, explain), conditions)
