// Tests with a script of their own each. With MOCK they load and verify it by
// hand, at a mock with that address.

import OpenAI from "openai";
import { expect, test as plain } from "vitest";

const ask = async (url, n) => {
  const model = new OpenAI({ baseURL: url, apiKey: "none" });
  const answer = await model.chat.completions.create({ model: "m", messages: [{ role: "user", content: `question ${n}` }] });
  expect(answer.choices[0].message.content).toBe("Sunny.");
};
const script = (n) => ({ llm: "bench", turns: [{ user: `question ${n}`, replies: [{ say: "Sunny." }] }] });
const send = (url, body) => fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

const { MOCK } = process.env;
if (MOCK) {
  for (let n = 0; n < 200; n++) {
    plain(`asks ${n}`, async () => {
      await send(`${MOCK}/t/${n}/rehearse/load`, script(n));
      await ask(`${MOCK}/t/${n}/v1`, n);
      const verdict = await send(`${MOCK}/t/${n}/rehearse/verify`, { done: true });
      expect((await verdict.json()).passed).toBe(true);
    });
  }
} else {
  const { test } = await import("rehearse/vitest");
  for (let n = 0; n < 200; n++) {
    test(`asks ${n}`, async ({ mockLlm }) => {
      await mockLlm.load(script(n));
      await ask(mockLlm.url, n);
    });
  }
}
