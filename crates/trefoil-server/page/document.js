// A document: its passages by heading, the one that was found, what stands around, what it mentions.

import { get } from "./api.js";
import { el, fill } from "./dom.js";
import { say } from "./words.js";

/** @param {HTMLElement} main @param {URLSearchParams} query */
export async function show(main, query) {
  const id = query.get("id") ?? "";
  const chosen = query.get("chunk");
  const found = await get(`/v1/documents/${encodeURIComponent(id)}`);
  let heading = "";
  const passages = found.chunks.flatMap((chunk) => {
    const above = (chunk.headingPath ?? []).join(" › ");
    const parts = [];
    if (above && above !== heading) { heading = above; parts.push(el("h2", {}, above)); }
    parts.push(el("div", { class: chunk.id === chosen ? "passage here" : "passage", id: chunk.id, lang: chunk.language, tabindex: chunk.id === chosen ? -1 : null }, chunk.text));
    return parts;
  });
  fill(main, el("p", {}, el("a", { href: "#", onclick: (event) => { event.preventDefault(); history.back(); } }, `← ${say("back")}`)),
    el("h1", {}, found.title || found.path),
    el("p", { class: "quiet" }, [found.path, ...(found.tags ?? []), `${found.chunks.length} ${say("passages")}`].join(" · ")),
    el("article", {}, ...passages));
  const here = chosen && document.getElementById(chosen);
  if (here) { here.scrollIntoView({ block: "center" }); here.focus({ preventScroll: true }); }
}
