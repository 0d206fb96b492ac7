// Indexes, long work, and how other programs connect.

import { events, get, post, remove } from "./api.js";
import { el, fields, fill, table } from "./dom.js";
import { say } from "./words.js";

const KINDS = ["ingest", "verify", "doctor", "reindex", "maintain", "export"];

/** @param {HTMLElement} main */
export async function show(main) {
  const jobs = el("div");
  const said = el("p", { class: "said", role: "status" });
  const kind = el("select", { "aria-label": say("kind") }, ...KINDS.map((one) => el("option", {}, one)));
  const watching = new Set();
  const stopped = new AbortController();

  async function list() {
    const told = await get("/v1/jobs");
    const all = told.jobs ?? told;
    fill(jobs, all.length ? table([say("kind"), say("index"), say("state"), say("progress"), say("result"), say("cancel")], all.map((job) => [
      job.kind, job.index, job.state, progress(job),
      result(job),
      ["waiting", "running"].includes(job.state) ? el("button", { onclick: async () => { await remove(`/v1/jobs/${job.id}`); list(); } }, say("cancel")) : "",
    ]), say("jobs")) : el("p", { class: "quiet" }, say("empty")));
    for (const job of all) if (["waiting", "running"].includes(job.state) && !watching.has(job.id)) watch(job.id);
  }

  async function watch(id) {
    watching.add(id);
    try { await events("GET", `/v1/jobs/${id}/events`, undefined, () => { list().catch(() => {}); }, stopped.signal); } catch { /* it has ended */ }
    watching.delete(id);
    if (!stopped.signal.aborted) list().catch(() => {});
  }

  const begin = async (event) => {
    event.preventDefault();
    try {
      const extra = kind.value === "export" ? { file: `trefoil-${new Date().toISOString().replace(/[:.]/g, "-")}.snapshot` } : {};
      await post("/v1/jobs", { kind: kind.value, ...extra });
      said.textContent = "";
      await list();
    } catch (error) { said.textContent = `${say("failed")}: ${error.message}`; }
  };
  fill(main, el("p", {}, say("loading")));
  const [{ indexes }, stats] = await Promise.all([get("/v1/indexes"), get("/v1/stats")]);
  const number = (value) => Number(value).toLocaleString();
  const rows = [[say("files"), number(stats.files)], [say("chunks"), number(stats.chunks)], ["MB", (stats.bytes / 1e6).toFixed(1)],
    ...Object.entries(stats.languages ?? {}).map(([code, count]) => [code, number(count)])];
  fill(main, el("h1", {}, say("admin")), el("h2", {}, say("indexes")),
    el("ul", {}, ...indexes.map((one) => el("li", {}, `${one.name}: ${say(one.open ? "open" : "closed")}`))),
    el("h2", {}, say("numbers")), table([], rows, say("index")),
    el("h2", {}, say("jobs")), el("form", { class: "row", onsubmit: begin }, kind, el("button", { class: "main" }, say("begin"))), said, jobs,
    el("h2", {}, say("tokens")), el("p", { class: "quiet" }, say("tokensHelp")),
    ...["create --name laptop --scope read", "list", "revoke ID"].map((what) => copied(`trefoil token ${what.split(" ")[0]}`, `trefoil token ${what}`)),
    el("h2", {}, say("connect")), connect());
  list().catch((error) => { said.textContent = `${say("failed")}: ${error.message}`; });
  return () => stopped.abort();
}

function result(job) {
  if (job.problem) return job.problem.detail ?? job.problem.title;
  if (job.result === undefined) return "–";
  return el("details", {}, el("summary", {}, say("result")), fields(job.result, job.kind));
}

function progress(job) {
  const { done, total } = job.progress ?? {};
  return total ? el("progress", { max: total, value: done, "aria-label": say("progress") }) : "–";
}

function connect() {
  const ways = [
    ["MCP", `claude mcp add --transport http trefoil ${location.origin}/mcp --header "Authorization: Bearer $(trefoil token show)"`],
    ["curl", `curl -H "Authorization: Bearer $(trefoil token show)" -H "Content-Type: application/json" -d '{"text": "…"}' ${location.origin}/v1/search`],
    ["Claude Code", "trefoil mcp --print-config claude-code"],
    ["Claude Desktop", "trefoil mcp --print-config claude-desktop"],
    ["Cursor", "trefoil mcp --print-config cursor"],
    ["VS Code", "trefoil mcp --print-config vscode"],
  ];
  return el("div", {}, ...ways.map(([name, written]) => copied(name, written)), el("p", {}, el("a", { href: "/docs" }, "/docs"), " · ", el("a", { href: "/openapi.json" }, "/openapi.json")));
}

// What is typed elsewhere.
function copied(name, written) {
  return el("div", { class: "copied" }, el("h3", {}, name), el("div", { class: "beside" }, el("pre", {}, written), el("button", { "aria-label": `${say("copy")}: ${name}`,
    onclick: async (event) => { await navigator.clipboard.writeText(written); event.target.textContent = say("copied"); } }, say("copy"))));
}
