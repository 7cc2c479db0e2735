// The real `stave` on a copy of an example project, with recorded replies: no key and no network is needed.
import { spawn, type ChildProcess } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..", "..");
const PROGRAM = process.env.STAVE ?? join(ROOT, "target", "debug", "stave");
const PATIENCE_MS = 30_000;

export interface Project {
  folder: string;
  read: (path: string) => string;
  write: (path: string, text: string) => void;
}

export interface Server extends Project {
  address: string;
  /** Ends the server without a word. */
  kill: () => Promise<void>;
  /** Starts a server again at the same address. */
  restart: (flags: string[]) => Promise<void>;
  /** Ends the server without a word and starts another in its place. */
  killAndRestart: (flags: string[]) => Promise<void>;
  stop: () => Promise<void>;
}

export interface Setup {
  /** A project under examples/. */
  example: string;
  /** Changes files before the server starts. */
  prepare?: (project: Project) => void | Promise<void>;
  /** Further arguments of `stave serve`. */
  flags?: (folder: string) => string[];
}

export async function startServer({ example, prepare, flags }: Setup): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), "stave-studio-"));
  cpSync(join(ROOT, "examples", example), folder, { recursive: true });
  const read = (path: string) => readFileSync(join(folder, path), "utf8");
  const write = (path: string, text: string) => writeFileSync(join(folder, path), text);
  await prepare?.({ folder, read, write });
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  const serve = (more: string[]) =>
    startProgram(folder, ["serve", "--port", String(port), ...more], `${address}/v2/health/live`);
  let program = await serve(flags?.(folder) ?? []);
  const kill = () => program.end("SIGKILL");
  const restart = async (more: string[]) => {
    program = await serve(more);
  };
  const killAndRestart = async (more: string[]) => {
    await kill();
    await restart(more);
  };
  const stop = async () => {
    await program.end("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  };
  return { address, folder, read, write, kill, restart, killAndRestart, stop };
}

export interface Program {
  end: (signal: NodeJS.Signals) => Promise<void>;
}

/** Starts `stave` in a folder, and waits until it answers at an address. */
export async function startProgram(folder: string, words: string[], url: string): Promise<Program> {
  const child = spawn(PROGRAM, words, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  await ready(url, child, listen(child));
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once("exit", resolve));
  };
  return { end };
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
    if (child.exitCode !== null) throw new Error(`stave ended with ${child.exitCode}:\n${said()}`);
    const answer = await fetch(url).catch(() => null);
    if (answer?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`stave did not become ready:\n${said()}`);
}

export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (address === null || typeof address === "string" ? reject(new Error("no port")) : resolve(address.port)));
    });
  });
}

/** Begins a run by the server's API. With `wait` it has ended when this returns. */
export async function startRun(server: Pick<Server, "address">, flow: string, input: object, wait: boolean): Promise<string> {
  const answer = await fetch(`${server.address}/runs${wait ? "?wait=true" : ""}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ flow, input }),
  });
  const body = (await answer.json()) as { run_id?: string; trace_id?: string };
  const run = body.run_id ?? body.trace_id;
  if (run === undefined) throw new Error(`no run of ${flow}: ${JSON.stringify(body)}`);
  return run;
}
