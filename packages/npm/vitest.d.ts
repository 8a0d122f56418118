// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

import type { TestAPI } from "vitest";

/** An assertion of the admin API, such as `{ done: true }`; see docs/serving.md. */
export type Assertion = Record<string, unknown>;

/** The mock of one test. */
export interface Mock {
  /** The base URL for a client of OpenAI, or the URL of the MCP server. */
  readonly url: string;
  /** The base URL for the clients that add the version themselves (Anthropic, Gemini). */
  readonly baseUrl: string;
  /** The URL of the admin API for this test. */
  readonly admin: string;
  /**
   * Plays a script from now on: YAML in a string, the same as an object, or the
   * URL of a file, such as `new URL("weather.yaml", import.meta.url)`. `verify` is
   * what must hold when the test has returned; null checks nothing.
   * The default is `{ done: true }`.
   */
  load(script: string | URL | Record<string, unknown>, options?: { verify?: Assertion | null }): Promise<Mock>;
  /** Fails the test unless an assertion of the admin API holds now. */
  verify(assertion: Assertion): Promise<void>;
  /** What the mock saw so far, and what it answered. */
  journal(): Promise<Record<string, any>[]>;
  /** A second mock of the same kind, for the same test. */
  another(): Mock;
}

/** The recording of one test, which answers in place of the endpoint. */
export interface Cassette {
  /** The file of the recording. */
  readonly path: string;
  /** The base URL for a client of OpenAI. */
  readonly url: string;
  /** The base URL for other clients. */
  readonly baseUrl: string;
}

export interface Fixtures {
  /** A mock model endpoint that plays the script of this test. */
  mockLlm: Mock;
  /** A mock MCP server that plays the script of this test. */
  mockMcp: Mock;
  /**
   * A recording of this test, cassettes/FILE/TEST.yaml beside its file. With the
   * address of an endpoint in REHEARSE_RECORD_FROM it is recorded through that,
   * otherwise it is replayed.
   */
  cassette: Cassette;
}

/** `test` of Vitest, with the fixtures of rehearse. */
export const test: TestAPI<Fixtures>;
/** The same as `test`. */
export const it: TestAPI<Fixtures>;
