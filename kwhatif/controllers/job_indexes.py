"""The indexes of an indexed Job's pods (`pkg/controller/job/indexed_job_utils.go`, `success_policy.go`)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from kwhatif.kube.model.job import SuccessPolicy
from kwhatif.kube.model.pod import Pod
from kwhatif.workloads.job import INDEX_LABEL
from kwhatif.workloads.numbers import natural_number


def index_of(pod: Pod, completions: int | None) -> int | None:
    """The pod's index (`getCompletionIndex`); None if it has none, or one that is not below `completions`."""
    text = pod.metadata.annotations.completion_index or pod.metadata.labels.get(INDEX_LABEL, "")
    index = natural_number(text)
    return index if index is not None and index < (completions or 0) else None


def parse_indexes(text: str, completions: int) -> frozenset[int]:
    """Parse the indexes below `completions` from a text such as `0-2,5`; parts that are not numbers are ignored."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        text_of_first, _, text_of_last = part.partition("-")
        first, last = natural_number(text_of_first), natural_number(text_of_last or text_of_first)
        if first is not None and last is not None:
            found.update(range(first, min(last, completions - 1) + 1))
    return frozenset(found)


def write_indexes(indexes: Iterable[int]) -> str:
    """Format indexes as such a text; two consecutive ones are written separately."""
    runs: list[tuple[int, int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return ",".join(_run(*run) for run in runs)


def _run(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def first_pending(taken: frozenset[int], count: int, completions: int) -> list[int]:
    """The lowest free indexes (`firstPendingIndexes`)."""
    return list(islice((index for index in range(completions) if index not in taken), count))


def is_success(policy: SuccessPolicy | None, succeeded: frozenset[int], completions: int) -> bool:
    """Whether a rule of the success policy is met (`matchSuccessPolicy`)."""
    for rule in policy.rules if policy and succeeded else ():
        if rule.succeeded_indexes is None:
            if rule.succeeded_count is not None and len(succeeded) >= rule.succeeded_count:
                return True
            continue
        wanted = parse_indexes(rule.succeeded_indexes, completions)
        there = len(wanted & succeeded)
        enough = len(wanted) if rule.succeeded_count is None else min(len(wanted), rule.succeeded_count)
        if wanted and there >= enough:
            return True
    return False
