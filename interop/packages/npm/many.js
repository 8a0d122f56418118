// Fifty tests of two hundred with scripts of their own, of which every tenth is
// wrong.

import { writeFile } from "node:fs/promises";
import OpenAI from "openai";
import { expect } from "vitest";
import { test } from "rehearse/vitest";

async function ask(mock, text) {
  const model = new OpenAI({ baseURL: mock.url, apiKey: "none", maxRetries: 0 });
  const answer = await model.chat.completions.create({ model: "m", messages: [{ role: "user", content: text }] });
  return answer.choices[0].message.content;
}

async function call(mock, tool) {
  const version = "2025-06-18";
  const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
  const send = (frame) => fetch(mock.url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...frame }) });
  const client = { protocolVersion: version, capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const answer = await send({ id: 1, method: "initialize", params: client });
  await answer.text();
  Object.assign(headers, { "Mcp-Session-Id": answer.headers.get("Mcp-Session-Id"), "MCP-Protocol-Version": version });
  await send({ method: "notifications/initialized" });
  return (await send({ id: 2, method: "tools/call", params: { name: tool, arguments: {} } })).text();
}

// script is an object, the same in YAML, or a file.
async function script(n) {
  const inline = `
    llm: script ${n}
    turns:
      - user: question ${n}
        replies: [{say: answer ${n}}]
  `;
  if (n % 3 === 0) return { llm: `script ${n}`, turns: [{ user: `question ${n}`, replies: [{ say: `answer ${n}` }] }] };
  if (n % 3 === 1) return inline;
  const file = new URL(`script-${n}.yaml`, import.meta.url);
  await writeFile(file, inline);
  return file;
}

export function many(from, to) {
  for (let n = from; n < to; n++) {
    if (n < 160) {
      test.concurrent(`model ${n}`, async ({ mockLlm }) => {
        await mockLlm.load(await script(n));
        if (n % 20 === 0) await expect(ask(mockLlm, `mistake ${n}`)).rejects.toThrow("nothing scripted");
        else if (n % 20 !== 10) expect(await ask(mockLlm, `question ${n}`)).toBe(`answer ${n}`);
      });
    } else {
      test.concurrent(`server ${n}`, async ({ mockMcp }) => {
        const tools = [{ name: `tool${n}`, results: [{ text: `result ${n}` }] }];
        await mockMcp.load({ server: `server${n}`, tools }, { verify: { calls: [`tool${n}`], done: true } });
        if (n % 10 !== 0) expect(await call(mockMcp, `tool${n}`)).toContain(`result ${n}`);
      });
    }
  }
}
