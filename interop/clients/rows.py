"""Plain SDKs as a command that asks for one tool: rows.py CLIENT PROMPT."""
import asyncio
import json
import os
import sys

import mcp


async def openai(tools, call, model, prompt):
    from openai import OpenAI
    client = OpenAI()
    messages = [{"role": "user", "content": prompt}]
    offered = [{"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.input_schema}} for t in tools]
    while True:
        message = client.chat.completions.create(model=model, messages=messages, tools=offered).choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message)
        for c in message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": c.id, "content": await call(c.function.name, json.loads(c.function.arguments))})


async def anthropic(tools, call, model, prompt):
    from anthropic import Anthropic
    client = Anthropic()
    messages = [{"role": "user", "content": prompt}]
    offered = [{"name": t.name, "description": t.description, "input_schema": t.input_schema} for t in tools]
    while True:
        message = client.messages.create(model=model, max_tokens=1024, messages=messages, tools=offered)
        uses = [b for b in message.content if b.type == "tool_use"]
        if not uses:
            return message.content[-1].text
        messages.append({"role": "assistant", "content": message.content})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": u.id, "content": await call(u.name, u.input)} for u in uses]})


async def genai(tools, call, model, prompt):
    from google import genai
    from google.genai import types
    client = genai.Client()
    offered = types.Tool(function_declarations=[{"name": t.name, "description": t.description, "parameters_json_schema": t.input_schema} for t in tools])
    contents = [types.Content(role="user", parts=[types.Part(text=prompt)])]
    while True:
        response = client.models.generate_content(model=model, contents=contents, config=types.GenerateContentConfig(tools=[offered]))
        if not response.function_calls:
            return response.text
        contents.append(response.candidates[0].content)
        parts = [types.Part.from_function_response(name=c.name, response={"result": await call(c.name, c.args)}) for c in response.function_calls]
        contents.append(types.Content(role="user", parts=parts))


async def main():
    _, name, prompt = sys.argv
    config = json.load(open(os.environ["MCP_CONFIG"]))["mcpServers"]
    async with mcp.Client(next(iter(config.values()))["url"]) as server:
        async def call(tool, args):
            return (await server.call_tool(tool, args)).content[0].text
        client = {"openai": openai, "anthropic": anthropic, "google-genai": genai}[name]
        print(await client((await server.list_tools()).tools, call, os.environ["OPENAI_MODEL"], prompt))


asyncio.run(main())
