"""Pydantic AI as a command: pydantic_ai_agent.py PROMPT."""
import asyncio
import json
import os
import sys

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel


async def main():
    settings = json.loads(os.environ["REHEARSE_SETTINGS"])
    servers = json.load(open(os.environ["MCP_CONFIG"]))["mcpServers"]
    agent = Agent(
        OpenAIChatModel(os.environ["OPENAI_MODEL"]), instructions=settings.get("system"),
        toolsets=[MCPToolset(s["url"]) for s in servers.values()],
    )
    async with agent:
        if settings["stream"]:
            async with agent.run_stream(sys.argv[1]) as result:
                print(await result.get_output())
        else:
            print((await agent.run(sys.argv[1])).output)


asyncio.run(main())
