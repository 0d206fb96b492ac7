// Elements from data. Text enters as text only.

/** @param {(Node | string | null | undefined | false)[]} children */
const real = (children) => /** @type {(Node | string)[]} */ (children.filter((child) => child != null && child !== false));

/**
 * @param {string} name
 * @param {Record<string, any>} [attributes] `on…` are listeners, `class` and the like attributes
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {any}
 */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key.startsWith("aria-") && value != null) element.setAttribute(key, String(value));
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, String(value));
  }
  element.append(...real(children));
  return element;
}

/** @param {Element} parent @param {...(Node | string | null | undefined | false)} children */
export function fill(parent, ...children) {
  parent.replaceChildren(...real(children));
}

// What signs of Markdown mean: what stands before, what they are about, what stands after.
/** @type {[RegExp, string][]} */
const SIGNS = [
  [/^(#{1,6} +)(.*)()$/gm, "strong"], [/(\*\*|__)(\S.*?)(\1)/g, "strong"], [/(`+)([^`\n]+)(\1)/g, "code"],
  [/(?<![\w*])(\*)([^\s*](?:[^*\n]*[^\s*])?)(\*)(?![\w*])/g, "em"], [/(!?\[)([^[\]\n]+)(\]\([^()\s]*\))/g, "span"], [/(?<=^ *)()([-*+] +)()/gm, "bullet"],
];
const INNER_FIRST = ["code", "em", "strong", "mark"];

/**
 * A text with parts of it marked. Signs of Markdown are followed, not shown, and a heading that
 * stands above the text already is left out.
 * @param {string} text @param {{start: number, end: number}[]} offsets bytes of its UTF-8 form
 * @param {{path?: string, headings?: string[]}} [from] where the text is from
 * @returns {(Node | string)[]}
 */
export function marked(text, offsets, { path = "", headings = [] } = {}) {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const place = (offset) => decoder.decode(bytes.subarray(0, offset)).length;
  const spans = offsets.map(({ start, end }) => ({ from: place(start), to: place(end), name: "mark" }));
  if (/\.(md|markdown)$/i.test(path)) {
    // A part of a text may begin within its heading.
    const first = /^(?:#{1,6} +(.+)\n|(.+)\n\n)\s*(?=\S)/.exec(text);
    if (first && headings.some((heading) => heading?.endsWith((first[1] ?? first[2]).trim()))) spans.push({ from: 0, to: first[0].length, name: "hidden" });
    for (const [sign, name] of SIGNS)
      for (const { index, 0: all, 1: before, 2: about } of text.matchAll(sign)) {
        const [from, to] = [index + before.length, index + before.length + about.length];
        spans.push({ from: index, to: from, name: "hidden" }, { from, to, name }, { from: to, to: index + all.length, name: "hidden" });
      }
  }
  const edges = [...new Set([0, text.length, ...spans.flatMap(({ from, to }) => [from, to])])].sort((a, b) => a - b);
  return edges.slice(1).flatMap((to, at) => {
    const from = edges[at];
    const names = spans.filter((span) => span.from <= from && to <= span.to).map((span) => span.name);
    if (names.includes("hidden")) return [];
    const part = names.includes("bullet") ? "• " : text.slice(from, to);
    return INNER_FIRST.filter((name) => names.includes(name)).reduce((inner, name) => el(name, {}, inner), /** @type {Node | string} */ (part));
  });
}

/** @param {number} value */
export const two = (value) => (value ?? 0).toFixed(2).replace(/^0/, "");

/** @param {string[]} heads @param {(Node | string)[][]} rows @param {string} caption @param {boolean} [isTall] whether all rows are shown, instead of some and a bar to scroll */
export function table(heads, rows, caption, isTall = true) {
  const isNumber = (cell) => typeof cell === "string" && /^[\d.,–+-]+( ms| %)?$/.test(cell);
  return el("div", { class: isTall ? "scroll" : "scroll low", tabindex: 0, role: "group", "aria-label": caption },
    el("table", {},
      el("caption", { class: "quiet" }, caption),
      heads.length ? el("thead", {}, el("tr", {}, ...heads.map((head, at) => el("th", { scope: "col", class: rows.length && isNumber(rows[0][at]) ? "number" : null }, head)))) : null,
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) =>
        el("td", { class: isNumber(cell) ? "number" : null }, cell)))))));
}

/** What a program answered, to read: a list of things is a table, a thing its fields. @param {any} value @param {string} caption @returns {Node} */
export function fields(value, caption) {
  const cell = (one) => {
    if (one === null || one === undefined) return "–";
    if (Array.isArray(one)) return one.map(cell).join(", ") || "–";
    if (typeof one === "object") return Object.entries(one).map(([name, field]) => `${name}: ${cell(field)}`).join(", ") || "–";
    return typeof one === "number" ? one.toLocaleString() : String(one);
  };
  if (Array.isArray(value) && value.length && value.every((one) => one && typeof one === "object")) {
    const heads = [...new Set(value.flatMap((one) => Object.keys(one)))];
    return table(heads, value.map((one) => heads.map((head) => cell(one[head]))), caption);
  }
  if (value && typeof value === "object" && !Array.isArray(value)) return table([], Object.entries(value).map(([name, one]) => [name, cell(one)]), caption);
  return el("p", {}, cell(value));
}
