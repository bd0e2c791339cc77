"""Inserts lines into one file through `inmost mcp`, with the official Python client: inmost, file, number of lines."""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(inmost: str, path: str, lines: int) -> None:
    server = StdioServerParameters(command=inmost, args=["mcp"], env=dict(os.environ))
    async with stdio_client(server) as streams, ClientSession(*streams) as client:
        await client.initialize()
        for number in range(lines):
            call = {"command": "insert", "path": path, "insert_line": 0, "insert_text": f"python {number}\n"}
            result = await client.call_tool("memory", call)
            print("python:", result.content[0].text.splitlines()[0])


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
