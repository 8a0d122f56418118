"""The OpenAI Agents SDK as a command: openai_agents.py PROMPT."""
import asyncio
import contextlib
import json
import os
import sys

from agents import Agent, Runner
from agents.mcp import MCPServerStreamableHttp


async def main():
    settings = json.loads(os.environ["REHEARSE_SETTINGS"])
    async with contextlib.AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(MCPServerStreamableHttp({"url": s["url"]}, name=name))
            for name, s in json.load(open(os.environ["MCP_CONFIG"]))["mcpServers"].items()
        ]
        agent = Agent("agent", instructions=settings.get("system"), model=os.environ["OPENAI_MODEL"], mcp_servers=servers)
        if settings["stream"]:
            result = Runner.run_streamed(agent, sys.argv[1])
            async for _ in result.stream_events():
                pass
        else:
            result = await Runner.run(agent, sys.argv[1])
        print(result.final_output)


asyncio.run(main())
