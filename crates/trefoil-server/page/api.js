// The server, asked with the token that this tab has.

const KEY = "trefoil.token";

/** What the server says went wrong. */
export class Problem extends Error {
  /** @param {any} body */
  constructor(body) {
    super(body.detail || body.title || "?");
    this.status = body.status;
    this.code = body.code;
  }
}

/** A token that stands in the address is kept for this tab, and leaves the address. */
export function takeToken() {
  const found = /[#&]token=([^&]+)/.exec(location.hash);
  if (!found) return;
  sessionStorage.setItem(KEY, decodeURIComponent(found[1]));
  history.replaceState(null, "", "#/search");
}

/** @param {string} token */
export const keepToken = (token) => sessionStorage.setItem(KEY, token.trim());

const INDEX = "trefoil.index";
let index = "";
/** @param {string} name the index that is asked, also after a reload */
export const choose = (name) => { index = name; sessionStorage.setItem(INDEX, name); };
export const chosen = () => sessionStorage.getItem(INDEX) ?? "";

// Routes that are about the server, not about an index.
const OF_SERVER = /^\/v1\/(indexes|reload|jobs\/)/;

/** @param {string} path @param {Record<string, any>} [query] @param {boolean} [isList] */
function address(path, query = {}, isList = false) {
  const all = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== "" && value != null) all.set(key, value);
  if (index && path.startsWith("/v1/") && !OF_SERVER.test(path) && !isList) all.set("index", index);
  return all.size ? `${path}?${all}` : path;
}

/**
 * @param {string} method @param {string} path
 * @param {{query?: Record<string, any>, body?: any, accept?: string, signal?: AbortSignal}} [options]
 */
async function send(method, path, { query, body, accept = "application/json", signal } = {}) {
  const token = sessionStorage.getItem(KEY);
  const headers = { Accept: accept };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(address(path, query, method === "GET" && path === "/v1/jobs"), {
    method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store",
  });
  if (!response.ok) {
    let said = { status: response.status, title: response.statusText };
    try { said = await response.json(); } catch { /* it said nothing more */ }
    throw new Problem(said);
  }
  return response;
}

export const get = async (path, query, signal) => (await send("GET", path, { query, signal })).json();
export const post = async (path, body, options = {}) => (await send("POST", path, { body, ...options })).json();
export const remove = async (path) => (await send("DELETE", path)).json();
export const text = async (path, query, accept) => (await send("GET", path, { query, accept })).text();

/**
 * Events of a request as they come.
 * @param {string} method @param {string} path @param {any} body
 * @param {(name: string, data: any) => void} tell @param {AbortSignal} [signal]
 */
export async function events(method, path, body, tell, signal) {
  const response = await send(method, path, { body, accept: "text/event-stream", signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      let name = "message";
      const data = [];
      for (const line of block.split(/\r?\n/)) {
        if (line.startsWith("event:")) name = line.slice(6).trim();
        if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
      }
      if (data.length) tell(name, JSON.parse(data.join("\n")));
    }
  }
}

/** A drawing as a document: no text becomes markup here. @returns {Promise<SVGElement>} */
export function drawing(path, query) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", address(path, query));
    request.setRequestHeader("Accept", "image/svg+xml");
    const token = sessionStorage.getItem(KEY);
    if (token) request.setRequestHeader("Authorization", `Bearer ${token}`);
    request.onload = () => {
      const root = request.status === 200 && request.responseXML?.documentElement;
      if (root) resolve(/** @type {any} */ (document.importNode(root, true)));
      else reject(new Problem({ status: request.status, title: request.statusText }));
    };
    request.onerror = () => reject(new Problem({ title: "no answer" }));
    request.send();
  });
}
