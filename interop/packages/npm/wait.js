// A test that tells that it is there, and then waits for an end that comes from
// outside.

import { connect } from "node:net";
import { test } from "rehearse/vitest";

export const wait = () =>
  test("waits", { timeout: 3_600_000 }, async ({ mockLlm, mockMcp }) => {
    await new Promise((resolve) => connect(process.env.WAITING, "127.0.0.1").on("close", resolve));
  });
