// A host on this machine that answers as a test says.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface Answer {
  status?: number;
  /** How long the caller waits for it. */
  delayMs?: number;
  json: object;
}

export interface Host {
  port: number;
  stop: () => Promise<void>;
}

export async function startHost(answer: (path: string, body: string) => Answer): Promise<Host> {
  const server = createServer((request, response) => {
    void bodyOf(request).then(async (body) => {
      const { status = 200, delayMs = 0, json } = answer(request.url ?? "/", body);
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(json));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return { port: (server.address() as AddressInfo).port, stop };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}
