"""docs/conformance.md: what was compared, and what the comparison found on the way."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.differential.oracle import DEFAULT_RELEASE
from tests.differential.table import Table

#: A run with fewer cases of any family is no proof; of a release that shares most rules, fewer are enough.
LEAST = 2000
LEAST_OF_OTHERS = 200
#: The second line of a stored case's `case.txt`, where the case was a disagreement once.
FOUND = "Was wrong: "

_PAGE = """# How exact kwhatif is

This page is written by `make conformance`, and only if nothing disagrees. [tests/oracle](../tests/oracle) says how to repeat it.

## What was compared

Random clusters and pods, {total:,} of them, were judged twice: by kwhatif and by the scheduling framework of
**Kubernetes {version}** itself, linked into a small Go program. For each case these had to be equal:

* the feasible nodes, and every plugin's score on each, normalised and weighted; the set of best nodes;
* each rejected node's code, plugin and reasons;
* the text of the FailedScheduling event, word for word, and the plugins to blame;
* whether the pod may evict, every candidate node with its victims in order and its budget violations, the set of best
  candidates, and what was said about the nodes where eviction does not help;
* what holds a pod back before the queue, what is refused as invalid, and which errors end an attempt.

## The result

`{command}`

{table}

No disagreement. *fits*: some node is feasible; *evicts*: none is, but eviction helps; *nowhere*: neither; *held back*:
before the queue; *fails*: the scheduler ends the attempt with an error; *refuses*: the API or the scheduler's
configuration does not accept the input; *panics*: it falls over, and there is nothing to compare (in v1.36.2,
scoring by a device class's implicit resource name does that, and claims that ask for 2^63 devices together); *times
out*: its search for devices takes longer than its ten seconds, by the clock, and again there is nothing to compare. *By
chance*: the scheduler's own answer changes from time to time (it walks over a map), and kwhatif's is one of its answers.

The same seed gives the same cases.

Amounts up to 2 PiB are among them, which no node has. From 8 PiB on (or as many milli-CPU or devices), where the scheduler's
floats and 64 bits may no longer hold what it computes, kwhatif says in a caveat that it does not model that. A pod with 1 PiB or more for the pod as a whole has no
overhead: the scheduler would add it anew each time that it looks at the pod.

## The stored cases

[fixtures/conformance](../fixtures/conformance) holds {stored} cases with the scheduler's answers: {families}.
`make test` holds kwhatif against all of them.

## What the comparison found

Each of these was a disagreement once. It was mended at its root, and a small case of it is stored.

| case | what was wrong |
|---|---|
{found}
"""


_SECTION = """## Kubernetes {release}

`{command}`

The same comparison with the scheduling framework of **Kubernetes {version}**, of which kwhatif was asked by
`--kubernetes-version {release}`. No disagreement.

{table}
"""


def write(table: Table, path: Path, version: str, seed: int, release: str = DEFAULT_RELEASE) -> str | None:
    """Write the document, or a release's section of it; or say why this run is no reason to."""
    fewest, family = table.fewest()
    least = LEAST if release == DEFAULT_RELEASE else LEAST_OF_OTHERS
    if fewest < least:
        return f"{fewest} cases of {family} are fewer than {least}"
    if table.disagreements():
        return f"{table.disagreements()} cases disagree"
    if release == DEFAULT_RELEASE:
        new = page(table, path.parents[1] / "fixtures" / "conformance", version, seed)
        path.write_text(new + _others(path, new))
    else:
        command = f"make conformance RELEASE={release} N={fewest} SEED={seed}"
        section = _SECTION.format(release=release, version=version, command=command, table=table.markdown())
        path.write_text(_with_section(path.read_text(), section))
    return None


def _with_section(text: str, section: str) -> str:
    """The page with this section in the place of the one with its heading, or at the end."""
    heading = section.splitlines()[0]
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    places = [index for index, part in enumerate(parts) if part.splitlines()[:1] == [heading]]
    if places:
        is_last = places[0] == len(parts) - 1
        parts[places[0]] = section if is_last else f"{section}\n"
        return "".join(parts)
    return f"{text.rstrip()}\n\n{section}"


def _others(path: Path, new: str) -> str:
    """What other comparisons have written into the page: all sections that this one does not have."""
    if not path.exists():
        return ""
    sections = re.split(r"^(?=## )", path.read_text(), flags=re.MULTILINE)[1:]
    headings = set(new.splitlines())
    others = [section.strip() for section in sections if section.splitlines()[0] not in headings]
    return "".join(f"\n{section}\n" for section in others)


def page(table: Table, stored: Path, version: str, seed: int) -> str:
    """The text of the document."""
    cases = sorted(path.parent for path in stored.glob("*/*/expected.json"))
    families = Counter(case.parent.name for case in cases)
    return _PAGE.format(
        total=table.total(),
        version=version,
        command=f"make conformance N={table.fewest()[0]} SEED={seed}",
        table=table.markdown(),
        stored=len(cases),
        families=", ".join(f"{family} {count}" for family, count in families.items()),
        found="\n".join(_found(cases)),
    )


def _found(cases: Sequence[Path]) -> Iterator[str]:
    for case in cases:
        for line in (case / "case.txt").read_text().splitlines()[1:]:
            if line.startswith(FOUND):
                said = line.removeprefix(FOUND).replace("|", "\\|")
                yield f"| {case.parent.name}/{case.name} | {said} |"
