// Reads tagged values, a line each, and answers their RFC 8785 text, built on JSON.stringify.
const text = (codes) => codes.map((code) => String.fromCodePoint(code)).join("");

const double = (hex) => {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt("0x" + hex));
  return view.getFloat64(0);
};

const canonical = (tagged) => {
  if (tagged === null || typeof tagged === "boolean") return JSON.stringify(tagged);
  const [[tag, content]] = Object.entries(tagged);
  if (tag === "f") return JSON.stringify(double(content));
  // An integer beyond the doubles has no RFC 8785 form; it keeps its digits.
  if (tag === "i") return Number.isFinite(Number(content)) ? JSON.stringify(Number(content)) : content;
  if (tag === "s") return JSON.stringify(text(content));
  if (tag === "a") return "[" + content.map(canonical).join(",") + "]";
  const members = new Map(content.map(([key, value]) => [text(key), canonical(value)]));
  const keys = [...members.keys()].sort();
  return "{" + keys.map((key) => JSON.stringify(key) + ":" + members.get(key)).join(",") + "}";
};

const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", (line) => process.stdout.write(JSON.stringify(canonical(JSON.parse(line))) + "\n"));
