// Every view in light and dark, on a telephone, a laptop and a 4K screen: made as pictures, and nothing overflows.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hindrances, launch, openPage, shoot, type Screen } from "./browser";
import { startRun, startServer, type Server } from "./server";

const FLOW = "#/flow?path=flows/support.yaml";
const SCREENS: (Screen & { name: string })[] = [
  { name: "phone", width: 360, height: 740 },
  { name: "laptop", width: 1440, height: 900 },
  { name: "4k", width: 3840, height: 2160 },
];

let server: Server;
let browser: Browser;
let runs: { good: string; bad: string };

beforeAll(async () => {
  server = await startServer({ example: "support" });
  browser = await launch();
  runs = { good: await run("u-1001"), bad: await run("u-9") };
});

afterAll(async () => {
  await browser.close();
  await server.stop();
});

function run(user: string): Promise<string> {
  const input = { user_id: user, session_id: "s-42", query: "When does my order ship?" };
  return startRun(server, "customer_service_agent", input, true);
}

interface View {
  name: string;
  hash: () => string;
  /** What is there when the view is whole. */
  whole: string;
  act?: (page: Page) => Promise<void>;
}

const tab = (name: string) => async (page: Page) => {
  const found = page.getByRole("tab", { name, exact: true });
  if ((await found.count()) > 0) await found.click();
};

/** Opens a sheet, and waits for it: some are fetched when they are first asked for. */
const sheet = (button: string) => async (page: Page) => {
  await page.getByRole("button", { name: button, exact: true }).click();
  await page.getByRole("dialog").waitFor();
};

const VIEWS: View[] = [
  { name: "files", hash: () => "#/", whole: ".file" },
  { name: "graph", hash: () => FLOW, whole: '.react-flow__node[data-id="generate_response"]' },
  { name: "text", hash: () => FLOW, whole: ".react-flow__node", act: tab("YAML") },
  { name: "chat", hash: () => FLOW, whole: ".react-flow__node", act: tab("Chat") },
  { name: "palette", hash: () => FLOW, whole: ".react-flow__node", act: sheet("Add node") },
  { name: "run-form", hash: () => FLOW, whole: ".react-flow__node", act: sheet("Run") },
  { name: "help", hash: () => FLOW, whole: ".react-flow__node", act: sheet("Keys") },
  { name: "lines", hash: () => "#/lines?path=flows/support.yaml", whole: ".part-text" },
  { name: "contracts", hash: () => "#/lines?path=flows/support.yaml", whole: ".part-text", act: tab("Effects and contracts") },
  { name: "runs", hash: () => "#/runs", whole: "table.runs tbody tr" },
  { name: "run", hash: () => `#/run?id=${runs.good}`, whole: ".steps tbody tr" },
  { name: "prompt", hash: () => `#/run?id=${runs.good}&node=generate_response`, whole: ".run-head", act: promptOf },
  { name: "failed-run", hash: () => `#/run?id=${runs.bad}&node=fetch_customer`, whole: ".run-head .notice.bad" },
  { name: "compare", hash: () => `#/compare?a=${runs.good}&b=${runs.bad}`, whole: ".compare-sides" },
  { name: "gateway", hash: () => "#/gateway", whole: "main h1, main h2" },
];

async function promptOf(page: Page): Promise<void> {
  await tab("generate_response")(page);
  await page.locator(".message .piece").first().waitFor();
}

/** Views differ in what they hold between a telephone and larger screens, and between light and dark in colours only. */
function isSearched(screen: { name: string }, scheme: string): boolean {
  return screen.name === "laptop" || (screen.name === "phone" && scheme === "light");
}

describe.each(SCREENS)("on a $name", (screen) => {
  it.concurrent.each(["light", "dark"] as const)("every view is whole in %s", async (scheme) => {
    const { page, faults } = await openPage(browser, server.address, { ...screen, scheme });
    const found: string[] = [];
    for (const view of VIEWS) {
      // The query makes it another page: each view is loaded anew.
      await page.goto(`${server.address}/?${view.name}${view.hash()}`);
      await page.locator(view.whole).first().waitFor();
      await view.act?.(page);
      await page.waitForTimeout(250);
      await shoot(page, `${view.name}-${screen.name}-${scheme}`);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(overflow, `${view.name} is wider than the screen`).toBeLessThanOrEqual(0);
      if (isSearched(screen, scheme)) found.push(...(await hindrances(page)).map((each) => `${view.name}: ${each}`));
    }
    expect(found).toEqual([]);
    expect(faults).toEqual([]);
    await page.close();
  });
});
