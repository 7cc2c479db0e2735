import { expect, it } from "vitest";
import { parseMarkdown } from "./markdown";

it("reads paragraphs, lists and code", () => {
  expect(parseMarkdown("One `a.b`\ntwo **bold**\n\n- x\n- `y`\n\n```yaml\nop: z\n```\n")).toEqual([
    {
      kind: "paragraph",
      spans: [
        { kind: "text", text: "One " },
        { kind: "code", text: "a.b" },
        { kind: "text", text: " two " },
        { kind: "strong", text: "bold" },
      ],
    },
    { kind: "list", items: [[{ kind: "text", text: "x" }], [{ kind: "code", text: "y" }]] },
    { kind: "code", text: "op: z" },
  ]);
});

it("leaves what looks like HTML as text", () => {
  const html = "<img src=x onerror=alert(1)>";
  expect(parseMarkdown(html)).toEqual([{ kind: "paragraph", spans: [{ kind: "text", text: html }] }]);
});
