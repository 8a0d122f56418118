// What the official TypeScript SDKs do with a server that has a fault:
//   mcp_faults.mjs legacy|auto MILLISECONDS URL
//   mcp_faults.mjs legacy|auto MILLISECONDS COMMAND ARGUMENT...
// legacy is SDK 1.x, auto is SDK 2.x, which begins with 2026-07-28. Each
// request has that long. It prints what came of each step as one JSON object.
const [mode, ms, ...target] = process.argv.slice(2);
const options = { timeout: Number(ms) };
const url = target[0].startsWith('http') ? new URL(target[0]) : undefined;
const child = { command: target[0], args: target.slice(1), stderr: 'ignore' };
const info = { name: 'faults', version: '1.0.0' };

async function make() {
  if (mode === 'legacy') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const client = new Client(info, { capabilities: {} });
    return [client, url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport(child),
      (name, args) => client.callTool({ name, arguments: args }, undefined, options)];
  }
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const client = new Client(info, { capabilities: {}, versionNegotiation: { mode } });
  return [client, url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport(child),
    (name, args) => client.callTool({ name, arguments: args }, options)];
}

const steps = [];
async function step(name, f) {
  try {
    steps.push({ step: name, ...(await f()) });
    return true;
  } catch (error) {
    steps.push({ step: name, error: String(error?.message ?? error).slice(0, 300), code: error?.code });
    return false;
  }
}

const [client, transport, callTool] = await make();
client.onerror = () => {};
const call = (name, args) => async () => {
  const r = await callTool(name, args);
  return { is_error: r.isError === true, text: (r.content ?? []).filter((c) => c.type === 'text').map((c) => c.text).join('\n').slice(0, 200) };
};
if (await step('open', async () => { await client.connect(transport, options); return {}; })) {
  await step('list', async () => {
    const names = new Set();
    let cursor, pages = 0;
    do {
      const page = await client.listTools(cursor === undefined ? undefined : { cursor }, options);
      page.tools.forEach((t) => names.add(t.name));
      cursor = page.nextCursor;
    } while (cursor !== undefined && ++pages < 50);
    if (cursor !== undefined) throw new Error('the list has no end');
    return { tools: [...names].sort() };
  });
  await step('charge', call('charge', { order: 'A-1', amount: 30 }));
  await step('look', call('look', { order: 'A-1' }));
}
await step('close', async () => { await client.close(); return {}; });
console.log(JSON.stringify(steps));
process.exit(0);
