"""A snapshot is the dump: every command says the same of both, and of the anonymized one the same under other names."""

import re
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import pytest

from kwhatif.api.snapshots import save_cluster
from tests import FIXTURES
from tests.cli.running import run
from tests.old_names import renamed
from tests.snapshot_law import essence, without_source

ROOT = FIXTURES
DEMO = ROOT / "demo" / "cluster.yaml"
#: Clusters: files that are read together.
CLUSTERS = {
    "demo": (DEMO,),
    "pending": (DEMO, ROOT / "demo" / "pending.yaml", ROOT / "demo" / "events.yaml"),
    "cloud": (ROOT / "cloud" / "cluster.yaml",),
    "karpenter": (ROOT / "demo" / "karpenter.yaml", ROOT / "demo" / "karpenter-pending.yaml"),
    "undated": (ROOT / "advise" / "cluster.yaml",),
    "foreign": (ROOT / "dumps" / "cluster-info.tar.gz",),
    "devices": (ROOT / "conformance" / "dra" / "001" / "cluster.yaml",),
    "volumes": (ROOT / "conformance" / "volumes" / "001" / "cluster.yaml",),
    "beside": (ROOT / "advise" / "cluster.yaml", ROOT / "snapshots" / "beside.yaml"),
}
#: Of every cluster, `NODE` is the first one; then those of some, by names that are in them.
EVERYWHERE = (
    "preempt",
    "queue",
    "capacity --max 5",
    "upgrade --to 1.35",
    "deschedule --strategy RemoveDuplicates",
    "simulate",
    "simulate --then 'cordon NODE'",
    "drain NODE --ignore-daemonsets --delete-emptydir-data --force",
    "outage NODE",
)
#: Without it, ages count from the moment at which a dump was taken.
AT = "--at 2026-12-01T00:00:00Z"
MORE = {
    "demo": (
        "schedule deploy/shop/web",
        "gate deploy/shop/web",
        "capacity like deploy/shop/web --max 5",
        "simulate --then 'scale deploy/shop/web=9'",
        "simulate --then 'scale sts/data/postgres=4'",
        "outage --each=topology.kubernetes.io/zone --jobs=1",
    ),
    "karpenter": (
        f"autoscale {AT}",
        f"consolidate {AT}",
        f"consolidate --explain node/NODE {AT}",
        f"preempt --autoscaler auto {AT}",
        f"drain NODE --force --autoscaler karpenter --node-startup 2m {AT}",
    ),
    "cloud": (f"autoscale {AT}", f"consolidate {AT}", f"simulate --autoscaler auto --then 'cordon NODE' {AT}"),
    "pending": ("advise pod/shop/report", "queue --if 'add 1 node like NODE'"),
    "undated": ("gate deploy/shop/web", "advise deploy/shop/web", "capacity like deploy/shop/web --target 3"),
    "beside": ("gate deploy/shop/web", "simulate --then 'scale deploy/shop/web=5'"),
}
QUESTIONS = [
    (cluster, question) for cluster in CLUSTERS for question in (*EVERYWHERE, *MORE.get(cluster, ()))
]  # fmt: skip


class Saved(NamedTuple):
    """A cluster in three forms."""

    sources: tuple[Path, ...]
    plain: Path
    anonymized: Path
    names: Mapping[str, str]
    node: str


@cache
def saved(cluster: str) -> Saved:
    folder = Path(mkdtemp(prefix="snapshots-"))
    made = {
        name: save_cluster(
            folder / f"{name}.json",
            *CLUSTERS[cluster],
            images=True,
            anonymize=name == "anonymized",
            strict=False,
            taken_at=None,
            progress=None,
        )
        for name in ("plain", "anonymized")
    }
    node = min(obj.metadata.name for obj in made["plain"].objects if type(obj).__name__ == "Node")
    plain, anonymized = (folder / f"{name}.json" for name in made)
    return Saved(CLUSTERS[cluster], plain, anonymized, made["anonymized"].names, node)


@pytest.mark.parametrize(("cluster", "question"), QUESTIONS)
def test_every_command_says_of_a_snapshot_what_it_says_of_the_dump(cluster: str, question: str) -> None:
    forms = saved(cluster)
    asked = question.replace("NODE", forms.node)
    told = [
        run(f"kwhatif {words} {sources}")
        for words, sources in (
            (asked, " ".join(f"--from {path}" for path in forms.sources)),
            (asked, f"--from {forms.plain}"),
        )
    ]
    named = [without_source(f"{each.stdout}{each.stderr}", *forms.sources, forms.plain) for each in told]
    assert (told[1].code, re.sub("SOURCE(, SOURCE)*", "SOURCE", named[1])) == (
        told[0].code,
        re.sub("SOURCE(, SOURCE)*", "SOURCE", named[0]),
    )


@pytest.mark.parametrize(("cluster", "question"), QUESTIONS)
def test_every_command_says_of_an_anonymized_snapshot_the_same_up_to_names(cluster: str, question: str) -> None:
    forms = saved(cluster)
    asked = question.replace("NODE", forms.node)
    new = shlex.join(renamed(word, forms.names) if "=topology" not in word else word for word in shlex.split(asked))
    wanted = run(f"kwhatif {asked} {' '.join(f'--from {path}' for path in forms.sources)} -o json")
    got = run(f"kwhatif {new} --from {forms.anonymized} -o json")
    assert got.code == wanted.code
    if wanted.code in (0, 1):
        assert essence(got.stdout, forms.names) == essence(wanted.stdout, {})
