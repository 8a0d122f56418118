// The tool runner of Anthropic's SDK for JavaScript, with the tools of an MCP
// server.
//
// usage: tool_runner.mjs BASE_URL MCP_URL plain|stream QUESTION
//
// Prints the answer.

import Anthropic from "@anthropic-ai/sdk";
import { mcpTools } from "@anthropic-ai/sdk/helpers/beta/mcp";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [, , baseURL, server, mode, question] = process.argv;
const model = new Anthropic({ baseURL, apiKey: "unused", maxRetries: 0 });
const client = new Client({ name: "tool-runner", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(server)));
const { tools } = await client.listTools();
const runner = model.beta.messages.toolRunner({
  model: "claude-sonnet-4-6",
  max_tokens: 1000,
  stream: mode === "stream",
  tools: mcpTools(tools, client),
  messages: [{ role: "user", content: question }],
});
let last;
for await (const message of runner) {
  last = mode === "stream" ? await message.finalMessage() : message;
}
await client.close();
console.log(last.content.map((block) => (block.type === "text" ? block.text : "")).join(""));
