"""`Desk`: a queue of questions, which run one at a time in the main thread.

As on a command line, a command runs in the main thread: it can be stopped at any point, as by Ctrl-C, and its processes
end with it. Meanwhile, another thread handles the protocol.
"""

from __future__ import annotations

import _thread
import asyncio
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
#: Seconds between updates of the cluster while there is no question.
_LOOK = 0.5


class _Job:
    """One question, and later its answer."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self.run = run
        self.answer: Future[Any] = Future()


class Desk:
    """Takes questions from any thread."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[_Job | None] = SimpleQueue()
        #: The current question, and the one to stop.
        self._running: _Job | None = None
        self._stopped: _Job | None = None
        #: Whether a signal is on its way that does not come from the user.
        self._is_sent = False

    async def ask(self, run: Callable[[], T]) -> T:
        """Run in the main thread when its turn comes, and return the result; stopped if the caller is cancelled.

        Raises:
            Exception: whatever `run` raises.
        """
        job = _Job(run)
        self._waiting.put(job)
        try:
            answer: T = await asyncio.wrap_future(job.answer)
        except asyncio.CancelledError:
            self._stop(job)
            raise
        return answer

    def close(self) -> None:
        """Run no more questions; the current question is stopped."""
        self._waiting.put(None)
        if self._running is not None:
            self._stop(self._running)

    def work(self, idle: Callable[[], None], interrupted: Callable[[], None]) -> None:
        """Run the questions in the main thread, until the desk is closed.

        Args:
            idle: is called while there is no question.
            interrupted: is called after a question was stopped.

        Raises:
            KeyboardInterrupt: the user has interrupted the server.
            Exception: whatever `idle` raises.
        """
        before = signal.signal(signal.SIGINT, self._on_signal)
        try:
            while True:
                try:
                    job = self._waiting.get(timeout=_LOOK)
                except Empty:
                    idle()
                    continue
                if job is None:
                    return
                if job.answer.set_running_or_notify_cancel():
                    self._do(job, interrupted)
        finally:
            signal.signal(signal.SIGINT, before)

    def _do(self, job: _Job, interrupted: Callable[[], None]) -> None:
        try:
            self._running = job
            answer = job.run()
            self._running = None
        except KeyboardInterrupt:
            self._running = None
            job.answer.set_exception(RuntimeError("it was stopped"))
            if self._stopped is not job:
                raise
        except BaseException as failure:  # noqa: BLE001 - the caller gets it
            self._running = None
            job.answer.set_exception(failure)
        else:
            job.answer.set_result(answer)
        if self._stopped is job:  # also if the question caught the interrupt and returned
            interrupted()

    def _stop(self, job: _Job) -> None:
        """Interrupt the main thread, if it runs this question."""
        self._stopped = job
        main = threading.main_thread().ident
        if self._running is job and main is not None:
            self._is_sent = True
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(main, signal.SIGINT)  # also ends a wait for other processes
            else:
                _thread.interrupt_main()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Runs in the main thread, which cannot go on before this raises."""
        is_own, self._is_sent = self._is_sent, False
        if not is_own or (self._running is not None and self._running is self._stopped):
            raise KeyboardInterrupt
