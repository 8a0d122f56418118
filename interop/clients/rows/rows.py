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


async def litellm(tools, call, model, prompt):
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network as it is imported
    import litellm
    messages = [{"role": "user", "content": prompt}]
    offered = [{"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.input_schema}} for t in tools]
    while True:
        message = litellm.completion(model="openai/" + model, messages=messages, tools=offered).choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message)
        for c in message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": c.id, "content": await call(c.function.name, json.loads(c.function.arguments))})


# Frameworks whose tools are functions have the one of the scenario.

async def autogen(tools, call, model, prompt):
    from autogen_agentchat.agents import AssistantAgent
    from autogen_core.tools import FunctionTool
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    async def get_weather(city: str) -> str:
        return await call("get_weather", {"city": city})
    info = {"vision": False, "function_calling": True, "json_output": False, "structured_output": False, "family": "unknown"}
    client = OpenAIChatCompletionClient(model=model, base_url=os.environ["OPENAI_BASE_URL"], model_info=info)
    agent = AssistantAgent("agent", client, tools=[FunctionTool(get_weather, tools[0].description)], reflect_on_tool_use=True)
    return (await agent.run(task=prompt)).messages[-1].content


async def strands(tools, call, model, prompt):
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel

    @tool(description=tools[0].description)
    async def get_weather(city: str) -> str:
        return await call("get_weather", {"city": city})
    agent = Agent(OpenAIModel(client_args={"base_url": os.environ["OPENAI_BASE_URL"]}, model_id=model), tools=[get_weather], callback_handler=None)
    return str(await agent.invoke_async(prompt)).strip()


async def inspect(tools, call, model, prompt):
    from inspect_ai.model import ChatMessageUser, get_model
    from inspect_ai.tool import ToolDef

    async def get_weather(city: str) -> str:
        return await call("get_weather", {"city": city})
    weather = ToolDef(get_weather, description=tools[0].description, parameters={"city": "A city."}).as_tool()
    _, output = await get_model("openai/" + model, responses_api=False).generate_loop([ChatMessageUser(content=prompt)], tools=[weather])
    return output.completion


async def main():
    _, name, prompt = sys.argv
    config = json.load(open(os.environ["MCP_CONFIG"]))["mcpServers"]
    async with mcp.Client(next(iter(config.values()))["url"]) as server:
        async def call(tool, args):
            return (await server.call_tool(tool, args)).content[0].text
        clients = {"openai": openai, "anthropic": anthropic, "google-genai": genai, "litellm": litellm, "autogen": autogen, "strands": strands, "inspect-ai": inspect}
        client = clients[name]
        print(await client((await server.list_tools()).tools, call, os.environ["OPENAI_MODEL"], prompt))


asyncio.run(main())
