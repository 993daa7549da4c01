"""The SDK's own client in one thread, the server in another, and the questions in the main thread, as in the command."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from threading import Thread
from typing import Any, TypeVar

from mcp import Client

import kwhatif
from kwhatif.cli.app import commands
from kwhatif.cli.mcp.desk import Desk
from kwhatif.cli.mcp.server import Cluster, Questions
from kwhatif.cli.mcp.tools import tools
from tests import FIXTURES

T = TypeVar("T")
DEMO = FIXTURES / "demo"
TOOLS = tools(commands().commands)  # type: ignore[attr-defined]


def talk(
    script: Callable[[Client], Awaitable[T]],
    session: kwhatif.Session,
    *,
    interrupted: Callable[[], None] = lambda: None,
    own: Mapping[str, Mapping[str, str]] | None = None,
    mode: str = "auto",
) -> T:
    """What the script returns, which has a client that is connected to a server of questions about this cluster."""
    desk = Desk()
    server = Questions(Cluster(lambda: session, TOOLS, own or {}), desk).server()
    said: list[Any] = []

    async def converse() -> None:
        async with Client(server, mode=mode) as client:
            try:
                said.append(await script(client))
            except Exception as failure:  # noqa: BLE001 - raised in the other thread
                said.append(failure)

    def run() -> None:
        try:
            asyncio.run(converse())
        finally:
            desk.close()

    thread = Thread(target=run)
    thread.start()
    desk.work(lambda: None, interrupted)
    thread.join()
    if isinstance(said[0], BaseException):
        raise said[0]
    answer: T = said[0]
    return answer


def asked(result: Any) -> tuple[str, dict[str, Any]]:
    """The summary of an answer, and its data."""
    (content,) = result.content
    assert not result.is_error, content.text
    return content.text, result.structured_content


def refused(result: Any) -> str:
    """What is said of a call that is an error."""
    (content,) = result.content
    assert result.is_error, content.text
    return content.text


async def part(client: Client, uri: str) -> dict[str, Any]:
    """One page of a resource."""
    (content,) = (await client.read_resource(uri)).contents
    found: dict[str, Any] = json.loads(content.text)
    return found
