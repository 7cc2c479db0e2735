// Two hundred nodes, a key, and texts that look like HTML.
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterEach, beforeAll, afterAll, describe, expect, it } from "vitest";
import { launch, openPage } from "./browser";
import { startServer, type Server } from "./server";

const KEY = "3f9c0e7b6d5a4c1e8b2f";

let browser: Browser;
let server: Server | null = null;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

afterEach(async () => {
  await server?.stop();
  server = null;
});

function largeFlow(count: number): string {
  const lines = ['version: "1.0"', "metadata: {name: large}", "context: {requires: [q]}", "nodes:"];
  for (let index = 0; index < count; index += 1) {
    lines.push(`  n${index}:`, "    type: transform", "    inputs: [{name: a, type: string}]");
    lines.push("    outputs: [{name: b, type: string}]");
    lines.push("    transform:", "      mode: code", "      spec: |");
    lines.push("        def transform(inputs, context, state):", "            return {'b': inputs['a']}");
  }
  lines.push("edges:", "  - {from: _input.q, to: n0.a}");
  for (let index = 1; index < count; index += 1) {
    lines.push(`  - {from: n${Math.floor((index - 1) / 2)}.b, to: n${index}.a}`);
  }
  for (let index = Math.floor(count / 2); index < count; index += 1) {
    lines.push(`  - {from: n${index}.b, to: _output.r${index}}`);
  }
  return `${lines.join("\n")}\n`;
}

/** Counts the changes inside nodes of the canvas. */
async function watchNodes(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const seen = window as unknown as { changes: number };
    seen.changes = 0;
    const observer = new MutationObserver((records) => {
      seen.changes += records.length;
    });
    for (const node of document.querySelectorAll(".react-flow__node .node")) {
      observer.observe(node, { childList: true, subtree: true, attributes: true, characterData: true });
    }
  });
  return () => page.evaluate(() => (window as unknown as { changes: number }).changes);
}

describe("bounds", () => {
  it("two hundred nodes are drawn once and not on every key", async () => {
    server = await startServer({
      example: "support",
      prepare: (project) => project.write("flows/large.yaml", largeFlow(200)),
    });
    const { page, faults } = await openPage(browser, server.address, { width: 1440, height: 900 });
    await page.goto(`${server.address}/#/flow?path=flows/large.yaml`);
    await page.locator(".react-flow__node").nth(201).waitFor();
    await page.getByText("200 nodes").waitFor();
    const changes = await watchNodes(page);
    await page.locator(".yaml-editor .cm-content").click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("# a comment that changes nothing\n");
    await page.getByText("Saved", { exact: true }).waitFor();
    await page.waitForTimeout(600);
    expect(await changes()).toBeLessThan(8);
    expect(faults).toEqual([]);
    await page.close();
  });

  it("on a slim screen the whole flow is in sight, from top to bottom", async () => {
    server = await startServer({ example: "support" });
    const { page, faults } = await openPage(browser, server.address, { width: 360, height: 740 });
    await page.goto(`${server.address}/#/flow?path=flows/support.yaml`);
    await page.locator('.react-flow__node[data-id="_output"]').waitFor();
    const frame = await page.locator(".canvas").boundingBox();
    const boxes = await page.locator(".react-flow__node").evaluateAll((nodes) =>
      nodes.map((node) => {
        const { x, y, width, height } = node.getBoundingClientRect();
        return { id: node.getAttribute("data-id") ?? "", x, y, right: x + width, bottom: y + height };
      }),
    );
    expect(boxes.length).toBe(8);
    if (frame === null) throw new Error("there is no canvas");
    for (const box of boxes) {
      expect(box.x, box.id).toBeGreaterThanOrEqual(frame.x);
      expect(box.right, box.id).toBeLessThanOrEqual(frame.x + frame.width);
      expect(box.bottom, box.id).toBeLessThanOrEqual(frame.y + frame.height);
    }
    const top = (id: string) => boxes.find((box) => box.id === id)?.y ?? NaN;
    expect(top("_input")).toBeLessThan(top("generate_response"));
    expect(top("generate_response")).toBeLessThan(top("_output"));
    // What is written in the file are places from left to right: they stay as they are.
    const before = server.read("flows/support.yaml");
    await page.locator('.react-flow__node[data-id="fetch_customer"]').click();
    await page.keyboard.press("Shift+ArrowDown");
    await page.waitForTimeout(300);
    expect(server.read("flows/support.yaml")).toBe(before);
    expect(faults).toEqual([]);
    await page.close();
  });

  it("the request and the response stay where they are, and say why", async () => {
    server = await startServer({ example: "support" });
    const { page } = await openPage(browser, server.address, { width: 1280, height: 800 });
    await page.goto(`${server.address}/#/flow?path=flows/support.yaml`);
    const request = page.locator('.react-flow__node[data-id="_input"]');
    await request.click();
    await page.locator(".node-panel", { hasText: "Its place is not kept in the file" }).waitFor();
    expect(await request.locator(".node").getAttribute("title")).toContain("not kept in the file");
    const before = server.read("flows/support.yaml");
    await page.keyboard.press("Shift+ArrowDown");
    await page.waitForTimeout(300);
    expect(server.read("flows/support.yaml")).toBe(before);
    await page.close();
  });

  it("a server with keys asks for one, and rejects a wrong one", async () => {
    server = await startServer({
      example: "support",
      prepare: (project) => project.write("keys.txt", `local ${KEY}\n`),
      flags: (folder) => ["--api-keys", join(folder, "keys.txt")],
    });
    const { page } = await openPage(browser, server.address, { width: 1024, height: 768 });
    await page.getByLabel("API key").fill("0123456789abcdef0123");
    await page.keyboard.press("Enter");
    await page.getByText("This key opens nothing here.").waitFor();
    await page.getByLabel("API key").fill(KEY);
    await page.keyboard.press("Enter");
    await page.locator(".file").first().waitFor();
    expect(page.url()).not.toContain(KEY);
    await page.close();
  });

  it("texts that look like HTML stay texts, and the policy forbids what is inline", async () => {
    const markup = "<img src=x onerror=document.title=1>";
    server = await startServer({
      example: "support",
      prepare: (project) => {
        const text = project.read("flows/support.yaml");
        project.write("flows/support.yaml", text.replace(/description: AI agent.*/, `description: '${markup}'`));
      },
    });
    const answer = await fetch(server.address);
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/default-src 'none'/);
    expect(policy).toMatch(/script-src 'self'(;|$)/);
    expect(policy).not.toMatch(/unsafe/);
    const { page, faults } = await openPage(browser, server.address, { width: 1024, height: 768 });
    await page.getByText("onerror").waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    expect(await page.title()).toBe("Stave");
    expect(faults).toEqual([]);
    await page.close();
  });
});
