// Runs in the studio: opened by their address, decided on, cancelled, resumed, replayed and compared.
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { launch, openPage, shoot, type Watched } from "./browser";
import { startHost, type Host } from "./host";
import { startRun, startServer, type Server } from "./server";

const CAREFUL = `version: "1.0"
metadata: {name: careful}
context: {requires: [amount]}
nodes:
  ask:
    type: transform
    inputs: [{name: amount, type: number}]
    outputs: [{name: amount, type: number}]
    transform:
      mode: declarative
      spec: {op: human.approve, args: {message: "Pay \${amount}?"}}
  pay:
    type: transform
    inputs: [{name: amount, type: number}]
    outputs: [{name: paid, type: string}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {"paid": "paid " + str(inputs["amount"])}
edges:
  - {from: _input.amount, to: ask.amount}
  - {from: ask.amount, to: pay.amount}
  - {from: pay.paid, to: _output.paid}
`;

const caller = (port: number) => `version: "1.0"
metadata: {name: caller}
context: {requires: [page]}
nodes:
  fetch:
    type: transform
    inputs: [{name: page, type: string}]
    outputs: [{name: reply, type: object}]
    transform:
      mode: declarative
      spec: {op: http.get, args: {url: "http://127.0.0.1:${port}/\${page}"}}
    runtime: {timeout_ms: 60000, retries: 0}
edges:
  - {from: _input.page, to: fetch.page}
  - {from: fetch.reply, to: _output.reply}
`;

let server: Server;
let browser: Browser;
let host: Host;
let watched: Watched;
/** Whether the host lets its callers wait. */
let isSlow = true;
/** The paths that the host was asked for. */
const asked: string[] = [];

beforeAll(async () => {
  host = await startHost((path) => {
    asked.push(path);
    return { delayMs: isSlow ? 30_000 : 0, json: { ok: true } };
  });
  server = await startServer({
    example: "support",
    prepare: (project) => {
      project.write("stave.toml", `${project.read("stave.toml")}\n[http]\nallow = ["127.0.0.1"]\n`);
      project.write("flows/careful.yaml", CAREFUL);
      project.write("flows/caller.yaml", caller(host.port));
    },
  });
  browser = await launch();
});

afterAll(async () => {
  await browser.close();
  await server.stop();
  await host.stop();
});

beforeEach(async () => {
  watched = await openPage(browser, server.address, { width: 1280, height: 800 });
});

afterEach(() => watched.page.close());

async function open(page: Page, run: string, node?: string): Promise<void> {
  const of = node === undefined ? "" : `&node=${node}`;
  await page.goto(`${server.address}/?opened#/run?id=${run}${of}`);
  await page.locator(".run-head").waitFor();
}

const badge = (page: Page, status: string) => page.locator(".run-head > .row .badge", { hasText: new RegExp(`^${status}$`) });

const support = (user: string, query: string) =>
  startRun(server, "customer_service_agent", { user_id: user, session_id: "s-42", query }, true);

describe("a run", () => {
  it("that is opened by its address leads to its flow and its lines", async () => {
    const { page, faults } = watched;
    await open(page, await support("u-1001", "When does my order ship?"), "generate_response");
    await page.locator(".message .piece").first().waitFor();
    const pages = page.getByRole("navigation", { name: "Pages" });
    expect(await pages.getByRole("link", { name: "Lines" }).getAttribute("href")).toBe("#/lines?path=flows/support.yaml");
    await page.keyboard.press("g");
    await page.keyboard.press("l");
    await page.locator(".part-text").first().waitFor();
    await page.goBack();
    await page.locator(".run-head").waitFor();
    await pages.getByRole("link", { name: "Flow" }).click();
    await page.locator('.react-flow__node[data-id="generate_response"]').waitFor();
    expect(faults).toEqual([]);
  });

  it("that nobody has is reported, with a way back", async () => {
    const { page } = watched;
    await page.goto(`${server.address}/?opened#/run?id=run_none`);
    await page.getByText(/run_none/).first().waitFor();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Runs" }).click();
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  });

  it("that waits is approved in its node, and continues before the eyes", async () => {
    const { page, faults } = watched;
    await open(page, await startRun(server, "careful", { amount: 3 }, false));
    await badge(page, "waiting").waitFor();
    await page.getByText("ask asks for a decision: Pay 3?").waitFor();
    await page.getByRole("button", { name: "Decide" }).click();
    await page.locator(".asked", { hasText: "Pay 3?" }).waitFor();
    await shoot(page, "run-asks");
    await page.getByLabel("Comment").fill("fine by me");
    await page.getByRole("button", { name: "Approve" }).click();
    await badge(page, "ok").waitFor();
    await page.getByRole("button", { name: "Approve" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByText("paid 3").first().waitFor();
    await page.getByRole("tab", { name: "Decisions" }).click();
    await page.getByText("fine by me").waitFor();
    expect(faults).toEqual([]);
  });

  it("that waits is rejected, and what follows does not run", async () => {
    const { page } = watched;
    await open(page, await startRun(server, "careful", { amount: 4 }, false), "ask");
    await page.getByRole("button", { name: "Reject" }).click();
    await badge(page, "error").waitFor();
    await page.locator('.react-flow__node[data-id="pay"] .node.status-cancelled').waitFor();
  });

  it("that somebody else decides on is followed", async () => {
    const { page } = watched;
    const run = await startRun(server, "careful", { amount: 5 }, false);
    await open(page, run);
    await badge(page, "waiting").waitFor();
    const decided = await fetch(`${server.address}/runs/${run}/nodes/ask/decision`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ approved: true }),
    });
    expect(decided.status).toBe(202);
    await badge(page, "ok").waitFor();
  });

  it("in progress is cancelled", async () => {
    const { page, faults } = watched;
    isSlow = true;
    await open(page, await startRun(server, "caller", { page: "slow" }, false));
    await badge(page, "running").waitFor();
    await page.locator(".node.status-running").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await badge(page, "cancelled").waitFor();
    await page.getByRole("button", { name: "Cancel" }).waitFor({ state: "detached" });
    expect(faults).toEqual([]);
  });

  it("that was interrupted is resumed", async () => {
    const { page } = watched;
    isSlow = true;
    const run = await startRun(server, "caller", { page: "slow" }, false);
    await open(page, run);
    await badge(page, "running").waitFor();
    await server.killAndRestart(["--no-resume"]);
    // The page that watched it is still open, and finds out by itself.
    await badge(page, "interrupted").waitFor();
    await shoot(page, "run-interrupted");
    isSlow = false;
    await page.getByRole("button", { name: "Resume" }).click();
    await badge(page, "ok").waitFor();
    await page.getByText('"ok"').or(page.getByText("ok", { exact: true })).first().waitFor();
  });

  it("whose processes died twice is quarantined, and resumed only when somebody says so", async () => {
    const { page } = watched;
    isSlow = true;
    const run = await startRun(server, "caller", { page: "deadly" }, false);
    const calls = () => asked.filter((path) => path === "/deadly").length;
    for (const count of [1, 2]) {
      await expect.poll(calls, { timeout: 30_000 }).toBe(count);
      await server.killAndRestart([]);
    }
    await open(page, run);
    await badge(page, "quarantined").waitFor({ timeout: 30_000 });
    expect(await page.getByRole("button", { name: "Cancel" }).isVisible()).toBe(true);
    isSlow = false;
    await page.getByRole("button", { name: "Resume anyway" }).click();
    await badge(page, "ok").waitFor();
    expect(calls()).toBe(3);
  });

  it("that ended is replayed, whole and from a node on, and compared with what it replays", async () => {
    const { page, faults } = watched;
    const first = await support("u-1001", "When does my order ship?");
    await open(page, first);
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByText("Replay of").waitFor();
    await badge(page, "ok").waitFor();
    expect(page.url()).not.toContain(first);
    await page.locator(".steps").getByRole("button", { name: "generate_response" }).click();
    await page.getByRole("button", { name: "Replay from here" }).click();
    const second = await page.locator(".facts a").textContent();
    await expect.poll(() => page.locator(".facts a").textContent()).not.toBe(first);
    expect(second).not.toBeNull();
    await badge(page, "ok").waitFor();
    await page.getByRole("link", { name: "Compare" }).click();
    await page.getByText("the same flow", { exact: true }).waitFor();
    await page.locator(".compare-node").first().waitFor();
    expect(faults).toEqual([]);
  });

  it("is compared with another, the older one first", async () => {
    const { page, faults } = watched;
    const older = await support("u-1001", "When does my order ship?");
    const newer = await support("u-9", "When does my order ship?");
    await page.goto(`${server.address}/?opened#/runs`);
    // In whichever order they are chosen.
    await page.getByLabel(`Compare ${newer}`).check();
    await page.getByLabel(`Compare ${older}`).check();
    await page.getByRole("button", { name: "Compare two" }).click();
    const sides = page.locator(".compare-sides section");
    await sides.first().waitFor();
    expect(await sides.nth(0).innerText()).toContain(older);
    expect(await sides.nth(1).innerText()).toContain(newer);
    await page.locator(".differences td.before", { hasText: "u-1001" }).first().waitFor();
    await page.locator(".differences td.after", { hasText: "u-9" }).first().waitFor();
    await page.locator(".compare-node[open]", { hasText: "fetch_customer" }).waitFor();
    expect(faults).toEqual([]);
  });
});
