// Nothing that was typed is lost: the server dies, the page reloads, the network goes, the file changes, two tabs write.
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { editorText, graphRests, launch, newContext, openTab } from "./browser";
import { startServer, type Server } from "./server";

const FLOW = "flows/support.yaml";
const WAIT = { timeout: 45_000 };

let browser: Browser;
let context: BrowserContext;
let server: Server;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

beforeEach(async () => {
  server = await startServer({ example: "support" });
  context = await newContext(browser, { width: 1280, height: 800 });
});

afterEach(async () => {
  await context.close();
  await server.stop();
});

async function openFlow(): Promise<Page> {
  const { page } = await openTab(context, `${server.address}/#/flow?path=${FLOW}`);
  await page.locator(".yaml-editor .cm-content").waitFor();
  await page.locator(".react-flow__node").first().waitFor();
  return page;
}

/** Types a comment as the first line. */
async function type(page: Page, words: string): Promise<void> {
  await page.locator(".yaml-editor .cm-content").click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type(`# ${words}\n`);
}

const saved = (page: Page) => page.locator(".status-bar").getByText("Saved", { exact: true }).waitFor(WAIT);
const onDisk = () => expect.poll(() => server.read(FLOW), WAIT);

describe("text that is typed", () => {
  it("while the server is away is saved when it is back, and the banner leaves", async () => {
    const page = await openFlow();
    await server.kill();
    await type(page, "typed while nobody listened");
    const banner = page.locator(".document-notices", { hasText: "Not saved." });
    await banner.waitFor(WAIT);
    const editor = await page.locator(".yaml-editor").boundingBox();
    const box = await banner.boundingBox();
    if (editor === null || box === null) throw new Error("nothing is to be seen");
    expect(box.y, "the banner covers nothing").toBeGreaterThanOrEqual(editor.y + editor.height - 1);
    await server.restart([]);
    await onDisk().toContain("# typed while nobody listened");
    await saved(page);
    await banner.waitFor({ state: "detached" });
  });

  it("right before a reload is in the file or comes back", async () => {
    const page = await openFlow();
    for (const words of ["one", "two", "three", "four", "five"]) {
      await type(page, `edit ${words}`);
      await page.reload();
      await page.locator(".yaml-editor .cm-content").waitFor();
      await onDisk().toContain(`# edit ${words}\n`);
      await expect.poll(() => editorText(page)).toContain(`# edit ${words}`);
    }
  });

  it("while the server is away outlives the tab, and comes back with a notice", async () => {
    const page = await openFlow();
    await server.kill();
    await type(page, "kept by the browser");
    await page.locator(".document-notices", { hasText: "this browser keeps the text" }).waitFor(WAIT);
    await page.close();
    await server.restart([]);
    const again = await openFlow();
    await again.locator(".document-notices", { hasText: "was not saved and is back" }).waitFor();
    await onDisk().toContain("# kept by the browser");
    await again.getByRole("button", { name: "Keep it" }).click();
    await again.locator(".document-notices").waitFor({ state: "detached" });
  });

  it("in a large flow outlives the page, although a browser sends no such body while it closes", async () => {
    const lines = Array.from({ length: 3000 }, (_, index) => `# line ${index} of a long comment that makes the flow large`);
    server.write(FLOW, `${lines.join("\n")}\n${server.read(FLOW)}`);
    const page = await openFlow();
    await type(page, "typed into a large flow");
    await page.reload();
    await page.locator(".yaml-editor .cm-content").waitFor();
    await onDisk().toContain("# typed into a large flow");
  });

  it("without a network is saved when it is back", async () => {
    const page = await openFlow();
    await context.setOffline(true);
    await type(page, "typed in a tunnel");
    await page.locator(".document-notices", { hasText: "Not saved." }).waitFor(WAIT);
    await context.setOffline(false);
    await onDisk().toContain("# typed in a tunnel");
    await saved(page);
    await page.locator(".document-notices").waitFor({ state: "detached" });
  });

  it("makes the browser ask before the page is left, until it is saved", async () => {
    const page = await openFlow();
    const asked: string[] = [];
    page.on("dialog", (dialog) => {
      asked.push(dialog.type());
      void dialog.accept();
    });
    await server.kill();
    await type(page, "not saved");
    await page.locator(".document-notices", { hasText: "Not saved." }).waitFor(WAIT);
    await page.close({ runBeforeUnload: true });
    await expect.poll(() => asked).toEqual(["beforeunload"]);
    await expect.poll(() => page.isClosed()).toBe(true);
    await server.restart([]);
    const again = await openFlow();
    await onDisk().toContain("# not saved");
    await saved(again);
    await again.close({ runBeforeUnload: true });
    await expect.poll(() => again.isClosed()).toBe(true);
    expect(asked).toEqual(["beforeunload"]);
  });

  it("is saved although another flow was opened while the server was away", async () => {
    server.write("flows/other.yaml", server.read(FLOW).replace("name: customer_service_agent", "name: other"));
    const page = await openFlow();
    await server.kill();
    await type(page, "left behind");
    await page.locator(".document-notices", { hasText: "Not saved." }).waitFor(WAIT);
    await page.evaluate(() => {
      location.hash = "#/flow?path=flows/other.yaml";
    });
    await page.locator(".document-notices", { hasText: "flows/support.yaml is not saved" }).waitFor();
    await server.restart([]);
    await onDisk().toContain("# left behind");
    await page.locator(".document-notices").waitFor({ state: "detached" });
  });
});

describe("a file that changes on disk", () => {
  it("while a draft waits leads to a choice with the difference", async () => {
    const page = await openFlow();
    await server.kill();
    await type(page, "mine");
    await page.locator(".document-notices", { hasText: "Not saved." }).waitFor(WAIT);
    await page.close();
    server.write(FLOW, `# theirs\n${server.read(FLOW)}`);
    await server.restart([]);
    const again = await openFlow();
    await again.locator(".document-notices", { hasText: "The file changed meanwhile" }).waitFor();
    await again.getByRole("button", { name: "See the difference" }).click();
    await again.locator(".text-diff .removed", { hasText: "# theirs" }).waitFor();
    await again.locator(".text-diff .added", { hasText: "# mine" }).waitFor();
    expect(server.read(FLOW)).toContain("# theirs");
    await again.locator("dialog").getByRole("button", { name: "Keep mine" }).click();
    await onDisk().toContain("# mine");
    expect(server.read(FLOW)).not.toContain("# theirs");
    await again.locator(".document-notices").waitFor({ state: "detached" });
  });

  it("can be taken, and undo brings the other text back", async () => {
    const page = await openFlow();
    await context.setOffline(true);
    await type(page, "mine");
    server.write(FLOW, `# theirs\n${server.read(FLOW)}`);
    await context.setOffline(false);
    await page.getByRole("button", { name: "Take the file" }).click(WAIT);
    await expect.poll(() => editorText(page)).toContain("# theirs");
    expect(await editorText(page)).not.toContain("# mine");
    await page.getByRole("button", { name: /^Undo/ }).click();
    await onDisk().toContain("# mine");
  });
});

describe("two tabs", () => {
  it("of which one only looks show the same text", async () => {
    const [writer, reader] = [await openFlow(), await openFlow()];
    await writer.bringToFront();
    await type(writer, "from the first tab");
    await saved(writer);
    await reader.bringToFront();
    await expect.poll(() => editorText(reader), WAIT).toContain("# from the first tab");
    await reader.locator(".document-notices").waitFor({ state: "detached" });
  });

  it("that typed while the server was away lose neither text", async () => {
    const [first, second] = [await openFlow(), await openFlow()];
    await server.kill();
    for (const [page, words] of [[first, "first tab"], [second, "second tab"]] as const) {
      await page.bringToFront();
      await type(page, words);
      await page.locator(".document-notices", { hasText: "Not saved." }).waitFor(WAIT);
    }
    await server.restart([]);
    // One of them is first; the other is asked.
    await onDisk().toMatch(/# (first|second) tab/);
    const [late, words] = server.read(FLOW).includes("# first tab") ? [second, "second tab"] : [first, "first tab"];
    await late.bringToFront();
    const keep = late.getByRole("button", { name: "Keep mine" });
    await keep.waitFor(WAIT);
    expect(server.read(FLOW)).not.toContain(`# ${words}`);
    await keep.click();
    await onDisk().toContain(`# ${words}`);
  });

  it("that both went away come back one after the other", async () => {
    const [first, second] = [await openFlow(), await openFlow()];
    await server.kill();
    for (const [page, words] of [[first, "first tab"], [second, "second tab"]] as const) {
      await page.bringToFront();
      await type(page, words);
      await page.locator(".document-notices", { hasText: "this browser keeps the text" }).waitFor(WAIT);
    }
    await first.close();
    await second.close();
    await server.restart([]);
    const again = await openFlow();
    await onDisk().toContain("# second tab");
    const keep = again.getByRole("button", { name: "Keep mine" });
    await keep.click(WAIT);
    await onDisk().toContain("# first tab");
  });
});

describe("what was only looked at or refused", () => {
  it("stays as it is when the focus goes through the editor", async () => {
    const page = await openFlow();
    const before = server.read(FLOW);
    for (let press = 0; press < 80; press += 1) await page.keyboard.press("Tab");
    await page.keyboard.press("Alt+2");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Alt+2");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Tab");
    await page.locator(".status-bar").getByText("Saved", { exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Undo", exact: true }).isDisabled(), "nothing was changed").toBe(true);
    expect(server.read(FLOW)).toBe(before);
    // Once somebody edits, Tab indents.
    await type(page, "edited");
    await page.keyboard.press("Tab");
    await onDisk().toMatch(/^# edited\n {2}\S/);
  });

  it("a drag that the server did not take is drawn where the node is", async () => {
    const page = await openFlow();
    const node = page.locator('.react-flow__node[data-id="error_handler"]');
    const header = node.locator("header");
    await graphRests(page);
    const box = await header.boundingBox();
    const before = await node.getAttribute("style");
    if (box === null) throw new Error("the node is not to be seen");
    await server.kill();
    await page.mouse.move(box.x + 30, box.y + 8);
    await page.mouse.down();
    await page.mouse.move(box.x + 30, box.y + 70, { steps: 8 });
    await page.mouse.up();
    await page.locator(".document-notices", { hasText: "cannot be reached" }).waitFor(WAIT);
    await expect.poll(() => translation(node)).toBe(/translate\(([^)]*)\)/.exec(before ?? "")?.[1]);
    await server.restart([]);
  });
});

async function translation(node: ReturnType<Page["locator"]>): Promise<string | undefined> {
  return /translate\(([^)]*)\)/.exec((await node.getAttribute("style")) ?? "")?.[1];
}
