// Plain SDKs as a command that asks for one tool: rows.mjs CLIENT PROMPT.
import { readFileSync } from "node:fs";
import { Agent, MCPServerStreamableHttp, run, setTracingDisabled } from "@openai/agents";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import OpenAI from "openai";

const [, , name, prompt] = process.argv;
const [{ url }] = Object.values(JSON.parse(readFileSync(process.env.MCP_CONFIG)).mcpServers);
const model = process.env.OPENAI_MODEL;

async function openai() {
  const server = new Client({ name: "rows", version: "1" });
  await server.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await server.listTools();
  const runner = new OpenAI().chat.completions.runTools({
    model,
    messages: [{ role: "user", content: prompt }],
    tools: tools.map((t) => ({
      type: "function",
      function: {
        name: t.name, description: t.description, parameters: t.inputSchema, parse: JSON.parse,
        function: async (args) => (await server.callTool({ name: t.name, arguments: args })).content[0].text,
      },
    })),
  });
  const answer = await runner.finalContent();
  await server.close();
  return answer;
}

async function agents() {
  setTracingDisabled(true);
  const server = new MCPServerStreamableHttp({ url, name: "weather" });
  await server.connect();
  const result = await run(new Agent({ name: "agent", model, mcpServers: [server] }), prompt);
  await server.close();
  return result.finalOutput;
}

console.log(await { "openai-js": openai, "openai-agents-js": agents }[name]());
