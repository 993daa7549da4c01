"""One list of the API, page by page (`client-go/tools/pager`), and how far it may go."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

import msgspec

from kwhatif.errors import ClusterUnreadable
from kwhatif.sources.decoding.kinds import ESSENTIAL, Asked
from kwhatif.sources.decoding.lenient import FAILURES
from kwhatif.sources.decoding.templates import keep_templates, may_be_applied, may_run_autoscaler
from kwhatif.sources.dumps.left_out import CUT, FAILED, FORBIDDEN
from kwhatif.sources.live.failures import refusal, unreadable
from kwhatif.sources.live.request import Client, RefusedRequest
from kwhatif.sources.text.inflate import MAX_TEXT

#: Pages of a list: four million objects, more than etcd holds.
MAX_PAGES = 8000
MAX_EMPTY_PAGES = 100


class Bounds:
    """How far a list may go: a server that never ends a list must not be followed without end."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._tokens: set[str] = set()
        self._bytes = self._empty = 0

    def check(self, token: str, body: bytes, *, is_empty: bool) -> None:
        """Take note of a page, and the token with which the list goes on.

        Raises:
            ClusterUnreadable: it has been there before, or the list is too long.
        """
        self._bytes += len(body)
        self._empty += is_empty
        if token in self._tokens:
            raise unreadable(self._what, "the server answers the same pages over and over")
        if token:
            self._tokens.add(token)
        if self._empty > MAX_EMPTY_PAGES:
            raise unreadable(
                self._what, f"the server answers empty pages, {self._empty} by now, and says that more follow"
            )
        if self._bytes > MAX_TEXT or len(self._tokens) > MAX_PAGES:
            raise unreadable(self._what, f"the list is longer than {MAX_PAGES:,} pages or {MAX_TEXT >> 30} GiB")


Item = TypeVar("Item")

#: Entries of a page, as many as kubectl asks for.
PAGE = 500
#: How often a list is begun again, or goes on with a newer state, before it counts as unreadable.
MAX_RESTARTS = 5


class Page(NamedTuple):
    """Some entries of a list."""

    asked: Asked
    #: Of the version that is served.
    api_version: str
    #: The whole answer.
    body: bytes
    #: What it holds, of bystanders raw; None where not every entry can be decoded as it stands.
    objects: Sequence[Any] | None
    #: How many the server says are still to come, if it does.
    remaining: int | None = None


class ListRestarted(NamedTuple):
    """The pages so far are void: the list begins again."""

    asked: Asked


class ListEnded(NamedTuple):
    """That was the list."""

    asked: Asked
    #: Why it could not be read, or not all of it; "" if it was.
    unread: str = ""
    #: It was continued in a later state of the cluster than it was begun in.
    mixed: bool = False
    #: The version that is served, and the state of the cluster that was listed; "" of a list that there is not.
    version: str = ""
    resource_version: str = ""


ListEvent = Page | ListRestarted | ListEnded


class _ListMeta(msgspec.Struct, rename="camel"):
    continue_: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None
    resource_version: str = ""


class _Head(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


class _Objects(_Head, Generic[Item]):
    items: tuple[Item, ...] | None = ()


class _Json(_Head):
    items: msgspec.Raw = msgspec.Raw(b"[]")


class _Served(msgspec.Struct):
    """The part of an `APIResourceList` that says what there is."""

    resources: tuple[_Name, ...] = ()


class _Name(msgspec.Struct):
    name: str = ""


class _Answer(NamedTuple):
    head: _Head
    body: bytes


_HEAD = msgspec.json.Decoder(_Head)
_JSON = msgspec.json.Decoder(_Json)


@cache
def _decoder(type_: type) -> msgspec.json.Decoder[_Head]:
    return msgspec.json.Decoder(_Objects[type_])  # type: ignore[valid-type]


def _reader(asked: Asked) -> Callable[[bytes], _Answer]:
    """Decodes a page in one go, if that can be done."""
    decode = _decoder(asked.type or msgspec.Raw).decode

    def read(body: bytes) -> _Answer:
        try:
            head = decode(body)
            if asked.type is not None and (may_be_applied({asked.type}, body) or may_run_autoscaler(body)):
                keep_templates(getattr(head, "items", None) or (), entries(body))
            return _Answer(head, body)
        except msgspec.ValidationError:
            return _Answer(_HEAD.decode(body), body)

    return read


def entries(body: bytes) -> bytes:
    """The entries of a page as JSON."""
    items = bytes(_JSON.decode(body).items)
    return b"[]" if items == b"null" else items


def read_list(client: Client, asked: Asked, *, at_once: bool = False) -> Iterator[ListEvent]:
    """The pages of a list, and how it ended.

    Args:
        client: what asks.
        asked: the list.
        at_once: begin again rather than to go on in a later state: so that it can be watched from one state on.

    Raises:
        ClusterUnreadable: the list cannot be had, or one that nothing goes without may not.
        Cancelled: it is not needed any more.
    """
    try:
        for version in asked.versions:
            ended = yield from _pages(client, asked, version, at_once=at_once)
            if ended is not None:
                yield ended
                return
    except ClusterUnreadable:
        if asked.type is not None:
            raise
        # The scheduler decides nothing by it: the answer need not wait until, say, Karpenter's webhook works again.
        yield ListEnded(asked, FAILED)
        return
    yield ListEnded(asked)  # an API that is not served has no objects


def _pages(
    client: Client, asked: Asked, version: str, *, at_once: bool
) -> Generator[ListEvent, None, ListEnded | None]:
    """The pages of a list in one version; returns how it ended, None if that version is not served."""
    token, restarts, mixed, pages = "", 0, False, 0
    path = asked.path(version)
    bounds = Bounds(client.describe(path))
    read = _reader(asked)
    while True:
        answer = client.get(_with_query(path, asked, token), read)
        if isinstance(answer, _Answer):
            head = answer.head
            _check(head, asked, version, client)
            objects = (head.items or ()) if isinstance(head, _Objects) else None
            bounds.check(head.metadata.continue_, answer.body, is_empty=objects == ())
            remaining = head.metadata.remaining_item_count
            yield Page(asked, asked.api_version(version), answer.body, objects, remaining)
            token, pages = head.metadata.continue_, pages + 1
            if not token or pages == asked.max_pages:
                unread = CUT if token else ""
                return ListEnded(asked, unread, mixed, version, head.metadata.resource_version)
        elif answer.status == 410 and restarts < MAX_RESTARTS:
            restarts += 1
            token = "" if at_once else _token_of(answer)
            mixed = bool(token)
            if not token:
                bounds, pages = Bounds(client.describe(path)), 0
                yield ListRestarted(asked)
        else:
            return _refused(answer, asked, version, client)


def _with_query(path: str, asked: Asked, token: str) -> str:
    query = {"limit": str(PAGE)} | selection(asked)
    if token:
        query["continue"] = token
    return f"{path}?{urlencode(query)}"


def selection(asked: Asked) -> dict[str, str]:
    """The parameters that say which of the objects are meant."""
    return {"fieldSelector": f"reason={asked.reason}"} if asked.reason else {}


def _check(page: _Head, asked: Asked, version: str, client: Client) -> None:
    api_version = asked.api_version(version)
    if (page.api_version, page.kind) != (api_version, f"{asked.kind}List"):
        found = f"{page.api_version}/{page.kind}" if page.kind else "something else"
        raise unreadable(
            client.describe(asked.path(version)), f"expected a {asked.kind}List of {api_version}, got {found}"
        )


def _token_of(expired: RefusedRequest) -> str:
    """The token with which the server offers to go on, "" if it offers none."""
    try:
        return msgspec.json.decode(expired.body, type=_Head).metadata.continue_
    except FAILURES:
        return ""


def _refused(answer: RefusedRequest, asked: Asked, version: str, client: Client) -> ListEnded | None:
    """How a list ends that the server does not give; None if it does not serve it."""
    if answer.status in (403, 404) and asked.kind not in ESSENTIAL:
        return ListEnded(asked, FORBIDDEN) if answer.status == 403 and _is_served(asked, version, client) else None
    raise unreadable(client.describe(asked.path(version)), refusal(answer.status, answer.body), answer.status)


def _is_served(asked: Asked, version: str, client: Client) -> bool:
    """Whether there is something to be allowed: a permission is asked for before the server looks what it serves.

    Everybody may ask that (ClusterRole `system:discovery`), unless the cluster's administrator has changed it.
    """
    if asked.is_everywhere:
        return True
    path = asked.path(version).removesuffix(f"/{asked.plural}")
    served = client.get(path, lambda body: msgspec.json.decode(body, type=_Served))
    if isinstance(served, RefusedRequest):
        return served.status != 404
    return any(each.name == asked.plural for each in served.resources)
