// Chromium without a window, and pages that fail a test when something goes wrong in them.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

export const SCREENSHOTS = process.env.SCREENSHOTS ?? join(import.meta.dirname, "..", "screenshots");

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

export interface Watched {
  page: Page;
  /** What went wrong so far: errors, warnings, and requests to other hosts. */
  faults: string[];
}

export async function launch(): Promise<Browser> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
}

export interface Screen {
  width: number;
  height: number;
  scheme?: "light" | "dark";
}

/** A browser profile of its own: its tabs share what the studio stores. */
export async function newContext(browser: Browser, screen: Screen): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: { width: screen.width, height: screen.height },
    colorScheme: screen.scheme ?? "light",
    reducedMotion: "reduce",
  });
  const dist = process.env.STUDIO_DIST;
  if (dist !== undefined) await serveFolder(context, dist);
  return context;
}

/** Takes the page's files from a folder, with the server's headers, so that a build is tested before it is embedded. */
async function serveFolder(context: BrowserContext, dist: string): Promise<void> {
  await context.route(/^http:\/\/[^/]+\/(|index\.html|assets\/[^?]*)(\?.*)?$/, async (route) => {
    const { pathname } = new URL(route.request().url());
    const file = join(dist, pathname === "/" ? "index.html" : pathname);
    const page = await route.fetch({ url: new URL("/", route.request().url()).href }).catch(() => null);
    if (page === null || !existsSync(file)) return route.abort();
    const kind = { html: "text/html", js: "text/javascript", css: "text/css" }[file.split(".").at(-1) ?? ""] ?? "text/plain";
    return route.fulfill({ status: 200, headers: { ...page.headers(), "content-type": kind }, body: readFileSync(file) });
  });
}

export async function openPage(browser: Browser, address: string, screen: Screen): Promise<Watched> {
  return openTab(await newContext(browser, screen), address);
}

/** Opens a tab, and watches what goes wrong in it. */
export async function openTab(context: BrowserContext, address: string): Promise<Watched> {
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const faults: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(address).origin)) faults.push(`a request to ${request.url()}`);
  });
  await page.goto(address);
  return { page, faults };
}

export async function shoot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), animations: "disabled" });
}

/** The text of the YAML editor, also of lines that are not drawn. */
export async function editorText(page: Page): Promise<string> {
  return page.evaluate(() => {
    const content = document.querySelector(".yaml-editor")?.shadowRoot?.querySelector(".cm-content");
    return content instanceof HTMLElement ? content.innerText : "";
  });
}

/** Drags from the middle of one element to the middle of another. */
export async function drag(page: Page, from: string, to: string, drop = true): Promise<void> {
  await graphRests(page);
  const [start, end] = [await middle(page, from), await middle(page, to)];
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move((start.x + end.x) / 2, (start.y + end.y) / 2, { steps: 4 });
  await page.mouse.move(end.x, end.y, { steps: 6 });
  if (drop) await page.mouse.up();
}

const RESTING_FRAMES = 8;

/** Waits until the graph has stopped moving: it is fitted again, frames later, when a notice or a pane takes its room. */
export async function graphRests(page: Page): Promise<void> {
  await page.evaluate(
    (frames) =>
      new Promise<void>((rests) => {
        let [last, same] = ["", 0];
        const look = () => {
          const places = [...document.querySelectorAll(".canvas, .react-flow__node")].map((element) => {
            const { x, y, width, height } = element.getBoundingClientRect();
            return [x, y, width, height].join();
          });
          const now = places.join(";");
          same = now === last ? same + 1 : 0;
          last = now;
          if (same >= frames) rests();
          else requestAnimationFrame(look);
        };
        look();
      }),
    RESTING_FRAMES,
  );
}

async function middle(page: Page, selector: string): Promise<{ x: number; y: number }> {
  const box = await page.locator(selector).first().boundingBox();
  if (box === null) throw new Error(`${selector} is not to be seen`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

export function handle(node: string, side: "in" | "out", port: string): string {
  return `.react-flow__node[data-id="${node}"] .react-flow__handle[data-handleid="${side}:${port}"]`;
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  impact: string | null;
  nodes: { target: unknown[] }[];
}

/** What keeps people from using the page as it is: missing labels, and texts that do not contrast with their ground. */
export async function hindrances(page: Page): Promise<string[]> {
  // Evaluated from outside: the page's own policy allows no such script.
  await page.evaluate(AXE);
  const violations = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run: () => Promise<{ violations: Violation[] }> } };
    return (await axe.run()).violations;
  });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.target.join(" ")).join("; ")}`);
}
