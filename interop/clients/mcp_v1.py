# What the official Python SDK 1.x makes of a mock MCP server:
#   mcp_v1.py legacy URL
#   mcp_v1.py legacy COMMAND ARGUMENT...
# It prints what it saw as one JSON object; anything unexpected is an error.
import json
import logging
import sys
import warnings
from datetime import timedelta

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.websocket import websocket_client
from mcp.types import ElicitResult, ServerNotification, ToolListChangedNotification

warnings.filterwarnings("ignore", "The WebSocket client transport is deprecated")
logging.basicConfig(level=logging.WARNING, stream=sys.stderr)


def connect(target):
    if target[0].startswith("ws"):
        return websocket_client(target[0])
    if target[0].endswith("/sse"):
        return sse_client(target[0])
    if target[0].startswith("http"):
        return streamable_http_client(target[0])
    return stdio_client(StdioServerParameters(command=target[0], args=target[1:]))


async def main() -> None:
    seen: dict = {"changes": 0, "progress": []}
    changed = anyio.Event()

    async def message(m) -> None:
        if isinstance(m, ServerNotification) and isinstance(m.root, ToolListChangedNotification):
            seen["changes"] += 1
            changed.set()
        elif not isinstance(m, ServerNotification):
            seen.setdefault("unexpected", []).append(repr(m))

    async def progress(value, total, text) -> None:
        seen["progress"].append([value, total, text])

    async def elicit(context, params) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": f"{params.message} Ada"})

    async with connect(sys.argv[2:]) as streams:
        async with ClientSession(*streams[:2], timedelta(seconds=20), message_handler=message, elicitation_callback=elicit) as session:
            seen["protocol"] = (await session.initialize()).protocolVersion
            seen["tools"] = sorted(t.name for t in (await session.list_tools()).tools)
            seen["sum"] = (await session.call_tool("add", {"a": 2, "b": 3})).structuredContent
            seen["work"] = (await session.call_tool("work", {}, progress_callback=progress)).content[0].text
            seen["quiet"] = (await session.call_tool("work", {})).content[0].text
            seen["greet"] = (await session.call_tool("greet", {})).content[0].text
            seen["grow"] = (await session.call_tool("grow", {})).content[0].text
            with anyio.fail_after(10):
                await changed.wait()
            seen["grown"] = sorted(t.name for t in (await session.list_tools()).tools)
    print(json.dumps(seen))


anyio.run(main)
