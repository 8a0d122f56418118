# What the official Python SDK 2.x makes of a mock MCP server:
#   mcp_v2.py auto|legacy URL
#   mcp_v2.py auto|legacy COMMAND ARGUMENT...
# It prints what it saw as one JSON object; anything unexpected is an error.
import json
import logging
import sys

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.types import ElicitResult, ServerNotification, ToolListChangedNotification

logging.basicConfig(level=logging.WARNING, stream=sys.stderr)


async def main() -> None:
    mode, target = sys.argv[1], sys.argv[2:]
    if target[0].endswith("/sse"):
        server = sse_client(target[0])
    elif target[0].startswith("http"):
        server = target[0]
    else:
        server = StdioServerParameters(command=target[0], args=target[1:])
    seen: dict = {"changes": 0, "progress": []}
    changed = anyio.Event()

    async def message(m) -> None:
        if isinstance(m, ToolListChangedNotification) or isinstance(getattr(m, "root", None), ToolListChangedNotification):
            seen["changes"] += 1
            changed.set()
        elif not isinstance(m, ServerNotification):
            seen.setdefault("unexpected", []).append(repr(m))

    async def progress(value, total, text) -> None:
        seen["progress"].append([value, total, text])

    async def elicit(context, params) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": f"{params.message} Ada"})

    handlers = {"message_handler": message, "elicitation_callback": elicit}
    async with Client(server, mode=mode, read_timeout_seconds=20, **handlers) as client:
        seen["protocol"] = client.protocol_version
        seen["tools"] = sorted(t.name for t in (await client.list_tools()).tools)
        seen["sum"] = (await client.call_tool("add", {"a": 2, "b": 3})).structured_content
        seen["work"] = (await client.call_tool("work", {}, progress_callback=progress)).content[0].text
        seen["quiet"] = (await client.call_tool("work", {})).content[0].text
        seen["greet"] = (await client.call_tool("greet", {})).content[0].text
        if client.protocol_version >= "2026":
            async with client.listen(tools_list_changed=True) as events:
                seen["grow"] = (await client.call_tool("grow", {})).content[0].text
                with anyio.fail_after(10):
                    async for _ in events:
                        break  # the handler above has been told as well
        else:
            seen["grow"] = (await client.call_tool("grow", {})).content[0].text
            with anyio.fail_after(10):
                await changed.wait()
        seen["grown"] = sorted(t.name for t in (await client.list_tools(cache_mode="refresh")).tools)
    print(json.dumps(seen))


anyio.run(main)
