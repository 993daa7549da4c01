"""`kwhatif schedule`: where would these pods land, and if nowhere, whom would they evict?"""

from __future__ import annotations

from kwhatif.cli.cluster import Source, reads_cluster
from kwhatif.cli.options import (
    Color,
    ColorOption,
    FailOn,
    Filenames,
    Manifests,
    Namespace,
    Output,
    OutputOption,
    Quiet,
    named,
)
from kwhatif.cli.run import Style, answer, parse_conditions


@reads_cluster
def schedule(
    cluster: Source,
    manifests: Manifests = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    output: OutputOption = Output.TABLE,
    fail_on: FailOn = "unschedulable",
    color: ColorOption = Color.AUTO,
    quiet: Quiet = False,
) -> None:
    """Where would these pods land; if nowhere, whom would they evict?

    \b
    Examples:
      kwhatif schedule pod.yaml --from cluster.yaml
      kubectl get pods,nodes,pdb,pc -A -o json | kwhatif schedule pod.yaml --from -
      kwhatif schedule pod.yaml --from cluster.yaml -o wide
    """
    import kwhatif

    conditions = parse_conditions(fail_on, strict=cluster.strict)
    pods = named(manifests, filename)
    session = cluster.load()
    report = kwhatif.schedule(session, *pods, namespace=namespace)
    answer(report, Style(output.value, color, quiet), conditions)
