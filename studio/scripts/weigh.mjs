// Prints what a first visit loads, compressed, and fails when it is more than the limit.
//
// The first load is index.html with what it names, the text editor of the flow page, and what those modules import
// statically.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const LIMIT = 500 * 1024;
const dist = join(import.meta.dirname, "..", "dist");

const page = readFileSync(join(dist, "index.html"), "utf8");
const waiting = [...page.matchAll(/(?:src|href)="\/([^"]+)"/g)].map((match) => match[1]);
for (const name of readdirSync(join(dist, "assets"))) {
  if (/^YamlEditor-.*\.js$/.test(name)) waiting.push(`assets/${name}`);
}
const loaded = new Set(["index.html"]);
while (waiting.length > 0) {
  const path = waiting.pop();
  if (loaded.has(path)) continue;
  loaded.add(path);
  if (!path.endsWith(".js")) continue;
  const code = readFileSync(join(dist, path), "utf8");
  for (const match of code.matchAll(/(?:import|from)\s*"\.\/([^"]+)"/g)) waiting.push(`assets/${match[1]}`);
}

let total = 0;
for (const path of [...loaded].sort()) {
  const bytes = gzipSync(readFileSync(join(dist, path)), { level: 9 }).length;
  total += bytes;
  console.log(`${String(bytes).padStart(8)}  ${path}`);
}
console.log(`${String(total).padStart(8)}  first load, compressed (limit ${LIMIT})`);
if (total > LIMIT) {
  console.error("The first load is too heavy: load a view lazily, or drop a dependency.");
  process.exit(1);
}
