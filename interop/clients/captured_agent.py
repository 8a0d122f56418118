"""A session of openai-agents: captured_agent.py MCP_FILE SYSTEM PROMPT."""

import asyncio
import contextlib
import json
import os
import sys

import agents
import agents.mcp
import openai


def server(name, entry):
    if "url" in entry:
        return agents.mcp.MCPServerStreamableHttp(name=name, params={"url": entry["url"]})
    return agents.mcp.MCPServerStdio(name=name, params={"command": entry["command"], "args": entry["args"], "env": {**os.environ, **entry.get("env", {})}})


async def main():
    _, config, system, prompt = sys.argv
    agents.set_tracing_disabled(True)
    async with contextlib.AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(server(*item)) for item in json.load(open(config))["mcpServers"].items()]
        model = agents.OpenAIChatCompletionsModel(model=os.environ["OPENAI_MODEL"], openai_client=openai.AsyncOpenAI())
        agent = agents.Agent(name="clerk", instructions=system, mcp_servers=servers, model=model)
        print((await agents.Runner.run(agent, prompt)).final_output)


asyncio.run(main())
