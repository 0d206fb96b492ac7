// What people do with the page: by keyboard alone, with an input method, back and forward, and
// over documents that would like to be more than text.

import { clipped, open, violations } from "./browser.mjs";
import { openAll } from "./screens.mjs";

/** @typedef {import("playwright-core").Page} Page */

const check = (/** @type {boolean} */ holds, /** @type {string} */ what) => { if (!holds) throw new Error(what); };

/** What has the focus, and whether one sees that. @param {Page} page */
const focused = (page) => page.evaluate(() => {
  const one = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  return { name: one.tagName, text: (one.textContent ?? "").trim(), type: one.getAttribute("type"), href: one.getAttribute("href") ?? "", isSeen: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 };
});

/** Presses Tab until something has the focus; each stop on the way has to be seen. @param {Page} page @param {(at: {name: string, text: string, type: string | null, href: string}) => boolean} wanted */
async function tabTo(page, wanted) {
  const seen = [];
  for (let step = 0; step < 80; step++) {
    await page.keyboard.press("Tab");
    const at = await focused(page);
    check(at.isSeen || at.name === "BODY", `the focus is not seen on ${at.name} “${at.text.slice(0, 30)}”`);
    seen.push(`${at.name} ${at.text.slice(0, 12)}`);
    if (wanted(at)) return;
  }
  throw new Error(`Tab does not lead there; it leads to ${seen.join(", ")}`);
}

const isInput = (/** @type {string} */ type) => (/** @type {any} */ at) => at.name === "INPUT" && at.type === type;
const isNamed = (/** @type {string} */ name, /** @type {string} */ text) => (/** @type {any} */ at) => at.name === name && at.text === text;
const said = (/** @type {Page} */ page, /** @type {string} */ text) => page.waitForFunction((text) => document.querySelector("main").textContent.includes(text), text);
const results = (/** @type {Page} */ page) => page.waitForSelector("ol.results:not(.provisional) li");
const titles = (/** @type {Page} */ page) => page.locator("ol.results li h3").allTextContents();

/** @type {Record<string, (page: Page, server: any) => Promise<unknown>>} */
const KEYBOARD = {
  "skip to the content": async (page) => {
    // A screen that puts the focus nowhere, from its beginning.
    await page.goto("#/graph");
    await page.reload();
    await page.waitForSelector(".drawing svg");
    await page.keyboard.press("Tab");
    check((await focused(page)).text === "Skip to the content", "the first stop does not skip to the content");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    check(await page.evaluate(() => !!document.activeElement.closest("main")), "the skip leads elsewhere");
  },
  "ask, open a document and come back": async (page) => {
    await tabTo(page, isInput("search"));
    await page.keyboard.type("how do barn owls hunt?");
    await page.keyboard.press("Enter");
    await results(page);
    const before = await titles(page);
    await tabTo(page, (at) => at.href.startsWith("#/document"));
    await page.keyboard.press("Enter");
    await page.waitForSelector(".passage.here");
    await page.evaluate(() => scrollTo(0, 0));
    await tabTo(page, isNamed("A", "← Back"));
    await page.keyboard.press("Enter");
    await results(page);
    check((await titles(page)).join() === before.join(), "the results are others than before");
  },
  "say why a result is where it is": async (page) => {
    await page.goto("#/search?q=tides");
    await results(page);
    await tabTo(page, isNamed("SUMMARY", "Why here?"));
    await page.keyboard.press("Enter");
    await page.waitForSelector("li details[open] table");
  },
  "filter": async (page) => {
    await page.goto("#/search?q=owl");
    await results(page);
    await tabTo(page, (at) => at.name === "BUTTON" && at.text === "nature");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".facets button[aria-pressed=true]");
    check(page.url().includes("tag=nature"), "the filter is not in the address");
  },
  "move in the graph and go on to a name": async (page) => {
    await page.goto("#/graph");
    await page.waitForSelector(".drawing svg");
    const view = () => page.locator(".drawing svg").getAttribute("viewBox");
    await tabTo(page, (at) => at.name === "DIV" && at.text !== "");
    for (const key of ["ArrowRight", "ArrowDown", "+", "-"]) {
      const before = await view();
      await page.keyboard.press(key);
      check(before !== await view(), `${key} does nothing in the drawing`);
    }
    await tabTo(page, (at) => at.name === "A" && at.text !== "");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("around="));
  },
  "recall and give feedback": async (page) => {
    await page.goto("#/memory");
    await tabTo(page, isInput("search"));
    await page.keyboard.type("What tea does Mika like?");
    await page.keyboard.press("Enter");
    await page.waitForSelector("ol.results li");
    await tabTo(page, isNamed("BUTTON", "Helpful"));
    await page.keyboard.press("Enter");
    await said(page, "Stored.");
  },
  "forget, with a typed confirmation": async (page, server) => {
    const subject = "Quartz Heron";
    await server.ask("/v1/memory/observe?index=fixtures", { content: `${subject}: I live in Lund.` });
    await page.goto("#/memory");
    await tabTo(page, isNamed("SUMMARY", "Forget"));
    await page.keyboard.press("Enter");
    await tabTo(page, isInput("text"));
    await page.keyboard.type(subject);
    const button = page.locator("details form button");
    await tabTo(page, isInput("text"));
    await page.keyboard.type("Quartz");
    check(await button.isDisabled(), "it may be forgotten before it is typed twice");
    await page.keyboard.type(" Heron");
    await tabTo(page, isNamed("BUTTON", "Forget"));
    await page.keyboard.press("Enter");
    await said(page, "Receipt");
  },
  "compare": async (page) => {
    await page.goto("#/compare");
    await tabTo(page, isInput("search"));
    await page.keyboard.type("tides");
    await tabTo(page, (at) => at.name === "SELECT" && at.text.startsWith("hybrid"));
    await page.keyboard.press("ArrowDown");
    await tabTo(page, isInput("checkbox"));
    await page.keyboard.press("Space");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".halves ol li a");
    check(page.url().includes("a=keyword"), "the setting is not in the address");
  },
  "begin a job": async (page) => {
    await page.goto("#/admin");
    await page.waitForSelector("main form");
    await tabTo(page, (at) => at.name === "SELECT" && at.text.startsWith("ingest"));
    await page.keyboard.type("verify");
    await tabTo(page, isNamed("BUTTON", "Begin"));
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => [...document.querySelectorAll("main tbody tr")].some((row) => row.textContent.startsWith("verify") && row.textContent.includes("done")));
  },
  "speak another language and change the light": async (page) => {
    await tabTo(page, (at) => at.name === "SELECT" && at.text.includes("English"));
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.documentElement.lang === "ja");
    const before = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    check(before !== await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor), "the light does not change");
    await page.reload();
    await page.waitForSelector("main h1");
    check(await page.evaluate(() => document.documentElement.lang === "ja" && document.documentElement.dataset.theme === "dark"), "the choices are not kept");
  },
  "ask another index": async (page) => {
    await page.goto("#/search?q=walrus");
    await tabTo(page, (at) => at.name === "SELECT" && at.text.includes("hostile"));
    await page.keyboard.press("ArrowDown");
    await results(page);
    await page.reload();
    await results(page);
    check(await page.locator("#index").inputValue() === "hostile", "the index is not kept");
  },
};

/** Nothing is asked while an input method composes, and once when it has. @param {Page} page */
async function composes(page) {
  await page.goto("#/search");
  await page.locator("form.ask input").focus();
  let asked = 0;
  page.on("request", (request) => { if (request.url().includes("/v1/search")) asked++; });
  const ime = await page.context().newCDPSession(page);
  for (const text of ["し", "しお", "しおの", "潮の"]) {
    await ime.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length });
    await page.waitForTimeout(400);
  }
  check(asked === 0, `${asked} questions were asked during the composition`);
  await ime.send("Input.insertText", { text: "潮の満ち引き" });
  await results(page);
  await page.waitForTimeout(800);
  check(asked === 1, `${asked} questions were asked after the composition`);
}

/** @param {Page} page */
async function goesBack(page) {
  await page.goto("#/search?q=tides");
  await results(page);
  const first = await titles(page);
  const input = page.locator("form.ask input");
  await input.fill("barn owls");
  await input.press("Enter");
  await page.waitForFunction((before) => document.querySelector("ol.results:not(.provisional) li h3")?.textContent !== before, first[0]);
  await results(page);
  const second = await titles(page);
  await page.locator("ol.results li h3 a[href^='#/document']").last().click();
  await page.waitForSelector(".passage.here");
  for (const [way, question, expected] of /** @type {const} */ ([["goBack", "barn owls", second], ["goBack", "tides", first], ["goForward", "barn owls", second]])) {
    await page[way]();
    await page.waitForFunction((question) => /** @type {HTMLInputElement | null} */ (document.querySelector("form.ask input"))?.value === question, question);
    await results(page);
    await page.waitForFunction((count) => document.querySelectorAll("ol.results:not(.provisional) li").length === count, expected.length);
    check((await titles(page)).join() === expected.join(), `${way} does not restore the results of “${question}”`);
  }
}

/** Documents of markup, odd directions and endless words stay text. @param {Page} page */
async function holdsStill(page) {
  await page.locator("#index").selectOption("hostile");
  const wrong = [];
  const look = async (/** @type {string} */ where) => {
    await page.waitForLoadState("networkidle");
    for (const one of [...await clipped(page), ...await violations(page)]) wrong.push(`${where}: ${one}`);
    if (await page.evaluate(() => "hacked" in window || document.querySelector("main iframe, main img, main script"))) wrong.push(`${where}: text became markup`);
  };
  await page.goto("#/search?q=walrus");
  await results(page);
  await openAll(page);
  await look("search");
  const documents = await page.locator("ol.results li h3 a[href^='#/document']").evaluateAll((links) => [...new Set(links.map((link) => link.getAttribute("href").replace(/&chunk=.*/, "")))]);
  check(documents.length >= 5, `only ${documents.length} of the documents were found`);
  for (const document of documents) {
    await page.goto(document);
    await page.waitForSelector(".passage");
    await look(`document ${await page.locator("h1").first().textContent()}`.slice(0, 60));
  }
  await page.goto("#/graph");
  await page.waitForSelector(".drawing svg, main [role=alert]");
  await look("graph");
  await page.goto("#/compare?q=walrus");
  await page.waitForSelector(".halves ol li a");
  await look("compare");
  check(wrong.length === 0, wrong.join("\n    "));
}

/** @param {import("playwright-core").Browser} browser @param {any} server @param {(what: string, wrong: string[]) => void} tell */
export async function tasks(browser, server, tell) {
  /** @type {[string, (page: Page, server: any) => Promise<unknown>, number][]} */
  const all = Object.entries(KEYBOARD).map(([name, task]) => [`keyboard: ${name}`, task, 1280]);
  all.push(["input method", composes, 1280], ["back and forward", goesBack, 1280], ["hostile documents, wide", holdsStill, 1280], ["hostile documents, narrow", holdsStill, 320]);
  for (const [name, task, width] of all) {
    const { context, page, wrong } = await open(browser, server, { locale: "en-GB", colorScheme: "light", viewport: { width, height: 800 } });
    try {
      await task(page, server);
      tell(name, wrong);
    } catch (error) {
      tell(name, [...wrong, error.message]);
    }
    await context.close();
  }
}
