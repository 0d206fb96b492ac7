// Checks the page in a browser, against a real server: `node run.mjs [--small]`.

import { launch } from "./browser.mjs";
import { first } from "./first.mjs";
import { screens } from "./screens.mjs";
import { start } from "./server.mjs";
import { tasks } from "./tasks.mjs";

const isSmall = process.argv.includes("--small");
let [passed, failed] = [0, 0];
const tell = (/** @type {string} */ what, /** @type {string[]} */ wrong) => {
  if (wrong.length === 0) { passed++; return; }
  failed++;
  console.log(`FAILED ${what}\n    ${wrong.join("\n    ")}`);
};

const server = await start();
const browser = await launch();
try {
  await first(browser, tell);
  await screens(browser, server, isSmall, tell);
  await tasks(browser, server, tell);
} finally {
  await browser.close();
  await server.stop();
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
