"""What was compared, family by family."""

from collections import Counter
from collections.abc import Sequence

from tests.differential.bench import Tally

OUTCOMES = ("fits", "evicts", "nowhere", "held back", "fails", "refuses", "panics", "times out")
COLUMNS = ("family", "cases", "agreements", *OUTCOMES, "by chance")


class Table:
    """Counts by family, in a fixed order."""

    def __init__(self, families: Sequence[str]) -> None:
        self._cases: dict[str, int] = dict.fromkeys(families, 0)
        self._outcomes: dict[str, Counter[str]] = {family: Counter() for family in families}
        self._by_chance: Counter[str] = Counter()
        self._disagreements: Counter[str] = Counter()

    def add(self, tally: Tally) -> None:
        """Count a batch."""
        self._cases[tally.family] += tally.cases
        self._outcomes[tally.family] += tally.outcomes
        self._by_chance[tally.family] += tally.by_chance
        self._disagreements[tally.family] += len(tally.disagreements)

    def total(self) -> int:
        """All cases."""
        return sum(self._cases.values())

    def disagreements(self) -> int:
        """Cases in which the two sides differ."""
        return self._disagreements.total()

    def fewest(self) -> tuple[int, str]:
        """The family with the fewest cases, and how many it has."""
        return min((cases, family) for family, cases in self._cases.items())

    def families(self) -> list[str]:
        """Their names, in order."""
        return list(self._cases)

    def rows(self) -> list[tuple[str, ...]]:
        """A row per family, and the sum."""
        rows = [self._row(family, [family]) for family in self._cases]
        return [*rows, self._row("all", self.families())]

    def _row(self, name: str, families: Sequence[str]) -> tuple[str, ...]:
        cases = sum(self._cases[family] for family in families)
        different = sum(self._disagreements[family] for family in families)
        outcomes = sum((self._outcomes[family] for family in families), Counter[str]())
        by_chance = sum(self._by_chance[family] for family in families)
        numbers = (cases, cases - different, *(outcomes[outcome] for outcome in OUTCOMES), by_chance)
        return (name, *(f"{number:,}" for number in numbers))

    def text(self) -> str:
        """For a terminal."""
        rows = [COLUMNS, *self.rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if index == 0 else cell.rjust(width) for index, (cell, width) in enumerate(pairs)
            )
            for pairs in (list(zip(row, widths, strict=True)) for row in rows)
        )

    def markdown(self) -> str:
        """For a document."""
        head = f"| {' | '.join(COLUMNS)} |\n|---|{'---:|' * (len(COLUMNS) - 1)}"
        return "\n".join([head, *(f"| {' | '.join(row)} |" for row in self.rows())])
