"""One list of the API, page by page (`client-go/tools/pager`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

import msgspec

from kwhatif.model.cluster import KubernetesObject
from kwhatif.model.kinds import Resource
from kwhatif.model.workload import WORKLOADS
from kwhatif.sources.decoding.examine import FAILURES
from kwhatif.sources.decoding.kinds import ESSENTIAL
from kwhatif.sources.decoding.templates import keep_templates
from kwhatif.sources.live.failures import refusal, unreadable
from kwhatif.sources.live.request import Client, RefusedRequest
from kwhatif.sources.text.inflate import MAX_TEXT

Item = TypeVar("Item")

#: Entries of a page, as many as kubectl asks for.
PAGE = 500
#: Pages of a list: four million objects, more than etcd holds.
MAX_PAGES = 8000
MAX_EMPTY_PAGES = 100
#: How often a list is begun again, or goes on with a newer state, before it counts as unreadable.
MAX_RESTARTS = 5


class Page(NamedTuple):
    """Some entries of a list."""

    resource: Resource
    #: The whole answer.
    body: bytes
    #: What it holds; None where not every entry can be decoded as it stands.
    objects: Sequence[KubernetesObject] | None
    #: How many the server says are still to come, if it does.
    remaining: int | None = None


class ListRestarted(NamedTuple):
    """The pages so far are void: the list begins again."""

    resource: Resource


class ListEnded(NamedTuple):
    """That was the list."""

    resource: Resource
    #: The user may not list it.
    forbidden: bool = False
    #: It was continued in a later state of the cluster than it was begun in.
    mixed: bool = False


ListEvent = Page | ListRestarted | ListEnded


class _ListMeta(msgspec.Struct, rename="camel"):
    continue_: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None


class _Head(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


class _Objects(_Head, Generic[Item]):
    items: tuple[Item, ...] | None = ()


class _Json(_Head):
    items: msgspec.Raw = msgspec.Raw(b"[]")


class _Answer(NamedTuple):
    head: _Head
    body: bytes


_HEAD = msgspec.json.Decoder(_Head)
_JSON = msgspec.json.Decoder(_Json)


@cache
def _decoder(type_: type[KubernetesObject]) -> msgspec.json.Decoder[_Head]:
    return msgspec.json.Decoder(_Objects[type_])  # type: ignore[valid-type]


def _reader(resource: Resource) -> Callable[[bytes], _Answer]:
    """Decodes a page in one go, if that can be done."""
    decode = _decoder(resource.type).decode

    def read(body: bytes) -> _Answer:
        try:
            head = decode(body)
            if resource.type in WORKLOADS:
                keep_templates(getattr(head, "items", None) or (), entries(body))
            return _Answer(head, body)
        except msgspec.ValidationError:
            return _Answer(_HEAD.decode(body), body)

    return read


def entries(body: bytes) -> bytes:
    """The entries of a page as JSON."""
    items = bytes(_JSON.decode(body).items)
    return b"[]" if items == b"null" else items


def read_list(client: Client, resource: Resource) -> Iterator[ListEvent]:
    """The pages of a list, and how it ended.

    Raises:
        ClusterUnreadable: the list cannot be had, or one that nothing goes without may not.
        Cancelled: nobody wants it any more.
    """
    token, restarts, mixed = "", 0, False
    bounds = _Bounds(client.describe(resource.path))
    read = _reader(resource)
    while True:
        answer = client.get(_path(resource, token), read)
        if isinstance(answer, _Answer):
            head = answer.head
            _check(head, resource, client)
            objects = (head.items or ()) if isinstance(head, _Objects) else None
            bounds.check(head.metadata.continue_, answer.body, is_empty=objects == ())
            yield Page(resource, answer.body, objects, head.metadata.remaining_item_count)
            token = head.metadata.continue_
            if not token:
                yield ListEnded(resource, mixed=mixed)
                return
        elif answer.status == 410 and restarts < MAX_RESTARTS:
            restarts += 1
            token = _token_of(answer)
            mixed = bool(token)
            if not token:
                bounds = _Bounds(client.describe(resource.path))
                yield ListRestarted(resource)
        else:
            yield _refused(answer, resource, client)
            return


def _path(resource: Resource, token: str) -> str:
    query = {"limit": PAGE} | ({"continue": token} if token else {})
    return f"{resource.path}?{urlencode(query)}"


class _Bounds:
    """How far a list may go: a server that never comes to its end must not be followed for ever."""

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


def _check(page: _Head, resource: Resource, client: Client) -> None:
    if (page.api_version, page.kind) != (resource.api_version, f"{resource.kind}List"):
        found = f"{page.api_version}/{page.kind}" if page.kind else "something else"
        raise unreadable(
            client.describe(resource.path), f"expected a {resource.kind}List of {resource.api_version}, got {found}"
        )


def _token_of(expired: RefusedRequest) -> str:
    """The token with which the server offers to go on, "" if it offers none."""
    try:
        return msgspec.json.decode(expired.body, type=_Head).metadata.continue_
    except FAILURES:
        return ""


def _refused(answer: RefusedRequest, resource: Resource, client: Client) -> ListEnded:
    """How a list ends that the server does not give."""
    if answer.status in (403, 404) and resource.kind not in ESSENTIAL:
        return ListEnded(resource, forbidden=answer.status == 403)  # an API that is not served has no objects
    raise unreadable(client.describe(resource.path), refusal(answer.status, answer.body))
