// The small part of Markdown that the checker writes, as elements. Texts only ever become text nodes.

export interface Span {
  kind: "text" | "code" | "strong";
  text: string;
}

export type Piece =
  | { kind: "paragraph"; spans: Span[] }
  | { kind: "list"; items: Span[][] }
  | { kind: "code"; text: string };

export function parseMarkdown(text: string): Piece[] {
  const pieces: Piece[] = [];
  const lines = text.split(/\r?\n/);
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0) pieces.push({ kind: "paragraph", spans: parseSpans(paragraph.join(" ")) });
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (line.startsWith("```")) {
      flush();
      const code: string[] = [];
      for (at += 1; at < lines.length && !(lines[at] ?? "").startsWith("```"); at += 1) code.push(lines[at] ?? "");
      pieces.push({ kind: "code", text: code.join("\n") });
    } else if (/^\s*[-*] /.test(line)) {
      flush();
      const item = parseSpans(line.replace(/^\s*[-*] /, ""));
      const last = pieces.at(-1);
      if (last?.kind === "list" && /^\s*[-*] /.test(lines[at - 1] ?? "")) last.items.push(item);
      else pieces.push({ kind: "list", items: [item] });
    } else if (line.trim() === "") flush();
    else paragraph.push(line.replace(/^#+ /, "").trim());
  }
  flush();
  return pieces;
}

function parseSpans(text: string): Span[] {
  return text
    .split(/(`[^`]+`|\*\*[^*]+\*\*)/)
    .filter((part) => part !== "")
    .map((part): Span => {
      if (part.length > 2 && part.startsWith("`")) return { kind: "code", text: part.slice(1, -1) };
      if (part.length > 4 && part.startsWith("**")) return { kind: "strong", text: part.slice(2, -2) };
      return { kind: "text", text: part };
    });
}

export function renderMarkdown(text: string): HTMLElement {
  const root = document.createElement("div");
  root.className = "cm-help";
  for (const piece of parseMarkdown(text)) {
    if (piece.kind === "code") {
      const code = document.createElement("pre");
      code.textContent = piece.text;
      root.append(code);
    } else if (piece.kind === "paragraph") {
      const paragraph = document.createElement("p");
      paragraph.append(...piece.spans.map(renderSpan));
      root.append(paragraph);
    } else {
      const list = document.createElement("ul");
      for (const item of piece.items) {
        const entry = document.createElement("li");
        entry.append(...item.map(renderSpan));
        list.append(entry);
      }
      root.append(list);
    }
  }
  return root;
}

function renderSpan(span: Span): Node {
  if (span.kind === "text") return document.createTextNode(span.text);
  const element = document.createElement(span.kind);
  element.textContent = span.text;
  return element;
}
