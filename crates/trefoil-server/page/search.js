// The search screen: results as one types, with filters, reasons, and what was lost.

import { Problem, events, get, post } from "./api.js";
import { el, fill, marked, table, two } from "./dom.js";
import { say } from "./words.js";

const PAUSE = 180;
const LIMIT = 10;

/** @param {HTMLElement} main @param {URLSearchParams} query @param {(to: string, replace?: boolean) => void} go */
export function show(main, query, go) {
  const input = el("input", { type: "search", name: "q", autocomplete: "off", maxlength: 1000, "aria-label": say("ask"), placeholder: say("ask"), value: query.get("q") ?? "" });
  const graded = el("input", { type: "checkbox", checked: query.get("graded") === "1" });
  const said = el("p", { class: "said", role: "status" });
  const notes = el("div");
  const list = el("ol", { class: "results" });
  const facets = el("aside", { class: "facets", "aria-label": say("clear") });
  const after = el("div");
  const form = el("form", { class: "ask", role: "search", onsubmit: (event) => { event.preventDefault(); ask(true); } },
    input, el("button", { class: "main" }, say("go")));
  fill(main, el("h1", { class: "unseen" }, say("search")), form,
    el("div", { class: "row spread" }, said, el("label", {}, graded, " ", say("grade"))), notes,
    el("div", { class: "columns" }, facets, el("div", {}, list, after)));

  let running = new AbortController();
  let timer = 0;
  let composing = false;
  // A question that was asked on purpose stays in the history; what is typed next is another.
  let settled = false;
  const soon = () => { clearTimeout(timer); if (!composing) timer = setTimeout(() => ask(false), PAUSE); };
  input.addEventListener("compositionstart", () => { composing = true; clearTimeout(timer); });
  input.addEventListener("compositionend", () => { composing = false; soon(); });
  input.addEventListener("input", soon);
  graded.addEventListener("change", () => ask(true));

  const filters = () => ({
    languages: query.getAll("lang"), tags: query.getAll("tag"),
    pathGlob: query.get("folder") ? `${query.get("folder")}/**` : null,
    dateRange: query.get("year") ? { start: `${query.get("year")}-01-01T00:00:00Z`, end: `${query.get("year")}-12-31T23:59:59Z` } : null,
  });
  const asked = (cursor) => ({
    text: input.value.trim(), filters: filters(),
    options: { limit: LIMIT, explain: true, cragEnabled: graded.checked, cursor },
  });

  function remember(replace) {
    const text = input.value.trim();
    if (text) query.set("q", text); else query.delete("q");
    if (graded.checked) query.set("graded", "1"); else query.delete("graded");
    const to = `#/search?${query}`;
    if (to !== location.hash) go(to, replace && !settled);
    settled = !replace;
  }

  function choose(key, value) {
    const had = query.getAll(key);
    query.delete(key);
    const next = had.includes(value) ? had.filter((one) => one !== value) : key === "lang" || key === "tag" ? [...had, value] : [value];
    for (const one of next) query.append(key, one);
    ask(true);
  }

  async function ask(push) {
    clearTimeout(timer);
    running.abort();
    running = new AbortController();
    const { signal } = running;
    remember(!push);
    if (!input.value.trim()) { fill(list); fill(notes); fill(after); fill(said); fill(facets); welcome(notes, list); return; }
    said.textContent = say("searching");
    if (notes.querySelector(".welcome")) fill(notes);
    try {
      let shown = false;
      await events("POST", "/v1/search", asked(undefined), (name, data) => {
        if (signal.aborted) return;
        if (name === "provisional") { said.textContent = say("provisional"); list.classList.add("provisional"); results(data, false); }
        if (name === "result") { shown = true; answer(data); }
        if (name === "problem") throw new Problem(data);
      }, signal);
      if (!shown && !signal.aborted) said.textContent = say("failed");
    } catch (error) {
      if (signal.aborted) return;
      said.textContent = `${say("failed")}: ${error.message}`;
    }
  }

  function answer(found) {
    list.classList.remove("provisional");
    said.textContent = found.results.length ? say("found", found.totalCount, Math.round(found.processingTime)) : say("nothing");
    const verdict = { supported: "supported", unsupported: "unsupported", partial: "partial" }[found.answerability];
    fill(notes, verdict ? el("p", {}, say(verdict)) : null,
      found.degraded.length ? el("details", { class: "note" }, el("summary", {}, say("degraded")),
        el("ul", {}, ...found.degraded.map((one) => el("li", {}, `${one.stage}: ${one.reason}`)))) : null);
    results(found.results, true);
    side(found);
    fill(after, found.hasMore ? el("p", {}, el("button", { onclick: (event) => more(event.target, found.nextCursor) }, say("more"))) : null,
      stages(found), missing());
  }

  // What stays keeps its element, and with it focus and place.
  function results(items, isFinal) {
    const before = new Map([...list.children].map((one) => [one.dataset.id, one]));
    const focus = document.activeElement?.closest?.("li")?.dataset.id;
    const next = items.map((item) => hit(item, isFinal, input.value.trim()));
    for (const one of next) {
      const opened = before.get(one.dataset.id)?.querySelector("details[open]");
      if (opened) one.querySelector("details")?.setAttribute("open", "");
    }
    fill(list, ...next);
    if (focus) next.find((one) => one.dataset.id === focus)?.querySelector("a")?.focus({ preventScroll: true });
  }

  async function more(button, cursor) {
    button.disabled = true;
    try {
      const found = await post("/v1/search", asked(cursor));
      const first = list.children.length;
      list.append(...found.results.map((item) => hit(item, true, input.value.trim())));
      list.children[first]?.querySelector("a")?.focus();
      if (found.hasMore) { button.disabled = false; button.onclick = null; button.replaceWith(el("button", { onclick: (event) => more(event.target, found.nextCursor) }, say("more"))); } else button.remove();
    } catch (error) { button.disabled = false; said.textContent = `${say("failed")}: ${error.message}`; }
  }

  function side(found) {
    const count = (of) => {
      const counts = new Map();
      for (const item of found.results) for (const one of of(item)) if (one) counts.set(one, (counts.get(one) ?? 0) + 1);
      return [...counts].sort((a, b) => b[1] - a[1]).slice(0, 8);
    };
    const group = (title, key, values, shown = (value) => value) => {
      const chosen = query.getAll(key);
      const all = [...values, ...chosen.filter((one) => !values.some(([value]) => value === one)).map((one) => [one, 0])];
      if (all.length < 2 && !chosen.length) return null;
      return el("section", {}, el("h2", {}, title), el("ul", {}, ...all.map(([value, n]) => el("li", {},
        el("button", { type: "button", "aria-pressed": chosen.includes(value), onclick: () => choose(key, value) }, shown(value)), n ? ` ${n}` : ""))));
    };
    const of = (item) => item.metadata ?? {};
    fill(facets,
      group(say("languages"), "lang", count((item) => [of(item).language])),
      group(say("tags"), "tag", count((item) => of(item).tags ?? [])),
      group(say("years"), "year", count((item) => [of(item).date && new Date(typeof of(item).date === "number" ? of(item).date * 1000 : of(item).date).getFullYear().toString()])),
      group(say("folders"), "folder", count((item) => [(of(item).path ?? "").includes("/") ? of(item).path.replace(/\/[^/]*$/, "") : ""]),
        (folder) => folder.split("/").slice(-2).join("/")),
      found.facets?.length ? el("section", {}, el("h2", {}, say("entities")), el("ul", {}, ...found.facets.map((one) =>
        el("li", {}, el("a", { href: `#/graph?around=${encodeURIComponent(one.entity.name)}` }, one.entity.name), ` ${one.results}`)))) : null);
  }

  function missing() {
    const path = el("input", { type: "text", "aria-label": say("path"), placeholder: say("path"), size: 30 });
    const told = el("p", { role: "status" });
    return el("details", {}, el("summary", {}, say("whyNot")), el("form", { class: "row", onsubmit: async (event) => {
      event.preventDefault();
      try {
        const lost = await post("/v1/why-not", { query: asked(undefined), path: path.value.trim() });
        const lacks = lost.explanation.missingWords;
        const words = lacks.length ? ` ${say("lacks")}: ${lacks.join(" · ")}` : "";
        told.textContent = `${lost.lostAt ? `${say("lostAt")}: ${lost.lostAt}` : say("kept")} — ${lost.reason}${words}`;
      } catch (error) { told.textContent = `${say("failed")}: ${error.message}`; }
    } }, path, el("button", {}, say("find"))), told);
  }

  if (input.value) { ask(false); settled = true; } else { input.focus(); welcome(notes, list); }
  return () => { running.abort(); clearTimeout(timer); };
}

/** What there is to ask about, as long as nothing is asked. @param {HTMLElement} notes @param {HTMLElement} list */
async function welcome(notes, list) {
  try {
    const [stats, { entities }] = await Promise.all([get("/v1/stats"), get("/v1/graph/entities")]);
    if (list.children.length || !notes.isConnected) return;
    fill(notes, el("div", { class: "welcome" }, el("p", {}, say("about", stats.files, stats.chunks)),
      el("p", {}, ...entities.slice(0, 12).map(({ entity: { name } }) => el("a", { class: "name", href: `#/search?q=${encodeURIComponent(name)}` }, name)))));
  } catch { /* it can be asked all the same */ }
}

/** One result. @param {any} item @param {boolean} isFinal @param {string} q what was asked */
export function hit(item, isFinal, q = "") {
  const about = item.metadata ?? {};
  const isChunk = item.type === "chunk";
  const text = item.highlights.find((one) => one.field === "text");
  const title = item.highlights.find((one) => one.field === "title");
  const name = title && title.fragment === about.title ? marked(title.fragment, title.offsets) : [about.title || about.path || item.type];
  const from = { path: isChunk ? about.path : ".md", headings: [about.title, ...(about.headingPath ?? [])] };
  const to = isChunk ? `#/document?${new URLSearchParams({ id: item.sources.fileId, chunk: item.sources.chunkId, q })}` : `#/graph?around=${encodeURIComponent(about.title ?? "")}`;
  const where = isChunk ? [about.path, about.lines && `:${about.lines.start}`, about.headingPath?.length ? ` · ${about.headingPath.join(" › ")}` : ""] : [say(item.type)];
  return el("li", { class: "hit", lang: about.language ?? null, "data-id": item.id },
    el("h3", {}, el("a", { href: to }, ...name)),
    el("p", { class: "where" }, el("span", { class: "score" }, two(item.score)), ...where.filter(Boolean)),
    el("p", {}, ...(text ? marked(text.fragment, text.offsets, from) : marked(item.content.summary ?? item.content.text.slice(0, 300), [], from))),
    isFinal ? el("details", {}, el("summary", { class: "quiet" }, say("why")), reasons(item)) : null);
}

function reasons(item) {
  const { relevance, explanation } = item;
  const ranks = new Map((explanation?.retrievers ?? []).map((one) => [one.retriever, one]));
  const rows = Object.entries(relevance).filter(([, value]) => typeof value === "number")
    .map(([name, value]) => [name, two(value), ranks.get(name)?.rank?.toString() ?? "–"]);
  const walked = (explanation?.stages ?? []).map((one) => [one.stage, String(one.rank), two(one.score)]);
  const lacks = explanation?.missingWords ?? [];
  return el("div", {}, table([say("by"), say("score"), say("rank")], rows, say("retriever")),
    walked.length ? table([say("stage"), say("rank"), say("score")], walked, say("stages")) : null,
    lacks.length ? el("p", { class: "quiet" }, `${say("lacks")}: ${lacks.join(" · ")}`) : null);
}

function stages(found) {
  const most = Math.max(...found.stages.map((one) => one.duration), 0.001);
  const rows = found.stages.map((one) => {
    const bar = el("span", { class: "bar" });
    bar.style.width = `${Math.max(1, (one.duration / most) * 120)}px`;
    return [one.stage, `${one.duration.toFixed(1)} ms`, bar, String(one.in), String(one.out)];
  });
  return el("details", {}, el("summary", {}, say("stages")), table([say("stage"), say("time"), say("time"), say("in"), say("out")], rows, say("stages")));
}
