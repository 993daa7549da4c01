"""Reports by page: a report that is too large for one message is cut, with the address of the rest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit

import msgspec

#: The approximate size of one message in bytes of JSON: some 8,000 tokens.
PAGE = 24_000
#: The numbers of rows of each list that are tried if not all rows fit, the largest first.
_ROWS = (100, 50, 20, 10, 5, 3, 2, 1, 0)
#: Objects with more entries are cut like lists.
_ENTRIES = 50
#: How many characters of one text are kept if not everything fits.
_TEXT = 2_000
#: How many shortened lists a message names; the others are only counted.
_NAMED = 20
#: How many reports are kept, the latest ones, and how many bytes all of them may have.
_KEPT, _MOST_BYTES = 32, 64 << 20
SCHEME = "kwhatif"
INVENTORY = f"{SCHEME}://inventory"
REPORTS = f"{SCHEME}://reports"
#: RFC 6570.
TEMPLATE = f"{SCHEME}://{{document}}{{/part*}}{{?page}}"


class Unknown(LookupError):
    """There is no such resource; the message says which resources there are."""


class Cut(NamedTuple):
    """A value that fits into one message, and what was left out."""

    value: Any
    left_out: list[dict[str, Any]]


def size(value: Any) -> int:
    """Bytes of JSON."""
    return len(msgspec.json.encode(value))


def cut(value: Any, uri: str, most: int = PAGE) -> Cut:
    """The value with fewer rows of each list, so that it fits; `uri` is the address of the whole value."""
    if size(value) <= most:
        return Cut(value, [])
    for rows in _ROWS:
        shortened: list[tuple[tuple[str, ...], int]] = []
        made = _cut(value, rows, (), shortened)
        if size(made) <= most:
            break
    shortened.sort(key=lambda each: len(each[0]))
    left_out: list[dict[str, Any]] = [
        {"part": "/".join(path), "rows": total, "resource": "/".join((uri, *(quote(step, "") for step in path)))}
        for path, total in shortened[:_NAMED]
    ]
    if len(shortened) > _NAMED:
        left_out.append({"part": "and others", "rows": len(shortened) - _NAMED, "resource": uri})
    return Cut(made, left_out)


def _cut(value: Any, rows: int, path: tuple[str, ...], shortened: list[tuple[tuple[str, ...], int]]) -> Any:
    match value:
        case list():
            if len(value) > rows:
                shortened.append((path, len(value)))
            return [_cut(each, rows, (*path, str(place)), shortened) for place, each in enumerate(value[:rows])]
        case dict():
            kept = list(value.items())
            if len(kept) > max(rows, _ENTRIES):
                shortened.append((path, len(kept)))
                kept = kept[: max(rows, 1)]
            return {key: _cut(each, rows, (*path, key), shortened) for key, each in kept}
        case str() if len(value) > _TEXT:
            return value[:_TEXT] + "…"
    return value


class Shelf:
    """The documents that can be read: the inventory of the cluster, and the latest reports."""

    def __init__(self) -> None:
        self._reports: OrderedDict[str, bytes] = OrderedDict()
        self._given = 0

    def add(self, report: Mapping[str, Any]) -> str:
        """Keep a report; returns its address."""
        self._given += 1
        uri = f"{REPORTS}/{self._given}"
        self._reports[uri] = msgspec.json.encode(report)
        while len(self._reports) > _KEPT or (len(self._reports) > 1 and self._size > _MOST_BYTES):
            self._reports.popitem(last=False)
        return uri

    @property
    def _size(self) -> int:
        return sum(map(len, self._reports.values()))

    @property
    def reports(self) -> Sequence[str]:
        """The addresses of the kept reports, the latest first."""
        return list(reversed(self._reports))

    def report(self, uri: str) -> Any:
        """A report as data.

        Raises:
            Unknown: there is none with that address, or no longer.
        """
        if uri not in self._reports:
            kept = f"there are {self.reports[-1]} to {self.reports[0]}" if self._reports else "there is none yet"
            raise Unknown(f"{uri}: there is no such report; {kept}")
        return msgspec.json.decode(self._reports[uri])


class Address(NamedTuple):
    """A document, a part of it, and a page of that part."""

    document: str
    part: tuple[str, ...] = ()
    page: int = 1


def address(uri: str) -> Address:
    """Parse an address.

    Raises:
        Unknown: it is not the address of a resource.
    """
    found = urlsplit(uri)
    steps = tuple(map(unquote, found.path.split("/")[1:]))
    page = parse_qs(found.query).get("page", ["1"])[-1]
    if found.scheme != SCHEME or found.netloc not in ("inventory", "reports") or not page.isdecimal():
        raise Unknown(f"{uri}: there is no such resource; there are {INVENTORY} and {REPORTS}/NUMBER")
    if found.netloc == "inventory":
        return Address(INVENTORY, steps, int(page))
    return Address("/".join((REPORTS, *steps[:1])), steps[1:], int(page))


def page_of(document: Any, asked: Address) -> dict[str, Any]:
    """One page of a part of the document.

    Raises:
        Unknown: there is no such part, or no such page.
    """
    value, uri = document, asked.document
    for step in asked.part:
        value = _step(value, step, uri)
        uri = f"{uri}/{quote(step, '')}"
    pages = list(_pages(value)) if isinstance(value, list) else [value]
    if not 1 <= asked.page <= len(pages):
        raise Unknown(f"{uri}: there is no page {asked.page}; there are {len(pages)}")
    whole = pages[asked.page - 1]
    made, left_out = cut(whole, uri)
    if isinstance(value, list):
        first = 1 + sum(map(len, pages[: asked.page - 1]))
        made = {"rows": made, "first": first, "of": len(value)}
    else:
        made = {"value": made}
    about = {"resource": uri, "page": asked.page, "pages": len(pages)}
    return {**about, **made, "leftOut": left_out}


def _step(value: Any, step: str, uri: str) -> Any:
    if isinstance(value, dict) and step in value:
        return value[step]
    if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    if isinstance(value, dict):
        there = f"there are {', '.join(list(value)[:_ENTRIES])}"
    else:
        there = f"it has {len(value)} rows, from 0 on" if isinstance(value, list) else "it has no parts"
    raise Unknown(f"{uri}: there is no {step!r} in it; {there}")


def _pages(rows: list[Any]) -> Iterator[list[Any]]:
    """The rows, as many per page as fit; a row that does not fit is a page of its own."""
    page: list[Any] = []
    room = PAGE
    for row in rows:
        taken = size(row) + 1
        if page and taken > room:
            yield page
            page, room = [], PAGE
        page.append(row)
        room -= taken
    if page or not rows:
        yield page
