// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Vitest fixtures for the mocks and recordings of rehearse.
//
//	import { test } from "rehearse/vitest";
//
//	test("greets", async ({ mockLlm }) => {
//	  await mockLlm.load({ llm: "m", turns: [{ user: "hi", replies: [{ say: "Hello." }] }] });
//	  expect(await myAgent({ baseURL: mockLlm.url }).ask("hi")).toBe("Hello.");
//	});
//
// Each worker runs one `rehearse serve` for each kind of mock, and each test has
// a conversation of its own with it. When the test function has returned, the
// test fails if the mock saw anything else than its script says. The fixtures
// only pass on what the program answers; docs/packages.md describes them.

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { basename, dirname, join } from "node:path";
import { clearTimeout, setTimeout } from "node:timers"; // those that tests cannot fake
import { fileURLToPath } from "node:url";
import { test as base } from "vitest";

const agent = new Agent({ keepAlive: true });
const binary = fileURLToPath(new URL("bin/rehearse", import.meta.url));

/** A rehearse process that serves until it is stopped, and ends when this process does. */
class Program {
  #child;
  #said = "";
  #closed;

  static async start(...args) {
    const program = new Program();
    // In a process group of its own, Ctrl-C reaches the tests alone.
    // --with-parent ends the program also when this process is killed.
    program.#child = spawn(binary, [...args, "--with-parent"], { detached: true, stdio: "pipe" });
    program.#child.stderr.on("data", (data) => (program.#said += data));
    program.#closed = new Promise((resolve, reject) => {
      program.#child.on("error", reject);
      program.#child.on("close", resolve);
    });
    const ready = new Promise((resolve) => {
      let line = "";
      program.#child.stdout.on("data", (data) => {
        line += data;
        if (line.includes("\n")) resolve(JSON.parse(line));
      });
    });
    program.ready = await Promise.race([ready, program.#closed]);
    if (typeof program.ready !== "object" || program.ready === null) throw new Error(program.#said.trim());
    return program;
  }

  /** Stops the program and returns its exit code and what it had to say. */
  async stop() {
    this.#child.kill("SIGTERM");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 15_000);
    const code = await this.#closed;
    clearTimeout(timer);
    return { code, said: this.#said.trim() };
  }
}

/** Sends a request to the admin API and returns its answer. */
async function ask(method, url, body, type = "application/json") {
  const answered = await new Promise((resolve, reject) => {
    // Not fetch, which tests replace.
    const req = request(url, { method, agent, headers: { "Content-Type": type } }, (res) => {
      let text = "";
      res.setEncoding("utf8");
      res.on("data", (data) => (text += data));
      res.on("error", reject);
      res.on("end", () => resolve({ status: res.statusCode, text }));
    });
    // A connection that was kept may have been closed meanwhile.
    req.on("error", (e) => (req.reusedSocket ? resolve(null) : reject(e)));
    req.end(body);
  });
  if (!answered) return ask(method, url, body, type);
  const answer = answered.text ? JSON.parse(answered.text) : undefined;
  if (answered.status >= 400) throw new Error(answer.error.message);
  return answer;
}

let numbers = 0;

/** The mock of one test. */
class Mock {
  #server;
  #task;
  #name;
  #others = [];
  #loaded = false;
  #atEnd = null;

  constructor(server, task) {
    this.#server = server;
    this.#task = task;
    this.#name = task.name.replaceAll(/[^\w.-]+/g, "-");
    const root = server.ready.admin.slice(0, -"/rehearse".length);
    this.baseUrl = `${root}/t/${this.#name}.${++numbers}`;
    this.url = this.baseUrl + server.ready.url.slice(root.length);
    this.admin = this.baseUrl + "/rehearse";
  }

  async load(script, { verify = { done: true } } = {}) {
    const file = this.#task.file.filepath;
    let path = `${file}::${this.#name}`; // as mistakes name it
    let body = typeof script === "string" ? script : JSON.stringify(script);
    if (script instanceof URL) {
      path = fileURLToPath(script);
      body = await readFile(path);
    }
    await ask("POST", `${this.admin}/load?name=${encodeURIComponent(path)}`, body, "application/yaml");
    this.#loaded = true;
    this.#atEnd = verify;
    return this;
  }

  async verify(assertion) {
    const verdict = await ask("POST", this.admin + "/verify", JSON.stringify(assertion));
    const found = verdict.checks.filter((check) => !check.passed).map((check) => `${check.check}: ${check.message}`);
    if (found.length > 0) throw mismatch(found.join("\n"));
  }

  journal() {
    return ask("GET", this.admin + "/journal");
  }

  another() {
    const other = new Mock(this.#server, this.#task);
    this.#others.push(other);
    return other;
  }

  /** Judges the test and forgets its conversation. */
  async end() {
    const found = [];
    for (const mock of [this, ...this.#others]) {
      if (mock.#atEnd) await mock.verify(mock.#atEnd).catch((e) => found.push(e.message));
      // One that was not loaded may not have been asked at all.
      if (!mock.#loaded) found.push(...(await ask("GET", mock.admin + "/expectations")).problems);
      await ask("DELETE", mock.admin + "/conversation");
    }
    if (found.length > 0) throw mismatch(found.join("\n"));
  }
}

/** An error that says what a mock found; where in this file it was made helps nobody. */
function mismatch(text) {
  const error = new Error(text);
  error.name = "RehearseMismatch";
  error.stack = `${error.name}: ${text}`;
  return error;
}

/** Starts the recording of a test. */
async function record(task) {
  const names = [];
  for (let t = task; t?.name && t !== task.file; t = t.suite) names.unshift(t.name);
  const file = task.file.filepath;
  const name = encodeURIComponent(names.join(".")).replaceAll("%20", " ");
  const path = join(dirname(file), "cassettes", basename(file).replace(/\.(test|spec)?\.?\w+$/, ""), name + ".yaml");
  const upstream = process.env.REHEARSE_RECORD_FROM;
  const mode = upstream ? ["--mode", "record", "--upstream", upstream] : [];
  return { path, program: await Program.start("proxy", "--cassette", path, ...mode) };
}

/** A fixture for the server of all tests of a worker. */
const server = (kind) => [
  async ({}, use) => {
    const program = await Program.start("serve", kind, "--files", process.cwd());
    await use(program);
    await program.stop();
  },
  { scope: "worker" },
];

export const test = base.extend({
  rehearseLlm: server("llm"),
  rehearseMcp: server("mcp"),
  mockLlm: async ({ rehearseLlm, task }, use) => {
    const mock = new Mock(rehearseLlm, task);
    await use(mock);
    await mock.end();
  },
  mockMcp: async ({ rehearseMcp, task }, use) => {
    const mock = new Mock(rehearseMcp, task);
    await use(mock);
    await mock.end();
  },
  cassette: async ({ task }, use) => {
    const { path, program } = await record(task);
    await use({ path, url: program.ready.openai, baseUrl: program.ready.url });
    const { code, said } = await program.stop();
    if (code !== 0) throw mismatch(said);
  },
});

export const it = test;
