// Memory: what is recalled, with its scores; feedback; forgetting, with its receipt.

import { get, post, text } from "./api.js";
import { el, fields, fill, table, two } from "./dom.js";
import { say } from "./words.js";

/** @param {HTMLElement} main @param {URLSearchParams} query @param {(to: string, replace?: boolean) => void} go */
export function show(main, query, go) {
  const input = el("input", { type: "search", "aria-label": say("remembered"), placeholder: say("remembered"), value: query.get("q") ?? "" });
  const said = el("p", { class: "said", role: "status" });
  const list = el("ol", { class: "results" });
  const recall = async () => {
    const q = input.value.trim();
    if (!q) return;
    go(`#/memory?${new URLSearchParams({ q })}`, true);
    said.textContent = say("searching");
    try {
      const found = await post("/v1/memory/recall", { q, topK: 10, includeMeta: true, save: false });
      const claims = found.claims ?? [];
      said.textContent = claims.length ? "" : say("nothing");
      fill(list, ...claims.map((one) => claim(one, (found.evidences ?? []).filter((evidence) => evidence.claimId === one.claim.id))));
    } catch (error) { said.textContent = `${say("failed")}: ${error.message}`; }
  };

  function claim({ claim: about, score, breakdown }, evidences) {
    const told = el("span", { role: "status", class: "quiet" });
    const judge = (signal) => async () => {
      try {
        await post("/v1/memory/feedback", { feedback: [{ claim: about.id, signal }] });
        told.textContent = say("thanks");
      } catch (error) { told.textContent = error.message; }
    };
    const evidence = evidences.map((one) => [one.method, one.observationId ?? "–", one.note ?? ""]);
    return el("li", { class: "hit", "data-id": about.id }, el("p", {}, about.text),
      el("p", { class: "where" }, [about.kind, about.epistemicStatus, about.boundaryClass, two(score)].join(" · ")),
      el("details", {}, el("summary", { class: "quiet" }, say("why")),
        table([say("by"), say("score")], Object.entries(breakdown ?? {}).map(([name, value]) => [name, two(value)]), say("score")),
        evidence.length ? table([say("by"), say("observation"), say("note")], evidence, say("evidence")) : null),
      el("div", { class: "row" }, el("button", { type: "button", onclick: judge("helpful") }, say("helpful")), el("button", { type: "button", onclick: judge("outdated") }, say("wrong")), told));
  }

  const subject = el("input", { type: "text", "aria-label": say("forgetWhat"), placeholder: say("forgetWhat") });
  const again = el("input", { type: "text", "aria-label": say("typeAgain"), placeholder: say("typeAgain"), autocomplete: "off" });
  const receipt = el("div", { role: "status" });
  const button = el("button", { disabled: true }, say("forget"));
  const check = () => { button.disabled = !subject.value.trim() || subject.value !== again.value; };
  subject.addEventListener("input", check);
  again.addEventListener("input", check);
  const forget = el("details", {}, el("summary", {}, say("forget")), el("form", { class: "row", onsubmit: async (event) => {
    event.preventDefault();
    try {
      const told = await post("/v1/memory/forget", { subject: subject.value.trim() });
      fill(receipt, el("h2", {}, say("receipt")), fields(told, say("receipt")));
    } catch (error) { fill(receipt, `${say("failed")}: ${error.message}`); }
  } }, subject, again, button), receipt);
  const policy = el("details", { ontoggle: async (event) => {
    if (!event.target.open) return;
    const shown = event.target.querySelector("pre");
    try { shown.textContent = await text("/v1/memory/policy", {}, "application/yaml"); } catch (error) { shown.textContent = error.message; }
  } }, el("summary", {}, say("policy")), el("pre", {}));
  fill(main, el("h1", {}, say("memory")), el("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); recall(); } }, input, el("button", { class: "main" }, say("recall"))), said, list, forget, policy);
  if (input.value) recall(); else input.focus();
}
