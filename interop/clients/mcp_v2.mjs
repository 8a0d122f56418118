// What the official TypeScript SDK 2.x makes of a mock MCP server:
//   mcp_v2.mjs auto|legacy URL
//   mcp_v2.mjs auto|legacy COMMAND ARGUMENT...
// It prints what it saw as one JSON object; anything unexpected is an error.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { run } from './mcp_seen.mjs';

const [mode, ...target] = process.argv.slice(2);
let tell = () => {};
const client = new Client(
  { name: 'interop', version: '1.0.0' },
  {
    capabilities: { elicitation: {} },
    versionNegotiation: { mode },
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: (error) => tell(error) } },
  },
);
function connect() {
  if (!target[0].startsWith('http')) {
    return new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: 'inherit' });
  }
  const url = new URL(target[0]);
  return url.pathname === '/sse' ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
}
const transport = connect();
await run(client, transport, {
  onElicit: (f) => client.setRequestHandler('elicitation/create', f),
  call: (name, args, options) => client.callTool({ name, arguments: args }, options),
  onChange: (f) => { tell = f; },
  protocol: () => client.getNegotiatedProtocolVersion(),
});
