// What the official TypeScript SDK 1.x makes of a mock MCP server:
//   mcp_v1.mjs legacy URL
//   mcp_v1.mjs legacy COMMAND ARGUMENT...
// It prints what it saw as one JSON object; anything unexpected is an error.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { run } from './mcp_seen.mjs';

const target = process.argv.slice(3);
const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities: { elicitation: {} } });
function connect() {
  if (!/^(http|ws):/.test(target[0])) {
    return new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: 'inherit' });
  }
  const url = new URL(target[0]);
  if (url.protocol === 'ws:') return new WebSocketClientTransport(url);
  return url.pathname === '/sse' ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
}
const transport = connect();
let protocol;
const { setProtocolVersion } = transport;
transport.setProtocolVersion = (version) => {
  protocol = version;
  setProtocolVersion?.call(transport, version);
};
await run(client, transport, {
  onElicit: (f) => client.setRequestHandler(ElicitRequestSchema, f),
  call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
  onChange: (f) => client.setNotificationHandler(ToolListChangedNotificationSchema, () => f()),
  protocol: () => protocol,
});
