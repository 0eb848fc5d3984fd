// Reads {name: diagram} on standard input and prints {name: complaint} for each that mermaid cannot parse.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// Modules are looked for beside this file otherwise, and they lie in the judges' environment.
const modules = createRequire(join(process.cwd(), "index.js"));
const { JSDOM } = modules("jsdom");
globalThis.window = new JSDOM("").window;
globalThis.document = globalThis.window.document;
const { default: mermaid } = await import(pathToFileURL(modules.resolve("mermaid")));

const complaints = {};
for (const [name, diagram] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  try {
    await mermaid.parse(diagram);
  } catch (error) {
    complaints[name] = String(error.message ?? error);
  }
}
console.log(JSON.stringify(complaints));
