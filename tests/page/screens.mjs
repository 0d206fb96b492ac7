// Every screen in every state that one can come to, looked at in each look.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { clipped, open, violations } from "./browser.mjs";

const QUESTIONS = { en: "how do barn owls hunt?", ja: "潮の満ち引き", ko: "서울의 봄" };
const LANGUAGES = { en: "en-GB", ja: "ja-JP", ko: "ko-KR" };
const SHOTS = process.env.SHOTS;

/** @typedef {import("playwright-core").Page} Page */

const settled = async (/** @type {Page} */ page) => {
  await page.waitForLoadState("networkidle");
  await page.waitForFunction(() => !document.querySelector(".provisional"));
};
export const openAll = async (/** @type {Page} */ page) => {
  const closed = page.locator("main details:not([open]) > summary");
  while (await closed.count()) await closed.first().click();
  await settled(page);
};

/** @type {Record<string, (page: Page, language: keyof typeof QUESTIONS) => Promise<unknown>>} */
const STATES = {
  "search empty": async (page) => { await page.goto("#/search"); await page.waitForSelector("form.ask"); },
  "search found": async (page, language) => {
    await page.goto(`#/search?q=${encodeURIComponent(QUESTIONS[language])}`);
    await page.waitForSelector("ol.results:not(.provisional) li");
  },
  "search with every reason": async (page) => {
    await openAll(page);
    await page.locator("main details form input").fill("corpus/en/tides.md");
    await page.locator("main details form button").click();
    await page.waitForFunction(() => document.querySelector("main details form + p")?.textContent);
  },
  "search with filters": async (page) => {
    await page.locator(".facets button").first().click();
    await page.waitForSelector(".facets button[aria-pressed=true]");
  },
  "search without results": async (page) => {
    await page.goto("#/search?q=zzyzx&lang=ko");
    await page.waitForFunction(() => document.querySelector(".said")?.textContent && !document.querySelector("ol.results li"));
  },
  document: async (page, language) => {
    await page.goto(`#/search?q=${encodeURIComponent(QUESTIONS[language])}`);
    await page.locator("ol.results:not(.provisional) li h3 a[href^='#/document']").first().click();
    await page.waitForSelector(".passage.here");
  },
  "document that is not there": async (page) => { await page.goto("#/document?id=fil_0"); await page.waitForSelector("main [role=alert]"); },
  graph: async (page) => { await page.goto("#/graph"); await page.waitForSelector(".drawing svg"); },
  "graph around a name": async (page) => {
    await page.locator("main tbody a").first().click();
    await page.waitForFunction(() => location.hash.includes("around=") && document.querySelector(".drawing svg"));
  },
  "memory empty": async (page) => { await page.goto("#/memory"); await page.waitForSelector("form.ask"); },
  "memory recalled": async (page) => {
    await page.goto("#/memory?q=Where%20does%20Mika%20live%3F");
    await page.waitForSelector("ol.results li");
    await openAll(page);
  },
  "compare empty": async (page) => { await page.goto("#/compare"); await page.waitForSelector("fieldset"); },
  compare: async (page, language) => {
    await page.goto(`#/compare?q=${encodeURIComponent(QUESTIONS[language])}`);
    await page.waitForSelector(".halves ol li a");
  },
  admin: async (page) => { await page.goto("#/admin"); await page.waitForSelector("main form"); },
  "admin after a job": async (page) => {
    await page.locator("main form select").selectOption("doctor");
    await page.locator("main form button").click();
    await page.waitForFunction(() => [...document.querySelectorAll("main tbody tr")].some((row) => row.textContent.includes("doctor") && row.textContent.includes("done")));
    await openAll(page);
  },
};

/**
 * @param {import("playwright-core").Browser} browser @param {{origin: string, token: string}} server
 * @param {boolean} isSmall whether only some combinations are looked at, in which every look is
 * @param {(what: string, wrong: string[]) => void} tell
 */
export async function screens(browser, server, isSmall, tell) {
  const looks = [];
  for (const [at, colorScheme] of ["light", "dark"].entries())
    for (const [language, locale] of Object.entries(LANGUAGES))
      for (const [nth, width] of [320, 1280].entries())
        if (!isSmall || (at + nth + Object.keys(LANGUAGES).indexOf(language)) % 3 === 0) looks.push({ colorScheme, language, locale, width });
  for (const { colorScheme, language, locale, width } of looks) {
    const look = `${colorScheme}, ${language}, ${width} px`;
    const options = /** @type {any} */ ({ colorScheme, locale, viewport: { width, height: 800 } });
    const without = await open(browser, { origin: server.origin }, options);
    await without.page.waitForSelector("input[type=password]");
    // The browser tells of the answer 401, which is what this state is.
    const refused = without.wrong.filter((one) => !one.includes("401"));
    tell(`token: ${look}`, [...refused, ...await violations(without.page), ...await clipped(without.page)]);
    await shot(without.page, `token ${look}`);
    await without.context.close();
    const { context, page, wrong } = await open(browser, server, options);
    for (const [state, enter] of Object.entries(STATES)) {
      wrong.length = 0;
      try {
        await enter(page, /** @type {any} */ (language));
        await settled(page);
        // What the browser tells of an answer 404 is what that state is.
        const told = wrong.filter((one) => state !== "document that is not there" || !one.includes("404"));
        tell(`${state}: ${look}`, [...told, ...await violations(page), ...await clipped(page)]);
      } catch (error) {
        tell(`${state}: ${look}`, [...wrong, `not reached: ${error.message.split("\n")[0]}`]);
      }
      await shot(page, `${state} ${look}`);
    }
    await context.close();
  }
}

/** Keeps a picture where SHOTS names a folder. @param {Page} page @param {string} name */
async function shot(page, name) {
  if (!SHOTS) return;
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name.replace(/[^a-z0-9]+/gi, "-")}.png`), fullPage: true });
}
