// A document: its passages by heading, the one that was found, what matches, what it mentions.

import { get, post } from "./api.js";
import { el, fill, marked } from "./dom.js";
import { say } from "./words.js";

/** @param {HTMLElement} main @param {URLSearchParams} query */
export async function show(main, query) {
  const id = query.get("id") ?? "";
  const chosen = query.get("chunk");
  const question = query.get("q") ?? "";
  const found = await get(`/v1/documents/${encodeURIComponent(id)}`);
  const { highlights, names } = await matches(found, question);
  let heading = "";
  const passages = found.chunks.flatMap((chunk) => {
    const above = (chunk.headingPath ?? []).join(" › ");
    const parts = [];
    if (above && above !== heading) { heading = above; parts.push(el("h2", {}, above)); }
    parts.push(el("div", { class: chunk.id === chosen ? "passage here" : "passage", id: chunk.id, lang: chunk.language, tabindex: chunk.id === chosen ? -1 : null },
      ...marked(chunk.text, question ? offsets(chunk.text, highlights.get(chunk.id) ?? []) : [], { path: found.path, headings: [found.title, ...(chunk.headingPath ?? [])] })));
    return parts;
  });
  fill(main, el("p", {}, el("a", { href: "#", onclick: (event) => { event.preventDefault(); history.back(); } }, `← ${say("back")}`)),
    el("h1", {}, found.title || found.path),
    el("p", { class: "quiet" }, [found.path, ...(found.tags ?? []), `${found.chunks.length} ${say("passages")}`].join(" · ")),
    names.length ? el("p", {}, `${say("entities")}: `, ...names.flatMap((name, at) => [at ? ", " : "", el("a", { href: `#/graph?around=${encodeURIComponent(name)}` }, name)])) : null,
    el("article", {}, ...passages));
  const here = chosen && document.getElementById(chosen);
  if (here) { here.scrollIntoView({ block: "center" }); here.focus({ preventScroll: true }); }
}

// What matches in each passage of this document alone, and the names that it mentions. A
// document is shown also where nothing can be asked about it.
async function matches(found, question) {
  const none = { highlights: new Map(), names: [] };
  const text = (question || found.title || "").trim();
  if (!text) return none;
  try {
    const { results, facets } = await post("/v1/search", {
      text: text.slice(0, 1000), filters: { pathGlob: found.path.replace(/[*?[\]{}\\]/g, "[$&]"), minRelevance: 0 },
      options: { limit: 100, rerankEnabled: false, resultTypes: ["chunk"] },
    });
    const of = (item) => item.highlights.filter((one) => one.field === "text");
    return { highlights: new Map(results.map((item) => [item.sources.chunkId, of(item)])), names: (facets ?? []).slice(0, 12).map((one) => one.entity.name) };
  } catch { return none; }
}

// Offsets within the whole text: those of highlights are within their part of it.
function offsets(text, highlights) {
  return highlights.flatMap(({ fragment, offsets }) => {
    const at = text.indexOf(fragment);
    const before = new TextEncoder().encode(text.slice(0, Math.max(at, 0))).length;
    return at < 0 ? [] : offsets.map(({ start, end }) => ({ start: start + before, end: end + before }));
  });
}
