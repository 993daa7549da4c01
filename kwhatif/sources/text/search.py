"""Which files there are: below a folder, or where a glob matches. Neither goes on below links to folders.

Both stop at `MAX_ENTRIES`: then the argument is probably `/`, and not a folder with manifests.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatch
from glob import has_magic
from pathlib import Path

from kwhatif.sources.text.problems import Problems

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
