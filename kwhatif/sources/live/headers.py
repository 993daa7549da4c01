"""Headers that say who asks, or for whom."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from kwhatif.errors import InputError, Problem
from kwhatif.sources.live.options import LiveOptions

Header = tuple[str, str]
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def sendable(value: str, what: str) -> str:
    """The value as a header carries it: UTF-8, as Go sends it, where Python's library only knows Latin-1.

    Raises:
        InputError: it holds what no header can; `what` is not right.
    """
    if _CONTROL.search(value):
        raise InputError([Problem(what, "holds a line break or another control character, which cannot be sent")])
    return value.encode(errors="surrogateescape").decode("latin-1")


def impersonation(options: LiveOptions, user: Mapping[str, Any]) -> tuple[Header, ...]:
    """Headers of `--as` and `--as-group`, else those of the kubeconfig's user.

    Raises:
        InputError: groups without a user, or a name that cannot be sent.
    """
    if options.as_user is None and options.as_groups:
        raise InputError([Problem("--as-group", "groups are impersonated with a user only", hint="give --as as well")])
    headers = _of_kubeconfig(user) if options.as_user is None else _of_options(options.as_user, options.as_groups)
    return tuple((name, sendable(value, what)) for name, value, what in headers)


def _of_options(user: str, groups: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    yield "Impersonate-User", user, "--as"
    for group in groups:
        yield "Impersonate-Group", group, "--as-group"


def _of_kubeconfig(user: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    if not user.get("as"):
        return
    yield "Impersonate-User", str(user["as"]), "as in kubeconfig"
    if user.get("as-uid"):
        yield "Impersonate-Uid", str(user["as-uid"]), "as-uid in kubeconfig"
    for group in user.get("as-groups") or ():
        yield "Impersonate-Group", str(group), "as-groups in kubeconfig"
    for key, values in (user.get("as-user-extra") or {}).items():
        for value in values:
            yield f"Impersonate-Extra-{quote(key)}", str(value), "as-user-extra in kubeconfig"
