"""What pods use, or are recommended, as files say it: the sources of `requests from FILE`.

`kubectl top pods` (with or without `--containers`, `-A`, `--no-headers`), CSV of the same columns, PodMetrics of
metrics.k8s.io, Prometheus' answer to a query, and VerticalPodAutoscalers; the last three as JSON, objects as YAML, too.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import msgspec

from kwhatif.admission.vertical_autoscaler import SCALED
from kwhatif.edits.edit import FoundRequests, Measured, Wrong
from kwhatif.edits.requests import measured_in
from kwhatif.errors import Problem
from kwhatif.kube.matching.requests import CPU, MEMORY
from kwhatif.kube.model.bystanders import VerticalPodAutoscaler
from kwhatif.kube.model.quantity import NANO, parse_quantity
from kwhatif.sources.decoding.lenient import FAILURES
from kwhatif.sources.dumps.dump import collect_dump
from kwhatif.sources.text.files import GivenText, find_inputs, read_inputs
from kwhatif.sources.text.problems import Origin, Problems

#: More than any machine has: 2**50 cores, or bytes times as many again.
_MOST = 2**60
#: Kubernetes objects, or what Prometheus answers.
_IS_DATA = re.compile(rb"\s*(?:[{\[]|---|%YAML|#.*\n|(?:apiVersion|kind|items|metadata)\s*:)")
_FORMATS = "give what kubectl top pods --containers -A prints, CSV, PodMetrics or Prometheus' answer as JSON"


def read_usage(path: str, *, stdin: BinaryIO, resource: str = "") -> FoundRequests:
    """Read one file, or "-"; of one resource only, if that is given.

    Raises:
        InputError: with all that is wrong with it, each with its line or field.
    """
    problems = Problems()
    texts = list(read_inputs(find_inputs([path], stdin, problems), problems))
    if len(texts) != 1 and not problems:
        problems.add(path, f"is {len(texts)} files", "name one of them")
    problems.raise_if_any()
    name, text = texts[0]
    answer = _prometheus_answer(text)
    if answer is not None:
        rows = list(_from_prometheus(name, answer, resource, problems))
    elif _IS_DATA.match(text):
        found = collect_dump([GivenText(name, text)], stdin=stdin).cluster
        if found.all(VerticalPodAutoscaler) and not resource:
            return FoundRequests((*measured_in(found),), tuple(found.all(VerticalPodAutoscaler).values()))
        rows = [*measured_in(found)]
    else:
        rows = list(_from_table(name, text, problems))
    rows = [row for row in rows if row.amounts] if not resource else list(_only(resource, rows))
    if not (rows or problems):
        problems.add(name, "holds no usage of pods", _FORMATS)
    problems.raise_if_any()
    return FoundRequests(tuple(rows))


def _only(resource: str, rows: Sequence[Measured]) -> Iterator[Measured]:
    for row in rows:
        if resource in row.amounts:
            yield msgspec.structs.replace(row, amounts={resource: row.amounts[resource]})


# --- tables ------------------------------------------------------------------------------------------------------

#: What columns are called -> what stands in them. "name" is the container where there is a column "pod".
_COLUMNS = {
    "namespace": "namespace",
    "pod": "pod",
    "name": "name",
    "container": "container",
    **dict.fromkeys(("cpu", "cpu(cores)", "cpu_cores"), CPU),
    **dict.fromkeys(("memory", "memory(bytes)", "memory_bytes"), MEMORY),
}
#: What kubectl prints without a header, by the number of columns.
_WITHOUT_HEADER = {
    3: ("pod", CPU, MEMORY),
    4: ("pod", "container", CPU, MEMORY),
    5: ("namespace", "pod", "container", CPU, MEMORY),
}
#: Lines that are not about a pod: a line between, and the sum of `kubectl top --sum`.
_RULE = re.compile(r"[\s_-]*")


def _from_table(name: str, text: bytes, problems: Problems) -> Iterator[Measured]:
    lines = text.decode("utf-8", "replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    columns: tuple[str, ...] = ()
    for number, line in enumerate(lines, 1):
        if _RULE.fullmatch(line) or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in next(csv.reader([line]))] if "," in first else line.split()
        if not columns:
            known = [_COLUMNS.get(cell.lower(), "") for cell in cells]
            if {CPU, MEMORY} & set(known):
                columns = tuple(known)
                if wrong := _missing_column(columns):
                    problems.add(f"{name}, line {number}", wrong, _FORMATS, Origin(name, line=number))
                    return
                continue
            columns = _WITHOUT_HEADER.get(len(cells), ())
        try:
            row = _row(columns, cells)
        except Wrong as wrong:
            problems.add(f"{name}, line {number}", wrong.message, wrong.hint, Origin(name, line=number))
            if not columns:
                return
            continue
        if row is not None:
            yield row


def _missing_column(columns: Sequence[str]) -> str:
    if not {"pod", "name"} & set(columns):
        return "has no column POD"
    twice = sorted({column for column in columns if column and columns.count(column) > 1})
    return f"has two columns for {twice[0]}" if twice else ""


def _row(columns: Sequence[str], cells: Sequence[str]) -> Measured | None:
    """One line; None: it is a sum.

    Raises:
        Wrong: it cannot be read.
    """
    if len(cells) == 2 and len(columns) > 2 and all(map(_is_amount, cells)):
        return None
    if len(cells) != len(columns):
        shown = f"has {len(cells)} columns" + (f", and the first line {len(columns)}" if columns else "")
        raise Wrong(f"cannot be read: {shown}", _FORMATS)
    found = {column: cell for column, cell in zip(columns, cells, strict=True) if column}
    container = found.get("container", found.get("name", "") if "pod" in found else "")
    pod = found.get("pod", found.get("name", ""))
    if not pod:
        raise Wrong("names no pod")
    amounts = {name: _amount(name, found[name]) for name in SCALED if found.get(name)}
    return Measured(pod, found.get("namespace") or None, container, amounts)


def _is_amount(cell: str) -> bool:
    try:
        return bool(parse_quantity(cell) or True)
    except ValueError:
        return False


def _amount(name: str, cell: str) -> int:
    try:
        nanos = parse_quantity(cell)
    except ValueError as wrong:
        raise Wrong(f"{name} is not an amount: {cell!r}", "write 250m, 0.25, 512Mi or a number of bytes") from wrong
    if not 0 <= nanos <= _MOST * NANO:
        raise Wrong(f"{name} is {'negative' if nanos < 0 else 'more than any machine has'}: {cell}")
    return nanos


# --- Prometheus --------------------------------------------------------------------------------------------------


_OBJECT = re.compile(rb"\s*\{")
_OF_PROMETHEUS = re.compile(rb'"(?:resultType|errorType)"')


def _prometheus_answer(text: bytes) -> Mapping[str, Any] | None:
    """The answer of `/api/v1/query`; None: it is something else."""
    if not _OBJECT.match(text) or not _OF_PROMETHEUS.search(text):
        return None
    try:
        answer = msgspec.json.decode(text)
    except FAILURES:
        return None
    return answer if isinstance(answer, dict) and "status" in answer and "kind" not in answer else None


def _from_prometheus(name: str, answer: Mapping[str, Any], resource: str, problems: Problems) -> Iterator[Measured]:
    data = answer.get("data")
    if answer["status"] != "success" or not isinstance(data, dict):
        problems.add(name, f"is an error of Prometheus: {str(answer.get('error', answer['status']))[:200]}")
        return
    if data.get("resultType") not in ("vector", "matrix") or not isinstance(data.get("result"), list):
        problems.add(name, "is not a vector of pods", "query with labels namespace, pod and container")
        return
    seen: dict[str, tuple[Problem, int]] = {}
    for place, entry in enumerate(data["result"]):
        try:
            row = _sample(entry, resource)
        except Wrong as wrong:
            problem = Problem(name, wrong.message, f"data.result[{place}]", wrong.hint, file=name)
            first, count = seen.get(wrong.message, (problem, 0))
            seen[wrong.message] = first, count + 1
            continue
        if row is not None:
            yield row
    for first, count in seen.values():
        more = f"; {count - 1:,} more like it"
        problems.extend([first._replace(message=first.message + (more if count > 1 else ""))])


def _sample(entry: Any, resource: str) -> Measured | None:
    """One series; None: it is about a cgroup that is not a container's.

    Raises:
        Wrong: it is not about a pod, or what it measures is not known.
    """
    labels = entry.get("metric") if isinstance(entry, dict) else None
    if not isinstance(labels, dict) or not all(isinstance(each, str) for each in labels.values()):
        raise Wrong("has no labels")
    if not labels.get("pod") or not labels.get("namespace"):
        raise Wrong("has no label namespace or pod", "query: max by (namespace, pod, container) (…)")
    if labels.get("container", "-") in ("", "POD"):  # cAdvisor's sums over a pod, and its pause container
        return None
    measured = resource or _resource_of(labels)
    values = entry["values"] if isinstance(entry.get("values"), list) else [entry.get("value")]
    most = max((_value(each) for each in values), default=0)
    return Measured(labels["pod"], labels["namespace"], labels.get("container", ""), {measured: most})


def _resource_of(labels: Mapping[str, str]) -> str:
    said = labels.get("resource") or labels.get("__name__", "")
    if said.endswith("_total"):
        raise Wrong(f"{said} is a counter", f"query its rate: rate({said}[5m])")
    found = [name for name in SCALED if name in said]
    if len(found) != 1:
        raise Wrong("does not say whether it is cpu or memory", "write cpu=FILE or memory=FILE")
    return found[0]


def _value(pair: Any) -> int:
    """Nano-units of a sample, `[time, "0.25"]`, rounded up."""
    text = pair[1] if isinstance(pair, list) and len(pair) == 2 else None
    try:
        number = float(text) if isinstance(text, str) else math.nan
    except ValueError:
        number = math.nan
    if not 0 <= number <= _MOST:
        raise Wrong(f"its value is not an amount: {text!r}"[:120])
    return math.ceil(number * NANO)
