// A real server over the fixtures, a folder of hostile documents, and a memory.

import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const PROGRAM = resolve(process.env.TREFOIL ?? join(ROOT, "target/debug/trefoil"));

// Tests ask faster than people.
const SETTINGS = `
[server.limits]
burst = 100000
requests_per_minute = 100000
writes_per_minute = 100000

[indexes.fixtures]
path = "fixtures.trefoil"

[indexes.hostile]
path = "hostile.trefoil"
`;

const RTL = "\u202e";
/** Documents that would like to be more than text. */
const HOSTILE = {
  "markup.md": "# Walrus <script>window.hacked = 1</script>\n\nA walrus <img src=x onerror='window.hacked = 1'> has \"tusks\" </p><iframe srcdoc='<script>parent.hacked=1</script>'></iframe> {{7*7}} ${window.hacked=1} javascript:alert(1).\n",
  "<img src=x onerror=window.hacked=1>.md": "A walrus in a file whose name is markup.\n",
  "bidi.md": `# ${RTL}surlaW\n\nA walrus ${RTL}sksut sah${RTL} and \u2066never closes it; \u200fwalrus\u200f. ${"\u0300".repeat(400)} walrus.\n`,
  "long-line.txt": `walrus ${"tusk".repeat(250_000)}\n`,
  "long-words.md": `# ${"Walrus".repeat(80)}\n\n## ${"牙".repeat(200)}\n\n${"tusk".repeat(100)} walrus\n`,
  "control.txt": "walrus \u0001\u0007\u001b[31mred\u001b[0m \ufeff\u{1f1ef}\u{1f1f5} walrus \ud83d\udc0b\n",
};

const OBSERVED = [
  "Mika: I live in Kyoto and I like green tea.",
  "Mika: I decided that the release is cut on Thursdays.",
  "ミカ: 私は京都に住んでいます。",
  "미카: 나는 서울에서 일합니다.",
];

/** Runs the program to its end. @param {string} program @param {string[]} args @param {string} folder */
function run(program, args, folder) {
  return new Promise((done, failed) => {
    const child = spawn(program, args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (data) => { said += data; });
    child.on("error", failed);
    child.on("exit", (code) => (code === 0 ? done(undefined) : failed(new Error(`${program} ${args.join(" ")}: ${code}\n${said}`))));
  });
}

/** Starts it: where it listens, its token, and what stops it. */
export async function start() {
  if (!existsSync(PROGRAM)) throw new Error(`there is no ${PROGRAM}; build it, or name it in TREFOIL`);
  const folder = mkdtempSync(join(tmpdir(), "trefoil-page-"));
  const common = ["--model", "none", "--rerank-model", "none", "--quiet"];
  cpSync(join(ROOT, "fixtures/corpus"), join(folder, "corpus"), { recursive: true });
  mkdirSync(join(folder, "hostile"));
  for (const [name, text] of Object.entries(HOSTILE)) writeFileSync(join(folder, "hostile", name), text);
  writeFileSync(join(folder, "trefoil.toml"), SETTINGS);
  await run(PROGRAM, [...common, "--index", "fixtures.trefoil", "index", "corpus"], folder);
  await run(PROGRAM, [...common, "--index", "hostile.trefoil", "index", "hostile"], folder);
  const child = spawn(PROGRAM, [...common, "serve", "--addr", "127.0.0.1:0"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const printed = await new Promise((told, failed) => {
    let text = "";
    child.stdout.on("data", (data) => { text += data; if (text.includes("\n")) told(text.trim()); });
    child.on("exit", (code) => failed(new Error(`the server has ended: ${code}`)));
  });
  const [, origin, token] = /^(http:\/\/[^/]+)\/#token=(.+)$/.exec(printed);
  const ask = async (path, body) => {
    const answer = await fetch(origin + path, { method: body ? "POST" : "GET", headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" }, body: body && JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  for (const content of OBSERVED) await ask("/v1/memory/observe?index=fixtures", { content });
  const until = Date.now() + 60_000;
  const learnt = async () => (await ask("/v1/memory/recall?index=fixtures", { q: "Where does Mika live?", save: false })).claims.length;
  while (!(await learnt())) {
    if (Date.now() > until) throw new Error("the memory has learnt nothing");
    await new Promise((next) => setTimeout(next, 200));
  }
  const stop = () => new Promise((done) => {
    child.removeAllListeners("exit");
    child.on("exit", () => { rmSync(folder, { recursive: true, force: true }); done(undefined); });
    child.kill("SIGTERM");
  });
  return { origin, token, ask, stop };
}
