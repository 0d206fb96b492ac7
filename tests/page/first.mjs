// From an empty folder to a passage, by the three commands of the README: the page, curl, MCP.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { open } from "./browser.mjs";
import { PROGRAM, ROOT } from "./server.mjs";

const PASSAGE = "A release is cut on Thursdays";

/** The commands of the README, each on one line. */
function commands() {
  const block = /## As a server\n\n```sh\n(.*?)```/s.exec(readFileSync(join(ROOT, "README.md"), "utf8"));
  const lines = block[1].replaceAll("\\\n", "").split("\n").map((line) => line.replace(/\s+#.*/, "").trim()).filter(Boolean);
  if (lines.length !== 3) throw new Error(`there are ${lines.length} commands in the README`);
  return lines;
}

/** @param {import("playwright-core").Browser} browser @param {(what: string, wrong: string[]) => void} tell */
export async function first(browser, tell) {
  const folder = mkdtempSync(join(tmpdir(), "trefoil-first-"));
  mkdirSync(join(folder, "notes"));
  writeFileSync(join(folder, "notes/release.md"), `# Releases\n\n${PASSAGE}: tag it, and let the robot build.\n`);
  mkdirSync(join(folder, "bin"));
  symlinkSync(PROGRAM, join(folder, "bin/trefoil"));
  // Its own home; models are another thing.
  const env = { ...process.env, HOME: folder, PATH: `${join(folder, "bin")}:${process.env.PATH}`, TREFOIL_MODEL: "none", TREFOIL_RERANK_MODEL: "none", TREFOIL_INDEX: undefined };
  const started = [];
  const start = (/** @type {string} */ command) => {
    const child = spawn("sh", ["-c", `exec ${command}`], { cwd: folder, env, stdio: ["pipe", "pipe", "inherit"] });
    started.push(child);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return { child, line: async () => {
      const { value, done } = await lines.next();
      if (done) throw new Error(`${command} has ended`);
      return value;
    } };
  };
  const ways = {
    page: async (/** @type {string} */ serve) => {
      const address = new URL((await start(serve).line()).trim());
      const { context, page, wrong } = await open(browser, { origin: address.origin, token: address.hash.replace("#token=", "") }, { locale: "en-GB" });
      const input = page.locator("form.ask input[type=search]");
      for (let tries = 0; !(await page.locator("main").textContent()).includes(PASSAGE); tries++) {
        if (tries === 50) throw new Error("the page does not show the passage");
        await input.fill("how do I cut a release?");
        await input.press("Enter");
        await page.waitForTimeout(400);
      }
      await context.close();
      return wrong;
    },
    curl: async (/** @type {string} */ curl) => {
      const found = execFileSync("sh", ["-c", curl], { cwd: folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
      return JSON.stringify(JSON.parse(found).results).includes(PASSAGE) ? [] : [found.slice(0, 300)];
    },
    MCP: async (/** @type {string} */ print) => {
      const [, command] = execFileSync("sh", ["-c", print], { cwd: folder, env, encoding: "utf8" }).split(" -- ");
      const { child, line } = start(command.trim());
      const ask = async (/** @type {number} */ id, /** @type {string} */ method, /** @type {any} */ params) => {
        child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
        return line();
      };
      await ask(1, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "first", version: "1" } });
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
      const found = await ask(2, "tools/call", { name: "search", arguments: { query: "how do I cut a release?" } });
      return found.includes(PASSAGE) ? [] : [found.slice(0, 300)];
    },
  };
  try {
    const written = commands();
    for (const [place, [name, way]] of Object.entries(ways).entries()) tell(`README: ${name}`, await way(written[place]));
  } catch (error) {
    tell("README", [error.message]);
  }
  for (const child of started.reverse()) {
    const gone = new Promise((done) => { child.on("exit", done); });
    if (child.exitCode === null) { child.kill("SIGTERM"); await gone; }
  }
  rmSync(folder, { recursive: true, force: true });
}
