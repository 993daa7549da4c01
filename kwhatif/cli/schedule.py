"""`kwhatif schedule`: where would these pods land, and which pods would they evict?"""

from __future__ import annotations

from kwhatif.api.options import JudgingOptions, ReadingOptions
from kwhatif.cli.autoscaling import Growth
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import (
    FailOn,
    Filenames,
    Manifests,
    Namespace,
    Output,
    OutputOption,
    Printing,
    named,
)
from kwhatif.cli.run import Style, answer, parse_conditions


@reads_cluster
def schedule(
    *,
    cluster: SchedulerSource,
    growth: Growth,
    manifests: Manifests = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    judging: JudgingOptions,
    reading: ReadingOptions,
    output: OutputOption = Output.TABLE,
    fail_on: FailOn = "unschedulable",
    printing: Printing,
) -> None:
    """If this is applied, where do its pods land? If they fit nowhere: which pods do they evict?

    \b
    Examples:
      kwhatif schedule deployment.yaml --from cluster.yaml
      kwhatif schedule pod/shop/web-0 --from cluster.yaml
      kubectl get no,po,pdb,pc -A -o json | kwhatif schedule pod.yaml --from -
      kwhatif schedule pod.yaml --from cluster.yaml -o wide
    """
    import kwhatif

    growth.refuse("--alone", judging["alone"])
    growth.refuse("--no-admission", not judging["admission"])
    conditions = parse_conditions(fail_on, strict=cluster.strict, aftermath=judging["aftermath"])
    pods = named(manifests, filename)

    answers = cluster.ask(
        lambda session, names: kwhatif.schedule(
            session,
            *names,
            namespace=namespace,
            described=output.described,
            **judging,
            **reading,
        ),
        pods,
        namespace=namespace,
        growth=growth,
    )
    answer(answers, Style(output.value, printing), conditions)
