"""LangGraph as a command: langgraph_agent.py PROMPT."""
import asyncio
import json
import os
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI


async def main():
    settings = json.loads(os.environ["REHEARSE_SETTINGS"])
    servers = json.load(open(os.environ["MCP_CONFIG"]))["mcpServers"]
    client = MultiServerMCPClient({name: {"transport": "streamable_http", "url": s["url"]} for name, s in servers.items()})
    model = ChatOpenAI(model=os.environ["OPENAI_MODEL"], base_url=os.environ["OPENAI_BASE_URL"], streaming=settings["stream"])
    agent = create_agent(model, await client.get_tools(), system_prompt=settings.get("system"))
    result = await agent.ainvoke({"messages": [("user", sys.argv[1])]})
    print(result["messages"][-1].text)


asyncio.run(main())
