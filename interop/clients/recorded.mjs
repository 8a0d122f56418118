// The official OpenAI client for JavaScript through `rehearse proxy`.
//
// usage: recorded.mjs plain|stream QUESTION
//        recorded.mjs leave N QUESTION
//
// As recorded.py.

import OpenAI from "openai";

const [, , mode, ...args] = process.argv;
const tools = [
  ["get_weather", "The weather of a city.", "location"],
  ["get_time", "The time in a zone.", "zone"],
].map(([name, description, argument]) => ({
  type: "function",
  function: {
    name,
    description,
    parameters: {
      type: "object",
      properties: { [argument]: { type: "string" } },
      required: [argument],
      additionalProperties: false,
    },
  },
}));
const results = { get_weather: "sunny", get_time: "noon" };
const client = new OpenAI();

async function complete(messages) {
  const request = { model: "mock", messages, tools };
  const reply =
    mode === "plain"
      ? await client.chat.completions.create(request)
      : await client.chat.completions.stream(request).finalChatCompletion();
  return reply.choices[0].message;
}

async function converse(question) {
  const messages = [{ role: "user", content: question }];
  const ran = [];
  for (;;) {
    const message = await complete(messages);
    if (!message.tool_calls?.length) {
      return { ran, answer: message.content };
    }
    messages.push(message);
    for (const call of message.tool_calls) {
      ran.push({ [call.function.name]: JSON.parse(call.function.arguments) });
      messages.push({ role: "tool", tool_call_id: call.id, content: results[call.function.name] });
    }
  }
}

async function leave(parts, question) {
  const texts = [];
  try {
    const stream = await client.chat.completions.create({
      model: "mock",
      messages: [{ role: "user", content: question }],
      stream: true,
    });
    for await (const chunk of stream) {
      texts.push(chunk.choices[0].delta.content);
      if (texts.length === parts) {
        break; // which closes the stream
      }
    }
  } catch (e) {
    if (e instanceof OpenAI.APIError && e.status) {
      throw e;
    }
    return { texts, broke: true, error: e.constructor.name };
  }
  return { texts, broke: false };
}

let saw;
try {
  saw = mode === "leave" ? await leave(Number(args[0]), args[1]) : await converse(args[0]);
} catch (e) {
  if (!(e instanceof OpenAI.APIError) || !e.status) {
    throw e;
  }
  saw = { status: e.status, message: e.error.message, type: e.type };
}
console.log(JSON.stringify(saw));
