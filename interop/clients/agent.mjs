// The AI SDK against `rehearse serve llm`.
//
// usage: agent.mjs BASE_URL plain|stream chat|responses
//
// Runs a conversation with two tools and prints what it saw as one JSON line.

import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";

const [, , baseURL, mode, endpoint] = process.argv;
const openai = createOpenAI({ baseURL, apiKey: "unused" });
const ran = [];
const request = {
  model: endpoint === "responses" ? openai.responses("mock") : openai.chat("mock"),
  maxRetries: 0,
  instructions: "Be short.",
  prompt: "What is the weather in Paris, and what time is it there?",
  stopWhen: isStepCount(5),
  tools: {
    get_weather: tool({
      description: "The weather of a place.",
      inputSchema: z.object({ location: z.string() }),
      execute: async ({ location }) => {
        ran.push({ get_weather: location });
        return "sunny";
      },
    }),
    get_time: tool({
      description: "The time in a zone.",
      inputSchema: z.object({ zone: z.string() }),
      execute: async ({ zone }) => {
        ran.push({ get_time: zone });
        return "12:00";
      },
    }),
  },
};
let answer;
if (mode === "stream") {
  const result = streamText({ ...request, onError: ({ error }) => { throw error; } });
  answer = await result.text;
} else {
  answer = (await generateText(request)).text;
}
console.log(JSON.stringify({ ran, answer }));
