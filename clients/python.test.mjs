// The example in Python.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { program } from "./serve.mjs";

const missing = spawnSync("python3", ["--version"]).status === 0 ? false : "python3 is not installed";
if (missing) console.error(`NOT RUN: ${missing}: the example in Python was not run`);

test("the example in Python", { skip: missing }, async () => {
  const script = fileURLToPath(new URL("../examples/python/ask.py", import.meta.url));
  const { stdout } = await promisify(execFile)("python3", [script], { env: { ...process.env, STREAMASSAY: program }, timeout: 30000 });
  assert.equal(stdout, "hello from Python\n");
});
