// What the clients of both TypeScript SDKs do and print.
export async function run(client, transport, { call, onChange, onElicit, protocol }) {
  const seen = { changes: 0, progress: [] };
  const unexpected = (what) => (seen.unexpected ??= []).push(String(what));
  client.onerror = unexpected;
  client.fallbackNotificationHandler = async (n) => unexpected(n.method);
  let heard;
  const changed = new Promise((resolve) => { heard = resolve; });
  onChange((error) => {
    if (error) unexpected(error);
    seen.changes++;
    heard();
  });
  onElicit(async ({ params }) => ({ action: 'accept', content: { name: `${params.message} Ada` } }));
  await client.connect(transport);
  seen.protocol = protocol();
  const names = async () => (await client.listTools()).tools.map((t) => t.name).sort();
  seen.tools = await names();
  seen.sum = (await call('add', { a: 2, b: 3 })).structuredContent;
  const onprogress = (p) => seen.progress.push([p.progress, p.total, p.message]);
  seen.work = (await call('work', {}, { onprogress })).content[0].text;
  seen.quiet = (await call('work', {})).content[0].text;
  seen.greet = (await call('greet', {})).content[0].text;
  seen.grow = (await call('grow', {})).content[0].text;
  const late = setTimeout(() => { throw new Error('not told that the list has changed'); }, 10_000);
  await changed;
  clearTimeout(late);
  seen.grown = await names();
  // With SSE the POST whose answer came on the stream may still be under way.
  client.onerror = (error) => { if (error.name !== 'AbortError') unexpected(error); };
  await client.close();
  console.log(JSON.stringify(seen));
}
