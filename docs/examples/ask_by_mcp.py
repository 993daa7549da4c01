"""Ask kwhatif by the Model Context Protocol: python ask_by_mcp.py cluster.yaml pod.yaml."""

import asyncio
import sys
from pathlib import Path

from mcp import Client
from mcp.client.stdio import StdioServerParameters


async def main(dump: str, manifest: str) -> None:
    """Where would this land?"""
    server = StdioServerParameters(command="kwhatif", args=["mcp", "--from", dump])
    async with Client(server) as client:
        result = await client.call_tool("schedule", {"manifests": [manifest]})
        print(result.content[0].text)
        for decision in result.structured_content["report"]["decisions"]:
            print(decision["pod"], decision["outcome"])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8")))
