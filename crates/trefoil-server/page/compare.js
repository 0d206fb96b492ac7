// Two settings side by side for one question.

import { post } from "./api.js";
import { el, fill, two } from "./dom.js";
import { say } from "./words.js";

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
  const said = el("p", { class: "said", role: "status" });
  const out = el("div", { class: "halves" });
  const run = async () => {
    const text = input.value.trim();
    if (!text) return;
    go(`#/compare?${new URLSearchParams({ q: text, a: sides[0].which.value, b: sides[1].which.value })}`, true);
    said.textContent = say("searching");
    try {
      const found = await Promise.all(sides.map((side) => post("/v1/search", { text, options: { limit: 10, strategies: [side.which.value], rerankEnabled: side.read.checked, resultTypes: ["chunk"] } })));
      said.textContent = "";
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
  fill(main, el("h1", {}, say("compare")), el("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); run(); } }, input, el("button", { class: "main" }, say("run"))),
    el("div", { class: "halves" }, ...sides.map((side) => side.element)), said, out);
  if (input.value) run();
}
