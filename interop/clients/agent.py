"""openai-agents against `rehearse serve llm`.

usage: agent.py BASE_URL plain|stream chat|responses

Lets an agent run a conversation with two tools and prints what it saw as one
JSON line.
"""

import asyncio
import json
import sys

import agents
import openai

RAN = []


@agents.function_tool
def get_weather(location: str) -> str:
    """The weather of a place."""
    RAN.append({"get_weather": location})
    return "sunny"


@agents.function_tool
def get_time(zone: str) -> str:
    """The time in a zone."""
    RAN.append({"get_time": zone})
    return "12:00"


async def main():
    _, url, mode, endpoint = sys.argv
    agents.set_tracing_disabled(True)
    client = openai.AsyncOpenAI(base_url=url, api_key="unused", max_retries=0)
    kind = agents.OpenAIResponsesModel if endpoint == "responses" else agents.OpenAIChatCompletionsModel
    agent = agents.Agent(
        name="traveller", instructions="Be short.", tools=[get_weather, get_time],
        model=kind(model="mock", openai_client=client),
    )
    question = "What is the weather in Paris, and what time is it there?"
    if mode == "stream":
        result = agents.Runner.run_streamed(agent, question)
        async for _ in result.stream_events():
            pass
    else:
        result = await agents.Runner.run(agent, question)
    usage = result.context_wrapper.usage
    assert usage.requests == 3, usage
    print(json.dumps({"ran": RAN, "answer": result.final_output}, ensure_ascii=False))


asyncio.run(main())
