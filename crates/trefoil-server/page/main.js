// Which screen is shown, by the part of the address behind `#`.

import * as admin from "./admin.js";
import { choose, chosen, get, keepToken, takeToken } from "./api.js";
import * as compare from "./compare.js";
import * as document_ from "./document.js";
import { el, fill } from "./dom.js";
import * as graph from "./graph.js";
import * as memory from "./memory.js";
import * as search from "./search.js";
import { current, say, speak } from "./words.js";

const SCREENS = { search, graph, memory, compare, admin, document: document_ };
const IN_NAV = ["search", "graph", "memory", "compare", "admin"];
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const nav = document.getElementById("nav");
const indexes = /** @type {HTMLSelectElement} */ (document.getElementById("index"));
const language = /** @type {HTMLSelectElement} */ (document.getElementById("language"));
const theme = document.getElementById("theme");
let leave = () => {};
let shown = 0;

/** Changes the address; the screen stays as it is where it has shown the change itself. */
function go(to, replace = true) {
  if (to === location.hash) return;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
}
function open(to) { location.hash = to; }

const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

/** What stands around a screen. */
function frame(name) {
  fill(nav, ...IN_NAV.map((one) => el("a", { href: `#/${one}`, "aria-current": one === name ? "page" : null }, say(one))));
  for (const one of document.querySelectorAll("[data-word]")) one.textContent = say(/** @type {HTMLElement} */ (one).dataset.word);
  document.title = `${say(name)} – Trefoil`;
  theme.textContent = say(isDark() ? "light" : "dark");
}

async function show() {
  const turn = ++shown;
  leave();
  leave = () => {};
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const name = path in SCREENS ? path : "search";
  // Who has just chosen something around the screen goes on from there.
  const choice = /** @type {HTMLElement | null} */ (document.activeElement?.closest(".choices *"));
  frame(name);
  try {
    const end = await SCREENS[name].show(main, new URLSearchParams(query), name === "graph" ? open : go);
    if (turn === shown) { leave = end ?? (() => {}); choice?.focus(); } else end?.();
  } catch (error) {
    if (turn !== shown) return;
    if (error.status === 401) askForToken(); else fill(main, el("h1", {}, say("failed")), el("p", { role: "alert" }, error.message));
  }
}

function askForToken() {
  frame("token");
  const input = el("input", { type: "password", autocomplete: "off", "aria-label": say("token") });
  fill(main, el("h1", {}, say("token")), el("p", {}, say("tokenHelp")),
    el("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); keepToken(input.value); start(); } }, input, el("button", { class: "main" }, say("enter"))));
  input.focus();
}

async function start() {
  try {
    const { indexes: all } = await get("/v1/indexes");
    fill(indexes, ...all.map((one) => el("option", {}, one.name)));
    const names = all.map((one) => one.name);
    choose(all.length < 2 ? "" : names.includes(chosen()) ? chosen() : names[0]);
    indexes.value = chosen() || names[0];
    indexes.closest("label").hidden = all.length < 2;
  } catch (error) {
    if (error.status === 401) { askForToken(); return; }
  }
  show();
}

takeToken();
speak(current());
language.value = current();
language.addEventListener("change", () => { speak(language.value); show(); });
indexes.addEventListener("change", () => { choose(indexes.value); show(); });
theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  localStorage.setItem("trefoil.theme", document.documentElement.dataset.theme);
  theme.textContent = say(isDark() ? "light" : "dark");
});
const kept = localStorage.getItem("trefoil.theme");
if (kept) document.documentElement.dataset.theme = kept;
addEventListener("hashchange", show);
start();
