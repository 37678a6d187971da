import { once } from "node:events";
import { createServer } from "node:net";
import { threadId } from "node:worker_threads";

/**
 * Below the range from which the kernel takes ports of outgoing connections (32768 on Linux, 49152 on macOS). A server that stops and
 * starts again at its port would otherwise find a connection there.
 */
const firstPort = 10_000;
const portCount = 20_000;

/** Processes begin at different ports, and a port is not given out again soon. */
let offset = (process.pid * 101 + threadId * 1_009) % portCount;

/** Finds that many free loopback ports, all different. Another process may still take one before it is used. */
export async function findFreePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tried = 0; ports.length < count; tried += 1) {
    if (tried === portCount) throw new Error(`ports: fewer than ${count} are free`);
    const port = firstPort + offset;
    offset = (offset + 1) % portCount;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return false;
    throw error;
  }
  server.close();
  await once(server, "close");
  return true;
}
