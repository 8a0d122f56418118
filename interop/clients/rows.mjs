// Plain SDKs as a command that asks for one tool: rows.mjs CLIENT PROMPT.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import OpenAI from "openai";

const [, , , prompt] = process.argv;
const [{ url }] = Object.values(JSON.parse(readFileSync(process.env.MCP_CONFIG)).mcpServers);
const server = new Client({ name: "rows", version: "1" });
await server.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await server.listTools();
const runner = new OpenAI().chat.completions.runTools({
  model: process.env.OPENAI_MODEL,
  messages: [{ role: "user", content: prompt }],
  tools: tools.map((t) => ({
    type: "function",
    function: {
      name: t.name, description: t.description, parameters: t.inputSchema, parse: JSON.parse,
      function: async (args) => (await server.callTool({ name: t.name, arguments: args })).content[0].text,
    },
  })),
});
console.log(await runner.finalContent());
await server.close();
