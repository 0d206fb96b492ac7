// Calls every tool by the TypeScript client: `node calls.mjs TARGET`, where the target is JSON:
// `{command, args}` for a program to start, `{url, token}` for a server, and `policy`.

import { readFileSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const target = JSON.parse(process.argv[2]);
const calls = JSON.parse(readFileSync(new URL("calls.json", import.meta.url), "utf8"));
const client = new Client({ name: "trefoil-tests", version: "1" });
await client.connect(target.url
  ? new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers: { Authorization: `Bearer ${target.token}` } } })
  : new StdioClientTransport({ command: target.command, args: target.args }));

const { tools } = await client.listTools();
const untried = new Set(tools.map((tool) => tool.name));
const answers = { policy: target.policy };
const filled = (value) => (typeof value === "string" && value.startsWith("$") ? value.slice(1).split(".").reduce((at, key) => at[key], answers) : value);
for (const { tool, arguments: given, says } of calls) {
  const result = await client.callTool({ name: tool, arguments: Object.fromEntries(Object.entries(given).map(([key, value]) => [key, filled(value)])) });
  const text = JSON.stringify(result);
  if (result.isError || (says && !text.includes(says))) throw new Error(`${tool}: ${text.slice(0, 400)}`);
  answers[tool] = result.structuredContent;
  untried.delete(tool);
}
if (untried.size) throw new Error(`not called: ${[...untried].join(", ")}`);
await client.listResources();
await client.listPrompts();
await client.close();
console.log(`${calls.length} tools`);
