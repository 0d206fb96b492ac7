// Chromium, and what is wrong with a page that it shows.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { chromium } from "playwright-core";

const PROGRAMS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** A folder with the files of the page, to try a change without a build. */
const PAGE = process.env.PAGE;
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Starts the browser. */
export function launch() {
  const executablePath = process.env.CHROMIUM ?? PROGRAMS.find((program) => existsSync(program));
  if (!executablePath) throw new Error(`there is none of ${PROGRAMS.join(", ")}; install chromium-headless-shell, or name one in CHROMIUM`);
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
}

/**
 * A page in a new context, and what went wrong there: errors of the console, requests elsewhere.
 * @param {import("playwright-core").Browser} browser @param {{origin: string, token?: string}} server
 * @param {import("playwright-core").BrowserContextOptions} options
 */
export async function open(browser, { origin, token }, options) {
  const context = await browser.newContext({ ...options, baseURL: `${origin}/` });
  context.setDefaultTimeout(20_000);
  /** @type {string[]} */
  const wrong = [];
  context.on("request", (request) => { if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith("data:")) wrong.push(`asked ${request.url()}`); });
  if (PAGE) await context.route(`${origin}/page/*`, (route) => route.fulfill({ path: join(PAGE, basename(new URL(route.request().url()).pathname)) }));
  const page = await context.newPage();
  page.on("console", (message) => { if (message.type() === "error") wrong.push(`console: ${message.text()}`); });
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  await page.goto(token ? `${origin}/#token=${token}` : `${origin}/`);
  await page.waitForSelector("main h1");
  return { context, page, wrong };
}

/** What axe-core finds. @param {import("playwright-core").Page} page @returns {Promise<string[]>} */
export async function violations(page) {
  // Through the debugging protocol: the policy of the page would not let it in as a script.
  await page.evaluate(AXE);
  const found = await page.evaluate((rules) => window.axe.run(document, { runOnly: rules, resultTypes: ["violations"] }), RULES);
  return found.violations.map((one) => `axe ${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => `${node.target.join(" ")} ${node.any[0]?.message ?? ""}`).join("; ")}`);
}

/** What does not fit where it stands. @param {import("playwright-core").Page} page @returns {Promise<string[]>} */
export function clipped(page) {
  return page.evaluate(() => {
    const wrong = [];
    const wide = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > wide) wrong.push(`the page is ${document.documentElement.scrollWidth} px wide, the window ${wide}`);
    const pen = document.createElement("canvas").getContext("2d");
    for (const element of document.body.querySelectorAll("*")) {
      const name = `<${element.tagName.toLowerCase()} class="${element.getAttribute("class") ?? ""}"> ${element.textContent.trim().slice(0, 30)}`;
      if (element.closest(".unseen, .skip, svg, [hidden], noscript") || !element.checkVisibility()) continue;
      const box = element.getBoundingClientRect();
      const style = getComputedStyle(element);
      // What scrolls by itself may be wider than it is shown.
      const scrolls = element.parentElement.closest(".scroll, pre, select");
      if (!scrolls && box.width > 0 && (box.right > wide + 1 || box.left < -1)) wrong.push(`${name} reaches from ${box.left} to ${box.right}`);
      const cuts = ["hidden", "clip"].includes(style.overflowX) || ["BUTTON", "SELECT"].includes(element.tagName);
      if (cuts && element.scrollWidth > element.clientWidth + 1) wrong.push(`${name} is cut: ${element.scrollWidth} > ${element.clientWidth}`);
      if (element instanceof HTMLInputElement && element.placeholder) {
        pen.font = style.font;
        const room = element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
        const needed = pen.measureText(element.placeholder).width;
        if (needed > room + 1) wrong.push(`the placeholder “${element.placeholder}” needs ${needed} px of ${room}`);
      }
    }
    return wrong.slice(0, 5);
  });
}
