// The studio without a pointer.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, openPage } from "./browser";
import { startServer, type Server } from "./server";

const FLOW = "flows/support.yaml";

let server: Server;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  server = await startServer({ example: "support" });
  browser = await launch();
  ({ page } = await openPage(browser, server.address, { width: 1280, height: 800 }));
});

afterAll(async () => {
  await browser.close();
  await server.stop();
});

const focused = () => page.evaluate(() => document.activeElement?.getAttribute("data-id") ?? null);

describe("by keys only", () => {
  it("a flow is opened", async () => {
    await page.locator(".file").first().waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator('.react-flow__node[data-id="fetch_customer"]').waitFor();
  });

  it("arrows go from node to node", async () => {
    await page.keyboard.press("Alt+1");
    await expect.poll(focused).toBe("_input");
    await page.keyboard.press("ArrowRight");
    await expect.poll(focused).toMatch(/fetch_customer|get_conversation/);
    await page.keyboard.press("ArrowRight");
    await expect.poll(focused).toBe("generate_response");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(focused).toMatch(/fetch_customer|get_conversation/);
  });

  it("a node is moved, and the move undone", async () => {
    const before = server.read(FLOW);
    await page.keyboard.press("Shift+ArrowDown");
    await expect.poll(() => server.read(FLOW)).not.toBe(before);
    await page.keyboard.press("Control+z");
    await expect.poll(() => server.read(FLOW)).toBe(before);
  });

  it("a node is added from the palette and connected", async () => {
    await page.keyboard.press("a");
    await page.getByRole("combobox", { name: "Search operations" }).fill("http.get");
    await page.keyboard.press("Enter");
    await page.locator('.react-flow__node[data-id="http_get"]').waitFor();
    await expect.poll(() => server.read(FLOW)).toContain("  http_get:\n");

    await page.keyboard.press("Alt+1");
    await page.keyboard.press("c");
    const search = page.getByRole("combobox", { name: /Choose an/ });
    await search.waitFor();
    await page.keyboard.press("Escape");
    await search.waitFor({ state: "detached" });
  });

  it("a node is renamed everywhere", async () => {
    await page.keyboard.press("Alt+1");
    await page.keyboard.press("F2");
    const field = page.getByRole("textbox", { name: "Id of the node" });
    await field.fill("fetch_page");
    await page.keyboard.press("Enter");
    await page.locator('.react-flow__node[data-id="fetch_page"]').waitFor();
    await expect.poll(() => server.read(FLOW)).toContain("  fetch_page:\n");
  });

  it("a node is deleted, and all of it is undone", async () => {
    await page.keyboard.press("Alt+1");
    await page.keyboard.press("Delete");
    await page.locator('.react-flow__node[data-id="fetch_page"]').waitFor({ state: "detached" });
    for (let step = 0; step < 3; step += 1) await page.keyboard.press("Control+z");
    await expect.poll(() => server.read(FLOW)).not.toMatch(/http_get|fetch_page/);
  });

  it("what is typed reaches the graph, and completion comes from the checker", async () => {
    await page.keyboard.press("Alt+2");
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("Control+f");
    await page.keyboard.type("op: io.format_response");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Control+Backspace");
    await page.keyboard.press("Control+Space");
    await page.locator(".cm-tooltip-autocomplete").waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".node.has-errors").first().waitFor();
    await page.keyboard.press("Control+z");
    await page.locator(".node.has-errors").first().waitFor({ state: "detached" });
  });

  it("the help sheet opens and closes", async () => {
    await page.keyboard.press("Alt+1");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "detached" });
    await page.keyboard.press("g");
    await page.keyboard.press("r");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  });

  it("a node that was clicked takes the keys of the graph", async () => {
    const { page: fresh } = await openPage(browser, server.address, { width: 1440, height: 900 });
    const focusedThere = () => fresh.evaluate(() => document.activeElement?.getAttribute("data-id") ?? null);
    await fresh.goto(`${server.address}/#/flow?path=${FLOW}`);
    for (const id of ["error_handler", "fetch_customer"]) {
      await fresh.locator(`.react-flow__node[data-id="${id}"] header`).click({ position: { x: 30, y: 8 } });
      await expect.poll(focusedThere).toBe(id);
      await fresh.keyboard.press("F2");
      const field = fresh.getByRole("textbox", { name: "Id of the node" });
      await field.waitFor();
      await fresh.keyboard.press("Escape");
      await field.waitFor({ state: "detached" });
    }
    await fresh.close();
  });
});
