// The official OpenAI client for JavaScript against `rehearse serve llm`.
//
// usage: client.mjs BASE_URL plain|stream [chat|responses]
//
// Runs one tool-calling conversation and prints what it saw as one JSON line.

import assert from "node:assert/strict";
import OpenAI from "openai";

const [, , baseURL, mode, endpoint] = process.argv;
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
const question = "What is the weather in Paris and in Zürich?";
const [said, calls, answer] = endpoint === "responses" ? await responses() : await chat();
console.log(JSON.stringify({ models, said, calls, answer }));

async function chat() {
  const messages = [{ role: "user", content: question }];
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
  return [choice.message.content, choice.message.tool_calls.map((c) => JSON.parse(c.function.arguments)), last.message.content];
}

async function respond(input) {
  const request = { model: "mock", input, tools: [{ type: "function", strict: true, ...tools[0].function }] };
  if (mode === "plain") {
    return client.responses.create(request);
  }
  return client.responses.stream(request).finalResponse();
}

// The conversation with the history sent back as items.
async function responses() {
  const input = [{ role: "user", content: question }];
  const first = await respond(input);
  assert.equal(first.status, "completed");
  assert.ok(first.usage.output_tokens > 0 && first.usage.input_tokens > 0);
  const calls = first.output.filter((item) => item.type === "function_call");
  input.push(...first.output);
  for (const call of calls) {
    input.push({ type: "function_call_output", call_id: call.call_id, output: weather[JSON.parse(call.arguments).location] });
  }
  const last = await respond(input);
  return [first.output_text, calls.map((c) => JSON.parse(c.arguments)), last.output_text];
}
