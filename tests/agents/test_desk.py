"""Questions are asked one after the other in the main thread, and can be stopped there, wherever they are."""

import asyncio
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial
from threading import Thread
from typing import Any

import pytest

from kwhatif.cli.mcp.desk import Desk


def work(desk: Desk, script: Callable[[], Awaitable[None]]) -> list[str]:
    """Let the script ask in another thread; returns what it was told, and whether it raised."""
    noted: list[str] = []

    def run() -> None:
        try:
            asyncio.run(script())  # type: ignore[arg-type]
        except Exception as failure:  # noqa: BLE001 - noted for the other thread
            noted.append(repr(failure))
        finally:
            desk.close()

    thread = Thread(target=run)
    thread.start()
    try:
        desk.work(lambda: noted.append("idle"), lambda: noted.append("interrupted"))
    finally:
        thread.join()
    return [each for each in noted if each != "idle"]


def test_what_is_asked_runs_in_the_main_thread_in_turn() -> None:
    desk = Desk()
    done: list[tuple[int, threading.Thread]] = []

    def note(number: int) -> None:
        done.append((number, threading.current_thread()))

    async def script() -> None:
        asked = [desk.ask(partial(note, number)) for number in range(3)]
        await asyncio.gather(*asked)
        with pytest.raises(ZeroDivisionError):
            await desk.ask(lambda: 1 // 0)

    assert work(desk, script) == []
    assert done == [(number, threading.main_thread()) for number in range(3)]


def test_a_question_without_an_end_is_stopped_and_the_next_one_is_asked() -> None:
    desk, begun = Desk(), threading.Event()

    def endless() -> None:
        begun.set()
        while True:
            pass

    async def script() -> None:
        waiting = asyncio.create_task(desk.ask(endless))
        await asyncio.to_thread(begun.wait)
        never = asyncio.create_task(desk.ask(lambda: pytest.fail("it was cancelled before its turn")))
        await asyncio.sleep(0)
        never.cancel()
        waiting.cancel()
        assert await desk.ask(lambda: "an answer") == "an answer"

    assert work(desk, script) == ["interrupted"]


def test_one_that_makes_the_best_of_it_counts_as_stopped() -> None:
    desk, begun = Desk(), threading.Event()

    def patient() -> str:
        try:
            begun.set()
            time.sleep(60)
        except KeyboardInterrupt:
            pass
        return "half of it"

    async def script() -> None:
        waiting = asyncio.create_task(desk.ask(patient))
        await asyncio.to_thread(begun.wait)
        waiting.cancel()

    assert work(desk, script) == ["interrupted"]


def test_whoever_closes_it_stops_what_is_asked() -> None:
    desk, begun = Desk(), threading.Event()

    def endless() -> None:
        begun.set()
        time.sleep(60)

    async def script() -> None:
        task: Any = asyncio.create_task(desk.ask(endless))
        await asyncio.to_thread(begun.wait)
        desk.close()
        with pytest.raises(RuntimeError, match="it was stopped"):
            await task

    assert work(desk, script) == ["interrupted"]


def test_ctrl_c_ends_it() -> None:
    desk = Desk()

    async def script() -> None:
        await asyncio.sleep(0.05)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        work(desk, script)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
