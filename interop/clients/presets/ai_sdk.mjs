// The AI SDK as a command: ai_sdk.mjs PROMPT.
import { readFileSync } from "node:fs";
import { createOpenAI } from "@ai-sdk/openai";
import { createMCPClient } from "@ai-sdk/mcp";
import { generateText, isStepCount, streamText } from "ai";

const settings = JSON.parse(process.env.REHEARSE_SETTINGS);
const servers = JSON.parse(readFileSync(process.env.MCP_CONFIG)).mcpServers;
const clients = [];
let tools = {};
for (const { url } of Object.values(servers)) {
  clients.push(await createMCPClient({ transport: { type: "http", url } }));
  tools = { ...tools, ...(await clients.at(-1).tools()) };
}
const request = {
  model: createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).responses(process.env.OPENAI_MODEL),
  instructions: settings.system, prompt: process.argv[2], tools, stopWhen: isStepCount(20),
};
try {
  const failed = ({ error }) => { throw error; };
  const result = settings.stream ? streamText({ ...request, onError: failed }) : await generateText(request);
  console.log(await result.text);
} finally {
  await Promise.all(clients.map((c) => c.close()));
}
