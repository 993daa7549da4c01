"""Whole processes on a generated dump, as the operating system accounts them."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.context import Context, cluster_of
from benchmarks.rows import Row, at_most, times

TITLE = "From a dump to the answer"
NOTE = """\
Four tenths of the time go into decoding, three into looks at every pod: the checks of what was read (a dump may be
written by hand), admission, the snapshot. Each costs a pod one to five microseconds, as much just after decoding as
later: what helps is to look at less. Then come imports, and trying each of 5,000 full nodes with its 22 pods. What is
not needed by the pod in question is not made, such as the index of other namespaces' pods and of their affinity terms,
and host ports; nor what only JSON, `-o wide` and `--explain` show: the victims of each of 5,000 candidates and how they
were found, but for the ten best. Nor is anything given back, or looked through for garbage, before the process exits.
Tried and dropped: sharing equal parts of pods (a quarter less memory, as much time), times of pods compared as texts,
smaller pieces of the file, preparing pods while decoding."""

ROOT = Path(__file__).parents[1]
KWHATIF = (sys.executable, "-m", "kwhatif")
BARE = (sys.executable, "-m", "benchmarks.bare")
ORACLE = ROOT / "tests" / "oracle" / "bin" / "oracle"

BARE_TIMES = times(2.0)
PEAK = at_most(1.3)
#: What noise may add where nothing else should.
NOISE = 1.1
#: Less than this cannot be measured, in seconds.
TICK = 0.01
#: A multiple of linear growth that caches explain; quadratic would be 10.
GROWTH = 2


class Cost(NamedTuple):
    """Processor time in seconds (user and system), peak resident memory in GB."""

    seconds: float
    peak: float


def cost_of(argv: Sequence[object]) -> Cost:
    """Run a command to its end, its output thrown away; a "no" (exit 1) is an answer, too."""
    launch = [sys.executable, "-m", "benchmarks.launch", *map(str, argv)]
    # Installed packages are compiled; so is this tree from the second run on, unless the environment forbids it.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    ran = subprocess.run(launch, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT, env=environment)
    code, seconds, peak = ran.stdout.split()
    if code not in ("0", "1"):
        raise RuntimeError(f"{argv} ended with {code}")
    return Cost(float(seconds), float(peak) / 1e9)


def costs_of(runs: int, commands: Mapping[str, Sequence[object]]) -> dict[str, Cost]:
    """The fastest run of each command. They take turns: what disturbs one of them disturbs the others as well."""
    rounds = [{name: cost_of(argv) for name, argv in commands.items()} for _ in range(runs)]
    return {name: min(each[name] for each in rounds) for name in commands}


def rows(context: Context) -> Iterator[Row]:
    """Everything about whole processes."""
    yield from _json(context)
    yield from _compressed(context)
    yield from _growth(context)
    yield from _yaml(context)
    yield from _oracle(context)


def _json(context: Context) -> Iterator[Row]:
    dump, pod = context.json(context.large), context.manifest()
    source = ("--from", dump)
    costs = costs_of(
        context.runs + 2,
        {
            "bare": (*BARE, "json", dump),
            "`schedule`": (*KWHATIF, "schedule", pod, *source),
            "`preempt`, all candidates": (*KWHATIF, "preempt", pod, *source),
        },
    ) | costs_of(
        1,
        {
            "`preempt --explain`": (*KWHATIF, "preempt", "--explain", pod, *source),
            "`gate`": (*KWHATIF, "gate", pod, *source),
            "`snapshot info`": (*KWHATIF, "snapshot", "info", dump),
        },
    )
    bare = costs.pop("bare")
    yield Row(f"bare msgspec decode of {dump.stat().st_size / 2**20:.0f} MiB of JSON", bare.seconds, "s")
    for name, cost in costs.items():
        target = BARE_TIMES if name in ("`schedule`", "`preempt`, all candidates") else None
        yield Row(name, cost.seconds, "s", "bare decode", bare.seconds, target)
    for name, cost in costs.items():
        target = PEAK if name in ("`schedule`", "`preempt`, all candidates") else None
        yield Row(f"{name}: memory", cost.peak, "GB", "bare decode", bare.peak, target)


def _compressed(context: Context) -> Iterator[Row]:
    dump, pod = context.json(context.small), context.manifest()
    packed = dump.with_suffix(".json.gz")
    with dump.open("rb") as plain, gzip.open(packed, "wb", compresslevel=1) as file:
        shutil.copyfileobj(plain, file)
    inflate = "import sys, zlib; zlib.decompress(open(sys.argv[1], 'rb').read(), 31)"
    costs = costs_of(
        context.runs,
        {
            "gzip": (*KWHATIF, "schedule", pod, "--from", packed),
            "plain": (*KWHATIF, "schedule", pod, "--from", dump),
            "inflate": (sys.executable, "-c", inflate, packed),
        },
    )
    together = costs["plain"].seconds + costs["inflate"].seconds
    what = f"`schedule` from gzip, {context.small.nodes} nodes"
    yield Row(what, costs["gzip"].seconds, "s", "plain, and zlib alone", together, times(NOISE))


def _growth(context: Context) -> Iterator[Row]:
    """A tenth of the cluster takes a tenth of the time, what every process takes left out."""
    pod = context.manifest()
    shapes = {"start": cluster_of(1), "small": context.small, "large": context.large}
    costs = costs_of(
        context.runs,
        {name: (*KWHATIF, "preempt", pod, "--from", context.json(shape)) for name, shape in shapes.items()},
    )
    small, large = (max(costs[name].seconds - costs["start"].seconds, TICK) for name in ("small", "large"))
    scale = context.large.nodes / context.small.nodes
    what = f"`preempt`, {context.large.nodes:,} nodes, without the start"
    yield Row(what, large, "s", f"{scale:.0f} times {context.small.nodes} nodes", small * scale, times(GROWTH))


def _yaml(context: Context) -> Iterator[Row]:
    shape = cluster_of(context.small.nodes if context.quick else 909)  # 20,000 pods
    dump, pod = context.yaml(shape), context.manifest()
    ours = costs_of(context.runs, {"": (*KWHATIF, "schedule", pod, "--from", dump)})[""]
    reference = cost_of((*BARE, "yaml", dump))
    what = f"`schedule`, YAML of {shape.nodes * shape.pods_per_node:,} pods"
    yield Row(what, ours.seconds, "s", "PyYAML's C loader alone", reference.seconds, times(1 / 12))


def _oracle(context: Context) -> Iterator[Row]:
    """kube-scheduler's own code with the same question and dump, where `make -C tests/oracle build` was done."""
    if not ORACLE.exists():
        return
    shape = context.small
    case = context.folder / "case"
    case.mkdir(exist_ok=True)
    context.manifest("case/pod.yaml")
    shutil.copyfile(context.json(shape), case / "cluster.yaml")
    costs = costs_of(
        1,
        {
            "ours": (*KWHATIF, "schedule", case / "pod.yaml", "--from", case / "cluster.yaml"),
            "go": (ORACLE, "--stdout", "-j", 1, case),
        },
    )
    what = f"`schedule`, {shape.nodes} nodes"
    yield Row(what, costs["ours"].seconds, "s", "kube-scheduler's packages", costs["go"].seconds, times(1))
    yield Row(f"{what}: memory", costs["ours"].peak, "GB", "kube-scheduler's packages", costs["go"].peak, times(1))
