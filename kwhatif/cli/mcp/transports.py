"""How clients reach the server: standard input and output, or HTTP on loopback with a token."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import os
import secrets
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer
from mcp.server.stdio import stdio_server

from kwhatif.errors import InputError, Problem

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

#: The environment variable with the token of clients.
TOKEN = "KWHATIF_MCP_TOKEN"  # noqa: S105 - its name
#: A shorter token could be guessed.
_SHORTEST = 16


def stdio(server: Server[Any]) -> Callable[[], None]:
    """Speaks with the one client that has started this process, until it closes the stream."""

    async def speak() -> None:
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())

    return lambda: asyncio.run(speak())


def http(server: Server[Any], address: tuple[str, int]) -> Callable[[], None]:
    """Speaks with all clients that have the token (streamable HTTP), until the process ends.

    Raises:
        BadParameter: it is not an address of this machine alone, or the token is too short.
        InputError: it is not possible to listen at the address.
    """
    import uvicorn

    host, port = address
    if not _is_loopback(host):
        said = f"{host} is not a loopback address, such as 127.0.0.1: others reach it by a tunnel, such as ssh -L"
        raise typer.BadParameter(said, param_hint="--listen")
    token = os.environ.get(TOKEN)
    if token is not None and len(token) < _SHORTEST:
        raise typer.BadParameter(f"${TOKEN} has less than {_SHORTEST} characters", param_hint="--listen")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family)
    except OSError as failure:
        where = f"{host}:{port} cannot be listened at: {failure.strerror or failure}"
        raise InputError([Problem("--listen", where)]) from failure
    made = token or secrets.token_urlsafe(32)
    shown = f"[{host}]" if ":" in host else host
    typer.echo(f"serving http://{shown}:{listening.getsockname()[1]}/mcp", err=True)
    if token is None:
        typer.echo(f"token: {made}", err=True)
    app = _WithToken(server.streamable_http_app(host=host), made)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    return lambda: uvicorn.Server(config).run(sockets=[listening])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _WithToken:
    """Lets requests through that have the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        if scope["type"] == "lifespan" or hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
            await self._app(scope, receive, send)
            return
        start = {"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]}
        await send(start)
        await send({"type": "http.response.body", "body": b"a token is needed: Authorization: Bearer TOKEN\n"})
