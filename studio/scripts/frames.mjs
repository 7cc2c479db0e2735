// What the page does while a flow is moved about: frames, how long they took, and the work of the main thread.
//
//   node scripts/frames.mjs http://127.0.0.1:8080 flows/large.yaml flows/small.yaml
//
// Frames of a browser without a window on a busy machine say little by themselves; compare flows with each other.
/* global window, performance, PerformanceObserver, requestAnimationFrame -- functions that are evaluated run in the page */
import { chromium } from "playwright-core";

const [address, ...paths] = process.argv.slice(2);
if (address === undefined || paths.length === 0) {
  console.error("usage: node scripts/frames.mjs ADDRESS FLOW...");
  process.exit(2);
}

const STEPS = 60;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu"],
});

for (const path of paths) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${address}/#/flow?path=${path}`);
  await page.locator(".status-bar .summary").waitFor();
  await page.locator(".react-flow__node").first().waitFor();
  const nodes = await page.locator(".react-flow__node").count();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
  await page.waitForTimeout(1500);
  for (const [name, act] of Object.entries({ pan, zoom, move, type })) {
    console.log(`${path} (${nodes} nodes) ${name}: ${await measured(page, devtools, act)}`);
    await page.waitForTimeout(500);
  }
  await page.close();
}
await browser.close();

async function measured(page, devtools, act) {
  await page.evaluate(() => {
    const seen = { frames: [], long: 0, last: performance.now() };
    window.seen = seen;
    new PerformanceObserver((list) => (seen.long += list.getEntries().length)).observe({ entryTypes: ["longtask"] });
    const tick = (now) => {
      seen.frames.push(now - seen.last);
      seen.last = now;
      if (window.seen === seen) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  const before = await metrics(devtools);
  await act(page);
  const after = await metrics(devtools);
  const { frames, long } = await page.evaluate(() => {
    const { frames, long } = window.seen;
    window.seen = null;
    return { frames: frames.slice(1).sort((left, right) => left - right), long };
  });
  const at = (part) => frames[Math.round((frames.length - 1) * part)] ?? 0;
  const work = (name) => (1000 * (after[name] - before[name])) / STEPS;
  const kinds = ["TaskDuration", "ScriptDuration", "RecalcStyleDuration", "LayoutDuration"];
  const shares = kinds.map((kind) => `${kind.replace("Duration", "").toLowerCase()} ${work(kind).toFixed(1)}`);
  return (
    `${frames.length} frames, half within ${at(0.5).toFixed(0)} ms, 95 of 100 within ${at(0.95).toFixed(0)} ms; ` +
    `${long} long tasks; work of a step in ms: ${shares.join(", ")}`
  );
}

async function metrics(devtools) {
  const { metrics: all } = await devtools.send("Performance.getMetrics");
  return Object.fromEntries(all.map(({ name, value }) => [name, value]));
}

async function steps(page, from, by) {
  for (let step = 1; step <= STEPS; step += 1) {
    await page.mouse.move(from.x + by.x * step, from.y + by.y * step);
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
}

async function pan(page) {
  const from = { x: 30, y: 500 };
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await steps(page, from, { x: 4, y: 1 });
  await page.mouse.up();
}

async function zoom(page) {
  await page.mouse.move(400, 400);
  for (let step = 0; step < STEPS; step += 1) {
    await page.mouse.wheel(0, step < STEPS / 2 ? -60 : 60);
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
}

async function move(page) {
  await page.getByRole("button", { name: "Fit the view" }).click();
  await page.waitForTimeout(400);
  const box = await page.locator(".react-flow__node.draggable header").nth(2).boundingBox();
  const from = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await steps(page, from, { x: 1, y: 2 });
  await page.mouse.up();
}

async function type(page) {
  await page.locator(".yaml-editor .cm-content").click();
  await page.keyboard.press("Control+Home");
  for (let step = 0; step < STEPS; step += 1) {
    await page.keyboard.press(step === 0 ? "#" : "x");
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
}
