// A reader in another language: a program that takes jobs, one JSON object a line, and
// answers each with a line when it is done.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export function start(command, args, options) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], ...options });
  const open = new Map();
  let count = 0;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const answer = JSON.parse(line);
    open.get(answer.job)?.done(answer);
    open.delete(answer.job);
  });
  let gone;
  const lost = (why) => {
    gone = new Error(`${command}: ${why}`);
    for (const { fail } of open.values()) fail(gone);
  };
  child.on("error", (error) => lost(error.message));
  child.on("exit", (code) => lost(`ended with ${code}`));
  return {
    read: (kind) => (ask) => new Promise((done, fail) => {
      if (gone) return fail(gone);
      const job = ++count;
      open.set(job, { done, fail });
      child.stdin.write(`${JSON.stringify({ ...ask, job, kind })}\n`);
    }),
    close: () => child.stdin.end(),
  };
}
