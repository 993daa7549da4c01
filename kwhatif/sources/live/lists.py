"""One list of the API, page by page (`client-go/tools/pager`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from kwhatif.model.kinds import Resource
from kwhatif.sources.live.failures import refusal, unreadable
from kwhatif.sources.live.request import Client, Refused
from kwhatif.sources.resources import ESSENTIAL

PAGE = 500
#: How often a list is begun again, or goes on with a newer state, before it counts as unreadable.
MAX_RESTARTS = 5


class Page(NamedTuple):
    """Some entries of a list, still JSON."""

    resource: Resource
    items: bytes
    #: How many the server says are still to come, if it does.
    remaining: int | None = None


class Restarted(NamedTuple):
    """The pages so far are void: the list begins again."""

    resource: Resource


class Ended(NamedTuple):
    """That was the list."""

    resource: Resource
    #: The user may not list it.
    forbidden: bool = False
    #: It was continued in a later state of the cluster than it was begun in.
    mixed: bool = False


Event = Page | Restarted | Ended


class _ListMeta(msgspec.Struct, rename="camel"):
    continue_: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None


class _List(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: msgspec.Raw = msgspec.Raw(b"[]")


_LIST = msgspec.json.Decoder(_List)


def read_list(client: Client, resource: Resource) -> Iterator[Event]:
    """The pages of a list, and how it ended.

    Raises:
        ClusterUnreadable: the list cannot be had, or one that nothing goes without may not.
        Cancelled: nobody wants it any more.
    """
    token, restarts, mixed = "", 0, False
    while True:
        answer = client.get(_path(resource, token), _LIST.decode)
        if isinstance(answer, _List):
            _check(answer, resource, token, client)
            yield Page(resource, _entries(answer), answer.metadata.remaining_item_count)
            token = answer.metadata.continue_
            if not token:
                yield Ended(resource, mixed=mixed)
                return
        elif answer.status == 410 and restarts < MAX_RESTARTS:
            restarts += 1
            token = _token_of(answer)
            mixed = bool(token)
            if not token:
                yield Restarted(resource)
        else:
            yield _refused(answer, resource, client)
            return


def _path(resource: Resource, token: str) -> str:
    query = {"limit": PAGE} | ({"continue": token} if token else {})
    return f"{resource.path}?{urlencode(query)}"


def _entries(page: _List) -> bytes:
    items = bytes(page.items)
    return b"[]" if items == b"null" else items


def _check(page: _List, resource: Resource, token: str, client: Client) -> None:
    if (page.api_version, page.kind) != (resource.api_version, f"{resource.kind}List"):
        found = f"{page.api_version}/{page.kind}" if page.kind else "something else"
        raise unreadable(
            client.describe(resource.path), f"expected a {resource.kind}List of {resource.api_version}, got {found}"
        )
    if token and page.metadata.continue_ == token:
        raise unreadable(client.describe(resource.path), "the server answers one page over and over")


def _token_of(expired: Refused) -> str:
    """The token with which the server offers to go on, "" if it offers none."""
    try:
        return msgspec.json.decode(expired.body, type=_List).metadata.continue_
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""


def _refused(answer: Refused, resource: Resource, client: Client) -> Ended:
    """How a list ends that the server does not give."""
    if answer.status == 404 and resource.kind not in ESSENTIAL:
        return Ended(resource)  # an API that is not served has no objects
    if answer.status == 403 and resource.kind not in ESSENTIAL:
        return Ended(resource, forbidden=True)
    raise unreadable(client.describe(resource.path), refusal(answer.status, answer.body))
