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

/**
 * A text with parts of it marked; `offsets` are bytes of its UTF-8 form.
 * @param {string} text @param {{start: number, end: number}[]} offsets
 */
export function marked(text, offsets) {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const part = (start, end) => decoder.decode(bytes.subarray(start, end));
  const parts = [];
  let at = 0;
  for (const { start, end } of [...offsets].sort((a, b) => a.start - b.start)) {
    if (start < at) continue;
    parts.push(part(at, start), el("mark", {}, part(start, end)));
    at = end;
  }
  parts.push(part(at, bytes.length));
  return parts;
}

/** @param {number} value */
export const two = (value) => (value ?? 0).toFixed(2).replace(/^0/, "");

/** @param {string[]} heads @param {(Node | string)[][]} rows @param {string} caption */
export function table(heads, rows, caption) {
  const isNumber = (cell) => typeof cell === "string" && /^[\d.,–+-]+( ms| %)?$/.test(cell);
  return el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": caption },
    el("table", {},
      el("caption", { class: "quiet" }, caption),
      el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) =>
        el("td", { class: isNumber(cell) ? "number" : null }, cell)))))));
}
