"""Exec plugins for credentials, run by the official client: they end in time, and say no more than credentials.

The client waits for as long as they run, and keeps all that they print.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import RLock, Thread
from types import SimpleNamespace
from typing import IO, Any

from kubernetes.config import ConfigException
from kubernetes.config import exec_provider as _provider

#: Its module, whose names are not all declared.
_CLIENT: Any = _provider

#: Seconds. A login in a browser takes some time; nothing else does.
LONGEST, LONGEST_WITH_USER = 60.0, 900.0
#: Characters of the credentials that a plugin prints, and how many are read at once.
_MOST_PRINTED = 1 << 20
_CHUNK = 1 << 16
#: Seconds for what a plugin has started itself to let go of the pipes.
_GRACE = 1.0
_LOCK = RLock()


@contextmanager
def bounded_plugins(longest: float | None) -> Iterator[None]:
    """Limit the runtime of the client's plugins to this number of seconds (None: the usual limit)."""

    class Bounded(_Plugin):
        limit = longest or LONGEST

    with _LOCK:
        usual = _CLIENT.subprocess
        _CLIENT.subprocess = SimpleNamespace(Popen=Bounded, PIPE=subprocess.PIPE)
        try:
            yield
        finally:
            _CLIENT.subprocess = usual


class _Plugin(subprocess.Popen[str]):
    limit = LONGEST

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[str, str]:  # noqa: A002, ARG002
        """What it printed.

        Raises:
            ConfigException: it does not end, or prints without end.
        """
        streams = [self.stdout, self.stderr]
        texts = [_Printed(self, stream) for stream in streams if stream is not None]
        limit = LONGEST_WITH_USER if sys.stdin and sys.stdin.isatty() and self.stderr is None else self.limit
        try:
            self.wait(limit)
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()
            raise ConfigException(f"exec: the plugin did not end within {limit:.0f} seconds") from None
        finally:
            for text in texts:
                text.join(_GRACE)
        if any(text.is_too_long for text in texts):
            raise ConfigException(f"exec: the plugin printed more than {_MOST_PRINTED} characters")
        return texts[0].text, texts[1].text if len(texts) > 1 else ""


class _Printed(Thread):
    """Reads what a plugin prints; of one that prints too much, no more is wanted."""

    def __init__(self, plugin: _Plugin, stream: IO[str]) -> None:
        super().__init__(daemon=True)
        self._plugin = plugin
        self._stream = stream
        self._parts: list[str] = []
        self.is_too_long = False
        self.start()

    @property
    def text(self) -> str:
        """What was read so far."""
        return "".join(self._parts)

    def run(self) -> None:
        """Read to the end."""
        size = 0
        with suppress(ValueError, OSError), self._stream:  # it may be no text
            while part := self._stream.read(_CHUNK):
                size += len(part)
                if size > _MOST_PRINTED:
                    self.is_too_long = True
                    self._plugin.kill()
                    return
                self._parts.append(part)
