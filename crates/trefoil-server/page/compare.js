// Two settings side by side, for a question or a file of them.

import { post } from "./api.js";
import { el, fill, table, two } from "./dom.js";
import { say } from "./words.js";

const MOST = 200;
const STRATEGIES = ["hybrid", "keyword", "semantic", "graph"];

/** @param {HTMLElement} main @param {URLSearchParams} query @param {(to: string, replace?: boolean) => void} go */
export function show(main, query, go) {
  const input = el("input", { type: "search", "aria-label": say("ask"), placeholder: say("ask"), value: query.get("q") ?? "" });
  const setting = (key, strategy, rerank) => {
    const which = el("select", { "aria-label": `${say(key)}: ${say("strategies")}` }, ...STRATEGIES.map((one) => el("option", { selected: one === strategy }, one)));
    const read = el("input", { type: "checkbox", checked: rerank });
    return { which, read, element: el("fieldset", {}, el("legend", {}, say(key)), el("div", { class: "row" }, which, el("label", {}, read, " ", say("rerank")))) };
  };
  const sides = [setting("left", query.get("a") ?? "hybrid", true), setting("right", query.get("b") ?? "keyword", false)];
  const search = (side, text) => post("/v1/search", { text, options: { limit: 10, strategies: [side.which.value], rerankEnabled: side.read.checked, resultTypes: ["chunk"] } });
  const said = el("p", { class: "said", role: "status" });
  const out = el("div", { class: "halves" });
  const run = async () => {
    const text = input.value.trim();
    if (!text) return;
    go(`#/compare?${new URLSearchParams({ q: text, a: sides[0].which.value, b: sides[1].which.value })}`, true);
    said.textContent = say("searching");
    try {
      const found = await Promise.all(sides.map((side) => search(side, text)));
      said.textContent = "";
      out.className = "halves";
      fill(out, ...found.map((mine, place) => {
        const theirs = found[1 - place].results.map((one) => one.id);
        return el("ol", {}, ...mine.results.map((item, rank) => {
          const other = theirs.indexOf(item.id);
          const moved = other < 0 ? say("onlyHere") : other === rank ? say("same") : `${other > rank ? "↑" : "↓"} ${Math.abs(other - rank)}`;
          return el("li", { lang: item.metadata.language }, el("a", { href: `#/document?id=${item.sources.fileId}&chunk=${item.sources.chunkId}` }, item.metadata.title || item.metadata.path),
            el("span", { class: "quiet" }, ` ${two(item.score)} · ${moved}`));
        }), el("li", { class: "quiet plain" }, `${Math.round(mine.processingTime)} ms`));
      }));
    } catch (error) { said.textContent = `${say("failed")}: ${error.message}`; }
  };
  const file = el("input", { type: "file", accept: ".txt,.tsv,text/plain,text/tab-separated-values", "aria-label": say("cases"), onchange: async () => {
    const chosen = file.files[0];
    if (chosen) await cases((await chosen.text()).split(/\r?\n/).filter((line) => line.trim()).slice(0, MOST));
  } });

  // A question a line; after a tab, the path of the document that answers it.
  async function cases(lines) {
    const rows = [];
    const sums = [0, 0];
    let expecting = 0;
    try {
      for (const line of lines) {
        const [text, path] = line.split("\t").map((part) => part.trim());
        said.textContent = `${rows.length + 1} / ${lines.length}`;
        const found = await Promise.all(sides.map((side) => search(side, text)));
        const paths = found.map((one) => one.results.map((item) => item.metadata.path));
        if (path) {
          const ranks = paths.map((all) => all.indexOf(path) + 1);
          expecting++;
          ranks.forEach((rank, side) => { sums[side] += rank ? 1 / rank : 0; });
          rows.push([text, ...ranks.map((rank) => (rank ? String(rank) : "–"))]);
        } else rows.push([text, ...paths.map((all) => all[0] ?? "–")]);
      }
      said.textContent = expecting ? `MRR@10: ${sums.map((sum) => two(sum / expecting)).join(" · ")}` : "";
      out.className = "";
      fill(out, table([say("question"), say("left"), say("right")], rows, say("cases")));
    } catch (error) { said.textContent = `${say("failed")}: ${error.message}`; }
  }

  fill(main, el("h1", {}, say("compare")), el("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); run(); } }, input, el("button", { class: "main" }, say("run"))),
    el("div", { class: "halves" }, ...sides.map((side) => side.element)),
    el("details", {}, el("summary", {}, say("cases")), el("p", { class: "quiet" }, say("casesHelp")), file), said, out);
  if (input.value) run();
}
