"""From paths to bytes: files, directories, globs and standard input; what is compressed is inflated.

Nothing here knows what the bytes mean. Every path that cannot be read becomes a problem, none an exception. Links to
folders are not followed, and a search stops at `MAX_ENTRIES`: then the argument is probably `/`, and not a folder with
manifests.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fnmatch import fnmatch
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Self

from kwhatif.sources.text.inflate import Unreadable, inflate
from kwhatif.sources.text.problems import Problems

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer


#: The most files and folders to visit for one argument, which takes a second or two.
MAX_ENTRIES = 100_000
_TOO_MANY = (f"has more than {MAX_ENTRIES:,} files and folders to look through", "name a smaller folder")


def files_below(top: str, suffixes: tuple[str, ...], problems: Problems) -> list[str]:
    """The files below the folder `top` that end so, sorted; hidden ones are left out."""
    found: list[str] = []
    failures: list[OSError] = []
    seen = 0
    for folder, folders, files in os.walk(top, onerror=failures.append):
        seen += len(folders) + len(files)
        if seen > MAX_ENTRIES:
            problems.add(top, *_TOO_MANY)
            return []
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        names = sorted(name for name in files if not name.startswith(".") and name.endswith(suffixes))
        found.extend(str(Path(folder, name)) for name in names)
    for failure in failures:
        problems.add(str(failure.filename), f"cannot be read: {failure.strerror}")
    if not found and not failures:
        problems.add(top, "holds no .yaml, .yml or .json file")
    return found


def glob(pattern: str, problems: Problems) -> list[str]:
    """What the pattern matches, sorted; `**` is any number of folders. Folders that cannot be searched are problems."""
    search = _Search(pattern)
    found = sorted(search.found())
    if search.seen > MAX_ENTRIES:
        problems.add(pattern, *_TOO_MANY)
        return []
    for folder, reason in search.closed.items():
        problems.add(folder, f"cannot be read: {reason}")
    if not found and not search.closed:
        problems.add(pattern, "matches no file", about_home(pattern))
    return found


def about_home(path: str) -> str:
    """A hint if the argument relies on the shell."""
    return "~ is expanded by the shell, and only without quotes" if path.startswith("~") else ""


class _Search:
    """A search for one pattern. `glob.glob` has no limit, and hides the folders that it could not search."""

    def __init__(self, pattern: str) -> None:
        self.seen = 0
        #: Folders that could not be searched, and why.
        self.closed: dict[str, str | None] = {}
        self._top = Path(pattern).anchor
        self._parts = pattern[len(self._top) :].replace(os.altsep or os.sep, os.sep).split(os.sep)  # noqa: PTH206 - with what stands behind the last /

    def found(self) -> Iterator[str]:
        """The paths that match, in no order."""
        todo = [(self._top, 0)]  # a folder, and the number of matched parts; no recursion, a pattern may be deep
        done = set(todo)
        while todo and self.seen <= MAX_ENTRIES:
            path, depth = todo.pop()
            if depth < len(self._parts):
                new = set(self._next(path, depth)) - done
                done |= new
                todo += new
            elif path:
                yield path

    def _next(self, folder: str, depth: int) -> Iterator[tuple[str, int]]:
        part, is_last = self._parts[depth], depth + 1 == len(self._parts)
        if part == "**":
            yield folder, depth + 1
            for path in self._entries(folder, "*"):
                if is_last:
                    yield path, depth + 1
                if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114 - these never raise
                    yield path, depth
        elif has_magic(part):
            for path in self._entries(folder, part):
                if is_last or os.path.isdir(path):  # noqa: PTH112
                    yield path, depth + 1
        elif self._is_there(folder, part, is_last=is_last):
            yield os.path.join(folder, part), depth + 1  # noqa: PTH118 - Path drops the last /

    def _entries(self, folder: str, part: str) -> Iterator[str]:
        """What stands in the folder under such names; hidden ones have to be asked for."""
        try:
            with os.scandir(folder or ".") as entries:
                for entry in entries:
                    self.seen += 1
                    if self.seen > MAX_ENTRIES:
                        return
                    if fnmatch(entry.name, part) and (part.startswith(".") or not entry.name.startswith(".")):
                        yield os.path.join(folder, entry.name)  # noqa: PTH118 - Path drops a leading ./
        except OSError as failure:
            self.closed[folder or "."] = failure.strerror

    def _is_there(self, folder: str, name: str, *, is_last: bool) -> bool:
        """Whether the folder has that file, or folder; one whose names are a secret may still be entered."""
        path = os.path.join(folder, name)  # noqa: PTH118
        try:
            return bool(os.lstat(path)) if is_last else stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116
        except PermissionError as failure:
            self.closed[folder or "."] = failure.strerror
        except (OSError, ValueError):  # it is not there, or no file can have such a name
            pass
        return False


SUFFIXES = tuple(name + packed for name in (".yaml", ".yml", ".json") for packed in ("", ".gz", ".zst", ".xz", ".bz2"))
#: Where shells put the pipe of `<(command)`.
_PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
#: What standard input is called.
STDIN = "standard input"
#: Not read: an answer needs no network.
_URL = re.compile(r"https?://", re.IGNORECASE)
#: Byte order marks.
_UTF8 = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_PIECE = 1 << 20
#: No file has a longer name, and no glob of that length is looked into.
_MAX_NAME = 4096
#: What is wrong where it is named again.
READ_ONCE = ("is named more than once", "it can be read only once")


class _Closed(io.RawIOBase):
    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:  # noqa: ARG002 - that is its name in `RawIOBase`
        raise OSError(errno.EBADF, "it is closed")


def standard_input() -> BinaryIO:
    """The bytes of standard input; where it was closed, or is something else than a file, reading them is an error."""
    return getattr(sys.stdin, "buffer", None) or io.BufferedReader(_Closed())


class GivenText(str):
    """A text that the caller has at hand, in the place of a path; as a string it is its name."""

    __slots__ = ("data",)

    data: bytes

    def __new__(cls, name: str, data: bytes) -> Self:  # noqa: D102
        made = super().__new__(cls, name)
        made.data = data
        return made


#: Whether a name that is given may be that of a file.
_READS_FILES: ContextVar[bool] = ContextVar("reads_files", default=True)
#: What is wrong with the name of a file, where none is read.
_NOT_READ = ("is taken for the name of a file, and no file is read here", "give what stands in it, as YAML or JSON")


@contextmanager
def texts_only() -> Iterator[None]:
    """Meanwhile no file is read, nor looked for: who asks gives texts, and need not be trusted with names of files."""
    token = _READS_FILES.set(False)
    try:
        yield
    finally:
        _READS_FILES.reset(token)


def exists(path: str) -> bool:
    """Whether there is such a file or directory that may be read."""
    return _READS_FILES.get() and os.path.exists(path)  # noqa: PTH110 - unlike that of `Path`, it never raises


class Input(NamedTuple):
    """One file to read."""

    name: str
    read: Callable[[], bytes]
    #: "" for standard input.
    path: str = ""


def find_inputs(paths: Sequence[str], stdin: BinaryIO, problems: Problems) -> list[Input]:
    """The files that `paths` name, in their order."""
    inputs: list[Input] = []
    seen: set[str] = set()
    for path in paths:
        if not path:
            problems.add("a file's name", "is empty", "a variable that is not set?")
        elif isinstance(path, GivenText):
            inputs.append(Input(str(path), partial(bytes, path.data)))
        elif not _READS_FILES.get():
            problems.add(path, *_NOT_READ)
        elif _URL.match(path):
            problems.add(path, "is a URL, and only files are read", f"pipe it in: curl -fsSL {path} | kwhatif … -")
        elif "\0" in path:
            problems.add(repr(path), "holds a null byte: no file has such a name")
        elif path != "-":
            named = {name: os.path.normpath(name) for name in _expand(path, problems)}
            inputs.extend(
                Input(name, partial(read_bytes, name), name) for name, file in named.items() if file not in seen
            )
            seen.update(named.values())
        elif any(known.name == STDIN for known in inputs):
            problems.add(STDIN, *READ_ONCE)
        else:
            inputs.append(Input(STDIN, stdin.read))
    return inputs


def read_inputs(inputs: Sequence[Input], problems: Problems) -> Iterator[tuple[str, bytes]]:
    """Name and text (UTF-8, inflated) of every input that can be read."""
    for name, read, _ in inputs:
        try:
            data = read()
            yield name, as_utf8(inflate(data))
        except Unreadable as reason:
            problems.add(name, str(reason), reason.hint)
        except OSError as failure:
            problems.add(name, f"cannot be read: {failure.strerror or failure}", about_home(name))


def matches(path: str, problems: Problems) -> list[str]:
    """The paths that a glob matches, sorted; any other path is itself."""
    # The functions of `os.path` say False where those of `Path` raise: a name that is too long, a folder not to enter.
    if isinstance(path, GivenText) or not has_magic(path) or len(path) > _MAX_NAME or exists(path):
        return [path]
    return glob(path, problems)


def _expand(path: str, problems: Problems) -> Iterator[str]:
    for match in matches(path, problems):
        yield from files_below(match, SUFFIXES, problems) if os.path.isdir(match) else [match]  # noqa: PTH112 - see `matches`


def read_bytes(path: str) -> bytes:
    """What a file holds, or the pipe that a shell has put in its place.

    Raises:
        Unreadable: it is neither; another pipe might never end.
        OSError: it cannot be read.
    """
    mode = Path(path).stat().st_mode
    if not stat.S_ISREG(mode) and not (stat.S_ISFIFO(mode) and path.startswith(_PIPES)):
        raise Unreadable("is neither a file nor a directory")
    return Path(path).read_bytes()


def as_utf8(data: bytes) -> bytes:
    """The text without its byte order mark; PowerShell redirects in UTF-16.

    Raises:
        Unreadable: it is not text; the message says where.
    """
    if data.startswith(_UTF16):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeDecodeError as failure:
            raise Unreadable(f"is not valid UTF-16: {failure.reason} at offset {failure.start}") from failure
    if b"\0" in data[:8192]:
        raise Unreadable("is a binary file, neither YAML nor JSON")
    _check_utf8(data)
    return data.removeprefix(_UTF8)


def _check_utf8(data: bytes) -> None:
    """Go through text beyond ASCII piece by piece: all of a dump would be too much to decode at once."""
    if data.isascii():
        return
    decoder = getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _PIECE):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(data[start : start + _PIECE], start + _PIECE >= len(data))
        except UnicodeDecodeError as failure:
            offset = start - pending + failure.start
            line = data.count(b"\n", 0, offset) + 1
            place = f"line {line}, byte 0x{data[offset]:02x} at offset {offset}"
            raise Unreadable(f"is not valid UTF-8: {place}", "save it as UTF-8") from failure
