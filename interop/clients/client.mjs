// The official OpenAI client for JavaScript against `rehearse serve llm`.
//
// usage: client.mjs BASE_URL plain|stream
//
// Runs one tool-calling conversation and prints what it saw as one JSON line.

import assert from "node:assert/strict";
import OpenAI from "openai";

const [, , baseURL, mode] = process.argv;
const tools = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather of a city.",
      parameters: {
        type: "object",
        properties: { location: { type: "string" } },
        required: ["location"],
        additionalProperties: false,
      },
    },
  },
];
const weather = { Paris: "sunny", Zürich: "foggy" };
const client = new OpenAI({ baseURL, apiKey: "unused", maxRetries: 0 });

async function complete(messages) {
  const request = { model: "mock", messages, tools };
  if (mode === "plain") {
    return client.chat.completions.create(request);
  }
  const stream = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } });
  return stream.finalChatCompletion();
}

const models = [];
for await (const model of client.models.list()) {
  models.push(model.id);
}
const messages = [{ role: "user", content: "What is the weather in Paris and in Zürich?" }];
const first = await complete(messages);
const choice = first.choices[0];
assert.equal(choice.finish_reason, "tool_calls");
assert.ok(first.usage.completion_tokens > 0 && first.usage.prompt_tokens > 0);
messages.push(choice.message);
for (const call of choice.message.tool_calls) {
  const place = JSON.parse(call.function.arguments).location;
  messages.push({ role: "tool", tool_call_id: call.id, content: weather[place] });
}
const last = (await complete(messages)).choices[0];
assert.equal(last.finish_reason, "stop");
console.log(
  JSON.stringify({
    models,
    said: choice.message.content,
    calls: choice.message.tool_calls.map((c) => JSON.parse(c.function.arguments)),
    answer: last.message.content,
  }),
);
