// The graph: a drawing that the server made, and the same as a table.

import { drawing, get } from "./api.js";
import { el, fill, marked, table, two } from "./dom.js";
import { say } from "./words.js";

/** @param {HTMLElement} main @param {URLSearchParams} query @param {(to: string) => void} go */
export async function show(main, query, go) {
  const around = query.get("around") ?? "";
  const input = el("input", { type: "text", value: around, "aria-label": say("around"), placeholder: say("around") });
  const form = el("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); go(`#/graph?around=${encodeURIComponent(input.value.trim())}`); } },
    input, el("button", { class: "main" }, say("draw")));
  const body = el("div", {}, say("loading"));
  fill(main, el("h1", {}, say("graph")), form, body);
  // On a small screen fewer names can be read.
  const ask = { around, limit: innerWidth < 736 ? 15 : 40 };
  const [svg, part, communities] = await Promise.all([
    drawing("/v1/graph/subgraph", ask), get("/v1/graph/subgraph", ask), around ? null : get("/v1/graph/communities"),
  ]);
  const names = part.nodes.map((node) => node.entity.name);
  const link = (name) => el("a", { href: `#/graph?around=${encodeURIComponent(name)}` }, name);
  fill(body, el("div", { class: "drawn" }, el("div", {}, frame(svg, names, go), el("p", { class: "quiet" }, say("drawingHelp"))),
    table([say("name"), say("type"), say("importance"), say("related")], part.nodes.map((node, place) => [
      link(node.entity.name), node.entity.entityType.toLowerCase(), two(node.importance),
      el("span", {}, ...part.edges.filter((edge) => edge.source === place || edge.target === place).slice(0, 8)
        .flatMap((edge, at) => [at ? ", " : "", link(names[edge.source === place ? edge.target : edge.source])])),
    ]), say("entities"), false)),
    communities ? el("section", { class: "cards" }, el("h2", {}, say("communities")), ...communities.communities.slice(0, 12).map((one) =>
      el("div", { class: "hit" }, el("h3", {}, one.name), el("p", {}, ...marked(one.summary, [], { path: ".md" })), el("p", { class: "where" }, one.keywords.join(", "))))) : null);
}

// Moves and zooms by the part of the drawing that is shown.
function frame(svg, names, go) {
  const whole = svg.viewBox.baseVal;
  const view = { x: whole.x, y: whole.y, w: whole.width, h: whole.height };
  const apply = () => svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
  const zoom = (by) => { view.x += (view.w * (1 - by)) / 2; view.y += (view.h * (1 - by)) / 2; view.w *= by; view.h *= by; apply(); };
  const move = (x, y) => { view.x += x * view.w; view.y += y * view.h; apply(); };
  const keys = { ArrowLeft: () => move(-.1, 0), ArrowRight: () => move(.1, 0), ArrowUp: () => move(0, -.1), ArrowDown: () => move(0, .1), "+": () => zoom(.8), "=": () => zoom(.8), "-": () => zoom(1.25) };
  const box = el("div", { class: "drawing", tabindex: 0, role: "group", "aria-label": `${say("graph")}. ${say("drawingHelp")}`,
    onkeydown: (event) => { const act = keys[event.key]; if (act) { event.preventDefault(); act(); } },
    onwheel: (event) => { if (event.ctrlKey || event.metaKey) { event.preventDefault(); zoom(event.deltaY < 0 ? .9 : 1.1); } } });
  let from = null;
  let moved = 0;
  box.addEventListener("pointerdown", (event) => { from = { x: event.clientX, y: event.clientY }; moved = 0; });
  box.addEventListener("pointermove", (event) => {
    if (!from) return;
    moved += Math.hypot(from.x - event.clientX, from.y - event.clientY);
    move((from.x - event.clientX) / box.clientWidth, (from.y - event.clientY) / box.clientHeight);
    from = { x: event.clientX, y: event.clientY };
  });
  for (const end of ["pointerup", "pointerleave", "pointercancel"]) box.addEventListener(end, () => { from = null; });
  svg.addEventListener("click", (event) => {
    const name = event.target.closest("g")?.querySelector("title").textContent;
    if (moved < 5 && names.includes(name)) go(`#/graph?around=${encodeURIComponent(name)}`);
  });
  box.append(svg);
  const button = (sign, name, by) => el("button", { type: "button", "aria-label": say(name), onclick: () => zoom(by) }, sign);
  return el("div", { class: "zoomed" }, box, el("div", { class: "zoom" }, button("+", "nearer", .8), button("−", "farther", 1.25)));
}
