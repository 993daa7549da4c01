"""Which cluster to read, and as whom: options, and the kubeconfig files, context, cluster and user that they mean.

By kubectl's rules (`client-go/tools/clientcmd`). The official client would do most of it, but it lets the last file of
a list choose the context (kubectl: the first), knows no impersonation, and its messages do not say what to do.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, TypedDict, Unpack

import msgspec
import yaml

from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.quantity import parse_timeout
from kwhatif.sources.text.files import as_utf8, read_bytes
from kwhatif.sources.text.inflate import Unreadable


class LiveArguments(TypedDict, total=False):
    """`LiveOptions` as users say them; see `kwhatif.load_live`."""

    kubeconfig: str | Path | None
    context: str | None
    as_user: str | None
    as_groups: Sequence[str]
    request_timeout: str


class LiveOptions(msgspec.Struct, frozen=True):
    """What kubectl's options of the same names mean; everything unset is kubeconfig's business."""

    kubeconfig: str | None = None
    context: str | None = None
    #: `--as` and `--as-group`: whom to impersonate.
    as_user: str | None = None
    as_groups: tuple[str, ...] = ()
    #: Seconds that one request may take; None: as long as it likes. An API server itself gives up after a minute.
    timeout: float | None = 60.0

    @classmethod
    def of(cls, **said: Unpack[LiveArguments]) -> Self:
        """The options that were said.

        Raises:
            ValueError: `request_timeout` is not a duration.
        """
        kubeconfig = said.get("kubeconfig")
        return cls(
            kubeconfig=None if kubeconfig is None else str(kubeconfig),
            context=said.get("context"),
            as_user=said.get("as_user"),
            as_groups=tuple(said.get("as_groups", ())),
            timeout=parse_timeout(said.get("request_timeout", "1m")),
        )


_SECTIONS = ("clusters", "contexts", "users")
#: Fields that name a file, and the most bytes that a token or a certificate has.
_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_MAX_FILE = 16 << 20


class Kubeconfig(NamedTuple):
    """The chosen context, and what it refers to."""

    #: The files, joined as in $KUBECONFIG.
    paths: str
    context: str
    namespace: str
    cluster: Mapping[str, Any]
    user: Mapping[str, Any]


def find_kubeconfig(path: str | None, context: str | None, environ: Mapping[str, str]) -> Kubeconfig | None:
    """What `--kubeconfig` and `--context`, or $KUBECONFIG, or `~/.kube/config` say; None if there is nothing.

    Raises:
        InputError: a file is not a kubeconfig, or what is asked for is not in it.
    """
    files = _files(path, environ)
    contents = [_read(file) for file in files]
    entries = {section: _merge(section, files, contents) for section in _SECTIONS}
    if not entries["contexts"] and path is None and context is None:
        return None
    where = ", ".join(files) or "kubeconfig"
    name = context or next((str(chosen) for content in contents if (chosen := content.get("current-context"))), "")
    chosen = entries["contexts"].get(name)
    if chosen is None:
        raise InputError([_no_context(where, name, list(entries["contexts"]))])
    details = _map(chosen.get("context"), where, f"context {name}")
    cluster = entries["clusters"].get(str(details.get("cluster") or ""))
    if cluster is None:
        message = f"context {name} names a cluster that is not there: {details.get('cluster')}"
        raise InputError([Problem(where, message)])
    user = entries["users"].get(str(details.get("user") or ""), {})
    return Kubeconfig(
        os.pathsep.join(files),
        name,
        str(details.get("namespace") or "default"),
        _map(cluster.get("cluster"), where, f"cluster {details.get('cluster')}"),
        _map(user.get("user"), where, f"user {details.get('user')}"),
    )


def _files(path: str | None, environ: Mapping[str, str]) -> list[str]:
    if path is not None:
        if not path:
            raise InputError([Problem("--kubeconfig", "names no file", hint="a variable that is not set?")])
        return [os.path.expanduser(path)]  # noqa: PTH111 - unlike that of `Path`, it never raises
    listed = [entry for entry in environ.get("KUBECONFIG", "").split(os.pathsep) if entry]
    candidates = [os.path.expanduser(entry) for entry in listed or ["~/.kube/config"]]  # noqa: PTH111
    return [candidate for candidate in candidates if os.path.exists(candidate)]  # noqa: PTH110


def check_files(kubeconfig: Kubeconfig) -> None:
    """That what the chosen entries name can be read to an end: the client reads it as it is, a device as well.

    Raises:
        InputError: something is neither a file nor a pipe, or too large for a token or a certificate.
    """
    problems = [
        Problem(path, f"{wrong} ({field} in {kubeconfig.paths})")
        for entry in (kubeconfig.cluster, kubeconfig.user)
        for field in _FILES
        for path in _named(kubeconfig, entry.get(field))
        if (wrong := _unfit(path))
    ]
    if problems:
        raise InputError(problems)


def _named(kubeconfig: Kubeconfig, name: object) -> list[str]:
    """The files that a field may mean: a relative path begins at the kubeconfig that has the field."""
    if not isinstance(name, str) or not name:
        return []
    folders = dict.fromkeys(os.path.dirname(path) for path in kubeconfig.paths.split(os.pathsep))  # noqa: PTH120
    return list(dict.fromkeys(os.path.join(folder, name) for folder in folders))  # noqa: PTH118


def _unfit(path: str) -> str:
    try:
        found = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return ""  # the client says what is wrong
    if stat.S_ISDIR(found.st_mode):
        return "is a directory"
    if not stat.S_ISREG(found.st_mode):
        return "is not a file"
    return f"is larger than {_MAX_FILE >> 20} MiB" if found.st_size > _MAX_FILE else ""


def _read(file: str) -> Mapping[str, Any]:
    try:
        content = yaml.safe_load(as_utf8(read_bytes(file)))
    except OSError as failure:
        raise InputError([Problem(file, f"cannot be read: {failure.strerror or failure}")]) from failure
    except Unreadable as reason:
        raise InputError([Problem(file, str(reason), hint=reason.hint)]) from reason
    except (yaml.YAMLError, ValueError, RecursionError) as failure:
        raise InputError([Problem(file, f"is not a kubeconfig: {' '.join(str(failure).split())}")]) from failure
    return _map(content, file, "it")


def _map(value: Any, where: str, what: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError([Problem(where, f"is not a kubeconfig: {what} is not a map")])
    return value


def _merge(section: str, files: list[str], contents: list[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The entries of a section by name; of two with one name the first counts."""
    merged: dict[str, Mapping[str, Any]] = {}
    for file, content in zip(files, contents, strict=True):
        entries = content.get(section) or []
        if not isinstance(entries, list):
            raise InputError([Problem(file, f"is not a kubeconfig: {section} is not a list")])
        for entry in entries:
            name = _map(entry, file, f"an entry of {section}").get("name")
            if not isinstance(name, str):
                raise InputError([Problem(file, f"is not a kubeconfig: an entry of {section} has no name")])
            merged.setdefault(name, entry)
    return merged


def _no_context(where: str, name: str, known: list[str]) -> Problem:
    hint = f"it has {', '.join(sorted(known))}" if known else "it has none at all"
    if not name:
        return Problem(where, "chooses no context", hint=f"choose one with --context; {hint}")
    return Problem(where, f"has no context {name!r}", hint=hint)
