"""The tool runner of Anthropic's SDK for Python, with the tools of an MCP server.

usage: tool_runner.py BASE_URL MCP_URL plain|stream QUESTION

Prints the answer.
"""

import asyncio
import sys

import anthropic
import mcp
from anthropic.lib.tools.mcp import async_mcp_tool


async def main():
    _, url, server, mode, question = sys.argv
    model = anthropic.AsyncAnthropic(base_url=url, api_key="unused", max_retries=0)
    async with mcp.Client(server) as client:
        listed = await client.list_tools()
        runner = model.beta.messages.tool_runner(
            model="claude-sonnet-4-6", max_tokens=1000, stream=mode == "stream",
            tools=[async_mcp_tool(tool, client.session) for tool in listed.tools],
            messages=[{"role": "user", "content": question}],
        )
        async for message in runner:
            if mode == "stream":
                message = await message.get_final_message()
    print("".join(block.text for block in message.content if block.type == "text"))


asyncio.run(main())
