import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

export type KubectlOptions = Readonly<{
  /** The program. */
  kubectl: string;
  /** The path of a kubeconfig; the user's own is never read. */
  kubeconfig: string;
  /** Standard input, for `-f -`. */
  input?: string;
  env?: Readonly<Record<string, string>>;
  /** @default 60000 */
  timeoutMs?: number;
}>;
export type KubectlResult = Readonly<{ code: number | null; stdout: string; stderr: string }>;

/** Runs kubectl to its end; a failure is a result like any other. */
export async function runKubectl(args: readonly string[], options: KubectlOptions): Promise<KubectlResult> {
  const child = spawn(options.kubectl, args, {
    stdio: "pipe",
    timeout: options.timeoutMs ?? 60_000,
    env: {
      PATH: process.env.PATH,
      // Discovery is cached per server address, and test servers follow each other on the same ports.
      KUBECACHEDIR: join(tmpdir(), `tmc-real-${process.pid}-kubectl`),
      KUBECONFIG: options.kubeconfig,
      ...options.env,
    },
  });
  child.stdin.on("error", () => {}); // it may end without reading all of it
  child.stdin.end(options.input ?? "");
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { code: typeof code === "number" ? code : null, stdout, stderr };
}
