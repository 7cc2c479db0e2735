// The real `stave serve` on a copy of an example project, with recorded replies: no key and no network is needed.
import { spawn, type ChildProcess } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..", "..");
const PROGRAM = process.env.STAVE ?? join(ROOT, "target", "debug", "stave");
const PATIENCE_MS = 30_000;

export interface Server {
  address: string;
  read: (path: string) => string;
  write: (path: string, text: string) => void;
  stop: () => Promise<void>;
}

export interface Setup {
  /** A project under examples/. */
  example: string;
  /** Changes files before the server starts. */
  prepare?: (project: Pick<Server, "read" | "write">) => void;
  /** Further arguments of `stave serve`. */
  flags?: (folder: string) => string[];
}

export async function startServer({ example, prepare, flags }: Setup): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), "stave-studio-"));
  cpSync(join(ROOT, "examples", example), folder, { recursive: true });
  const read = (path: string) => readFileSync(join(folder, path), "utf8");
  const write = (path: string, text: string) => writeFileSync(join(folder, path), text);
  prepare?.({ read, write });
  const port = await freePort();
  const child = spawn(PROGRAM, ["serve", "--port", String(port), ...(flags?.(folder) ?? [])], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = listen(child);
  const address = `http://127.0.0.1:${port}`;
  await ready(`${address}/v2/health/live`, child, said);
  const stop = async () => {
    child.kill("SIGTERM");
    await new Promise((resolve) => (child.exitCode === null ? child.once("exit", resolve) : resolve(null)));
    rmSync(folder, { recursive: true, force: true });
  };
  return { address, read, write, stop };
}

function listen(child: ChildProcess): () => string {
  let text = "";
  const add = (chunk: Buffer) => {
    text += chunk.toString();
  };
  child.stdout?.on("data", add);
  child.stderr?.on("data", add);
  return () => text;
}

async function ready(url: string, child: ChildProcess, said: () => string): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    if (child.exitCode !== null) throw new Error(`stave serve ended with ${child.exitCode}:\n${said()}`);
    const answer = await fetch(url).catch(() => null);
    if (answer?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`stave serve did not become ready:\n${said()}`);
}

async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (address === null || typeof address === "string" ? reject(new Error("no port")) : resolve(address.port)));
    });
  });
}
