"""The table of a run, and its section in docs/conformance.md."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

HEADING = "## The scheduling queue"


class Table:
    """What was compared."""

    def __init__(self, families: Sequence[str]) -> None:
        self.rows = {family: [0, 0, 0] for family in families}
        self.hints: Counter[tuple[str, str, str]] = Counter()
        self.results: Counter[str] = Counter()

    def add(
        self,
        family: str,
        agree: int,
        differ: int,
        operations: int,
        hints: Counter[tuple[str, str, str]],
        results: Counter[str],
    ) -> None:
        row = self.rows[family]
        row[0] += agree + differ
        row[1] += agree
        row[2] += operations
        self.hints.update(hints)
        self.results.update(results)

    @property
    def scripts(self) -> int:
        return sum(row[0] for row in self.rows.values())

    @property
    def operations(self) -> int:
        return sum(row[2] for row in self.rows.values())

    def text(self) -> str:
        return "\n".join([*self._families(), "", *self._hints()])

    def _families(self) -> Iterator[str]:
        yield "| family | scripts | agreements | operations |"
        yield "|---|---:|---:|---:|"
        for family, (scripts, agree, operations) in self.rows.items():
            yield f"| {family} | {scripts:,} | {agree:,} | {operations:,} |"
        yield f"| all | {self.scripts:,} | {sum(row[1] for row in self.rows.values()):,} | {self.operations:,} |"

    def _hints(self) -> Iterator[str]:
        yield "| plugin | registered for | Queue | QueueSkip |"
        yield "|---|---|---:|---:|"
        for plugin, event in sorted({(plugin, event) for plugin, event, _ in self.hints}):
            queue, skip = (self.hints[plugin, event, answer] for answer in ("Queue", "QueueSkip"))
            yield f"| {plugin} | {event} | {queue:,} | {skip:,} |"


def write(table: Table, path: Path, seed: int) -> None:
    """Put the section at the end of the page, in place of an older one."""
    page = path.read_text()
    before = page.partition(f"\n{HEADING}\n")[0].rstrip("\n")
    attempts = ", ".join(f"{count:,} {result}" for result, count in sorted(table.results.items()))
    section = f"""
{HEADING}

`make fuzz-queue N={table.scripts} SEED={seed}`

Random scripts (a cluster, what happens to it, attempts, a clock that the script moves) were played on kwhatif's queue and on
the scheduler's own: its queue, its plugins and their queueing hints, its cycle, its preemption and binding. After every
operation these had to be equal: activeQ and podBackoffQ in order, podErrorBackoffQ, unschedulable and gated pods; of each pod
the stamp, attempts, both counters, the end of its backoff, the plugins that rejected or gate it; nominations; what became of
each attempt, with its message and victims; and every queueing hint that the scheduler asked.

{chr(10).join(table._families())}

No disagreement. Attempts: {attempts}. The hints that the scheduler asked (it stops at the first that says Queue):

{chr(10).join(table._hints())}
"""
    path.write_text(f"{before}\n{section}")
