// A newcomer's first ten minutes, from opening the example to finding the line that fails.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { drag, graphRests, handle, launch, openPage, shoot, type Watched } from "./browser";
import { startServer, type Server } from "./server";

const FLOW = "flows/support.yaml";

let server: Server;
let browser: Browser;
let watched: Watched;

beforeAll(async () => {
  server = await startServer({
    example: "support",
    // Two mistakes: an edge leads to a node that is not there, and one that is needed is missing.
    prepare: (project) => {
      const text = project
        .read(FLOW)
        .replace("to: error_handler.error\n", "to: error_handlr.error\n")
        .replace("  - from: fetch_customer.customer_data\n    to: generate_response.customer_data\n\n", "");
      project.write(FLOW, text);
    },
  });
  browser = await launch();
  watched = await openPage(browser, server.address, { width: 1440, height: 900 });
});

afterAll(async () => {
  await browser.close();
  await server.stop();
});

describe("the first ten minutes", () => {
  it("open the example", async () => {
    const { page } = watched;
    await page.getByRole("heading", { name: "Flows" }).waitFor();
    await page.getByRole("link", { name: /customer_service_agent/ }).click();
    await page.locator('.react-flow__node[data-id="generate_response"]').waitFor();
    await page.getByText("dangling-edge").first().waitFor();
    await shoot(page, "story-1-planted-errors");
  });

  it("fix the planted error", async () => {
    const { page } = watched;
    await page.locator(".problem", { hasText: "error_handlr" }).click();
    const fix = page.locator(".problems li", { hasText: "dangling-edge" }).getByRole("button", { name: /error_handler/ }).last();
    await fix.click();
    await page.locator(".problem", { hasText: "error_handlr" }).waitFor({ state: "detached" });
    await expect.poll(() => server.read(FLOW)).toContain("to: error_handler.error\n");
  });

  it("connect a node, and see why another connection is refused", async () => {
    const { page } = watched;
    const from = handle("fetch_customer", "out", "customer_data");
    await drag(page, from, handle("generate_response", "in", "history"), false);
    await page.locator(".drawn-edge.refused").waitFor();
    await expect.poll(() => page.locator(".drawn-note").textContent()).toMatch(/array/);
    await shoot(page, "story-2-refused");
    await page.mouse.up();
    await page.getByText(/Not connected/).waitFor();
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.getByText(/Not connected/).waitFor({ state: "detached" });

    await drag(page, from, handle("generate_response", "in", "customer_data"));
    await page.locator(".status-bar .summary:not(.bad)").waitFor();
    await expect.poll(() => server.read(FLOW)).toContain("generate_response.customer_data");
    // Comments and layout survive a visual edit.
    expect(server.read(FLOW)).toContain("  # Data flow\n");
    expect(server.read(FLOW)).toContain("tags: [production, customer-facing]\n");
  });

  it("move a node, and undo it", async () => {
    const { page } = watched;
    const before = server.read(FLOW);
    const node = page.locator('.react-flow__node[data-id="error_handler"] header');
    await graphRests(page);
    const box = await node.boundingBox();
    if (box === null) throw new Error("the node is not to be seen");
    await page.mouse.move(box.x + 30, box.y + 8);
    await page.mouse.down();
    await page.mouse.move(box.x + 30, box.y + 70, { steps: 8 });
    await page.mouse.up();
    await expect.poll(() => server.read(FLOW)).not.toBe(before);
    expect(server.read(FLOW)).toMatch(/error_handler:[\s\S]*position: \{x: 500, y: \d+\}/);
    await page.keyboard.press("Control+z");
    await expect.poll(() => server.read(FLOW)).toBe(before);
  });

  it("ask the chat for one change", async () => {
    const { page } = watched;
    await page.getByRole("tab", { name: "Chat" }).click();
    await page.getByLabel("What should change").fill("make the LLM response more concise");
    await page.keyboard.press("Enter");
    await page.locator(".proposal.proposed").waitFor();
    await shoot(page, "story-3-proposal");
    const before = server.read(FLOW);
    await page.getByRole("button", { name: "Accept" }).click();
    await page.locator(".proposal.accepted").waitFor();
    await expect.poll(() => server.read(FLOW)).not.toBe(before);
    const after = server.read(FLOW);
    await page.getByRole("button", { name: /^Undo/ }).click();
    await expect.poll(() => server.read(FLOW)).toBe(before);
    await page.getByRole("button", { name: /^Redo/ }).click();
    await expect.poll(() => server.read(FLOW)).toBe(after);
  });

  it("run it", async () => {
    const { page } = watched;
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByLabel(/^user_id/).fill("u-1001");
    await page.getByLabel(/^session_id/).fill("s-42");
    await page.getByLabel(/^query/).fill("When does my order ship?");
    await shoot(page, "story-4-run-form");
    const start = page.getByRole("button", { name: "Start" });
    const ground = () => start.evaluate((element) => getComputedStyle(element).backgroundColor);
    const before = await ground();
    await start.hover();
    // The browser draws what lies under the pointer with its next frame.
    await page.waitForTimeout(200);
    expect(await ground(), "a main button keeps its ground under the pointer, so that its white words stay readable").toBe(before);
    await start.click();
    await page.locator(".run-head .badge.good", { hasText: "ok" }).waitFor();
    await page.locator(".node.status-ok").nth(4).waitFor();
    await page.getByText("Your order ships on Monday").first().waitFor();
  });

  it("look at the blocks of the prompt", async () => {
    const { page } = watched;
    await page.locator(".steps").getByRole("button", { name: "generate_response" }).click();
    const piece = page.locator(".message .piece").first();
    await piece.waitFor();
    expect(await piece.evaluate((element) => getComputedStyle(element).fontWeight)).toBe("400");
    await shoot(page, "story-5-prompt");
    await page.getByRole("radio", { name: "One by one" }).click();
    await page.locator(".block").first().waitFor();
    const provenances = await page.locator(".block .badge.tinted").allInnerTexts();
    expect(provenances).toEqual(expect.arrayContaining(["developer", "user"]));
    await page.getByText("approved by governance").waitFor();
    await page.getByRole("radio", { name: "Cache" }).click();
    await page.locator(".legend .key").first().waitFor();
  });

  it("find the line that fails", async () => {
    const { page } = watched;
    await page.getByRole("link", { name: "Open flow" }).click();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByLabel(/^user_id/).fill("u-9");
    await page.getByRole("button", { name: "Start" }).click();
    await page.locator(".run-head .notice.bad").waitFor();
    await page.locator(".node.status-error").waitFor();
    await shoot(page, "story-6-failed");
    const link = page.locator(".run-head .notice.bad .origin");
    const line = Number(/:(\d+)/.exec(await link.innerText())?.[1]);
    await link.click();
    const active = page.locator(".yaml-editor .cm-activeLineGutter").first();
    await expect.poll(() => active.innerText()).toContain(String(line));
    expect(server.read(FLOW).split("\n").slice(line - 3, line + 25).join("\n")).toMatch(/fetch_customer|read_features|key/);
    await shoot(page, "story-7-failing-line");
  });

  it("meet no error of the page and no other host", () => {
    // A request that is answered with a problem is logged by the browser as an error of its own.
    expect(watched.faults.filter((fault) => !/status of 4\d\d/.test(fault))).toEqual([]);
  });
});
