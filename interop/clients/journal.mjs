// Someone who debugs, with the page of the journal open in Chromium.
//
// usage: journal.mjs JSON, the addresses {llm, mcp, guarded, token, stranger}:
// of a mock model, a mock server, a mock model with a token, and of pages of
// another origin, by a name that leads to this machine.
//
// Prints {wrong, scenario}: what is wrong as texts, and what was copied.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const at = JSON.parse(process.argv[2]);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const wrong = [];
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP *.example 127.0.0.1"],
});
const asked = [];
const open = async (url, options = {}) => {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on("console", (m) => {
    // A browser itself tells of a status that the page expects.
    if (["error", "warning"].includes(m.type()) && !/status of 401/.test(m.text())) wrong.push(`${url}: console: ${m.text()}`);
  });
  page.on("pageerror", (e) => wrong.push(`${url}: error: ${e.message}`));
  page.on("request", (r) => {
    asked.push(r.url());
    if (new URL(r.url()).origin !== new URL(url).origin) wrong.push(`${url}: request: ${r.url()}`);
  });
  page.on("dialog", (d) => { wrong.push(`${url}: dialog: ${d.message()}`); d.dismiss(); });
  page.setDefaultTimeout(30_000);
  await page.goto(url);
  return page;
};
const check = async (what, ok) => {
  try {
    const got = await ok();
    if (got !== true) wrong.push(`${what}: ${JSON.stringify(got)}`);
  } catch (e) {
    wrong.push(`${what}: ${String(e.message).slice(0, 600)}`);
  }
};
const post = async (url, body, headers = {}) => {
  const res = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers }, body: JSON.stringify(body) });
  await res.text();
};
const say = (id, ...users) => post(`${at.llm}/t/${id}/v1/chat/completions`, {
  model: "m", messages: users.flatMap((u, i) => i === 0 ? [{ role: "user", content: u }] : [{ role: "assistant", content: "It is sunny." }, { role: "user", content: u }]),
});
const call = (args) => post(`${at.mcp}/t/tool/mcp`, {
  jsonrpc: "2.0", id: 1, method: "tools/call",
  params: { name: "add", arguments: args, _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} } },
}, { "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "add" });
const rows = (page, more = "") => page.locator("#rows details.trial" + more);

// The model: what comes is seen without a reload.
const page = await open(`${at.llm}/rehearse/`, { colorScheme: "dark" });
await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
await page.locator("#nothing").waitFor();
await page.evaluate(() => { window.sameDocument = true; });
await say("first", "Weather?");
await rows(page, ".passed").waitFor();
await say("first", "Weather?", "And in Rme?");
const miss = rows(page, ".failed");
await miss.waitFor();
await check("the page was not loaded again", () => page.evaluate(() => window.sameDocument));
await check("a miss says how it differs", async () => {
  const text = await miss.innerText();
  const want = ["miss", "expected next: turn 2, reply 1", "+ user: And in Rme?"];
  return want.every((w) => text.includes(w)) || text;
});
await check("the difference is coloured", async () => (await miss.locator("pre .got").count()) > 0);
await check("a reply says which it is", async () => {
  await rows(page, ".passed").locator("summary").click();
  const text = await rows(page, ".passed").innerText();
  return text.includes("turn 1, reply 1") && text.includes("llm.yaml:") || text;
});

// Whatever is said is text.
const hostile = `</pre></script><img src=x onerror="alert(1)"><style>*{display:none}</style>\u202e\u0007`;
await say("second", hostile);
await page.waitForFunction(() => document.querySelectorAll("#rows details.failed").length === 2);
await check("a text does not act", async () => {
  const text = await rows(page, ".failed").first().innerText();
  const made = await page.locator("main img, main script, main style").count();
  return made === 0 && text.includes(`<img src=x onerror="alert(1)">`) && text.includes("⟨U+202E⟩⟨U+0007⟩") || `${made} elements, ${text}`;
});
await check("what is open stays open", async () => (await rows(page, ".passed[open]").count()) === 1);
await check("axe", async () => {
  await page.evaluate(axe);
  const result = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  const bad = result.violations.filter((v) => ["serious", "critical"].includes(v.impact));
  return bad.length === 0 || bad.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 200)}`);
});

// By test id, and copied.
await page.locator("#find").fill("FIRST");
await page.waitForFunction(() => document.querySelectorAll("#rows details.trial").length === 2);
await check("the filter leaves one test", async () => {
  const ids = await page.locator("#rows .id").allInnerTexts();
  return ids.join() === "first,first" || ids;
});
await miss.getByRole("button", { name: "Copy as scenario" }).click();
await miss.locator(".scenario-copy pre").waitFor();
const scenario = await page.evaluate(() => navigator.clipboard.readText());
await check("what is copied is shown", async () => {
  const text = await miss.locator(".scenario-copy pre").textContent();
  return text.trimEnd() === scenario.trimEnd() || text;
});
const apart = await open(`${at.llm}/t/second/rehearse/`);
await rows(apart).waitFor();
await check("the page of one test", async () => (await rows(apart).count()) === 1 && (await apart.locator("#find").inputValue()) === "second");

// The server: calls, frames, faults.
const tools = await open(`${at.mcp}/rehearse/`);
await tools.locator("#nothing").waitFor();
await call({ by: 1 });
await call({ by: 10 });
await call({ by: 2 });
await rows(tools, ".failed").waitFor();
await tools.getByText("fault rpc_error").first().waitFor();
await check("a call that fits nothing", async () => {
  const text = await rows(tools, ".failed").innerText();
  return text.includes("no scripted result of counter.add fits") || text;
});
await check("frames", async () => (await tools.getByText("in: request tools/call").count()) === 3);
await check("calls alone are no scenario", async () => (await tools.getByRole("button", { name: "Copy as scenario" }).count()) === 0);

// A token: asked for, or handed over behind #, and in no address.
const locked = await open(`${at.guarded}/rehearse/`);
await locked.locator("#ask").waitFor();
await locked.locator("#token").fill("no");
await locked.locator("#ask button").click();
await locked.getByText("The server refuses this token.").waitFor();
await locked.locator("#token").fill(at.token);
await locked.locator("#ask button").click();
await locked.locator("#nothing").waitFor();
const handed = await open(`${at.guarded}/rehearse/#token=${encodeURIComponent(at.token)}`);
await handed.locator("#nothing").waitFor();
await check("the token leaves the address", async () => !handed.url().includes("token") || handed.url());
await check("the token is in no request's address", async () => !asked.some((u) => decodeURIComponent(u).split("#")[0].includes(at.token)));

// Pages of another origin, by another name and by another port alone.
const port = (url) => new URL(url).port;
for (const stranger of [`http://evil.example:${port(at.stranger)}`, at.stranger]) {
  const context = await browser.newContext();
  const evil = await context.newPage();
  evil.setDefaultTimeout(30_000);
  await evil.goto(stranger + "/");
  for (const path of ["/rehearse/", "/rehearse/live", "/rehearse/scenario", "/t/first/rehearse/scenario"]) {
    await check(`${stranger} fetches ${path}`, () => evil.evaluate((u) => fetch(u).then((r) => r.text(), () => true), at.llm + path));
    await check(`${stranger} opens ${path}`, async () => {
      const [popup] = await Promise.all([context.waitForEvent("page"), evil.evaluate((u) => { window.open(u); }, at.llm + path)]);
      await popup.waitForLoadState();
      const text = await popup.locator("body").innerText();
      await popup.close();
      return text.includes("rehearse_forbidden") && !text.includes("Rme") || text;
    });
  }
  await check(`${stranger} frames the page`, async () => {
    await evil.evaluate((u) => new Promise((done) => {
      const f = document.createElement("iframe");
      f.onload = done;
      f.src = u;
      document.body.append(f);
    }), `${at.llm}/rehearse/`);
    const inside = await evil.frames()[1].evaluate(() => document.body.innerText).catch(() => "");
    return !inside.includes("Journal") && !inside.includes("Rme") || inside;
  });
  await context.close();
}
await check("another name for this machine", async () => {
  const context = await browser.newContext();
  const rebound = await context.newPage();
  const res = await rebound.goto(`http://evil.example:${port(at.llm)}/rehearse/`);
  return res.status() === 403 || res.status();
});

await browser.close();
console.log(JSON.stringify({ wrong, scenario }));
