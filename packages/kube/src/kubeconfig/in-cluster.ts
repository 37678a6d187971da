import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../clock.ts";
import { ControllerError } from "../fault.ts";
import { type ResolvedContext, resolveContext } from "./kubeconfig.ts";

export type InClusterOptions = Readonly<{
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  /** The folder with token, certificate and namespace of the service account. */
  directory?: string | undefined;
}>;

/** Resolves the credentials of the service account of this pod; the token is read again when it is rotated. */
export async function inClusterContext({
  env: { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" },
  clock,
  directory = "/var/run/secrets/kubernetes.io/serviceaccount",
}: InClusterOptions): Promise<ResolvedContext> {
  if (host === undefined) throw new ControllerError("invalid", "this process does not run in a pod of a cluster");
  const name = "in-cluster";
  const context = resolveContext(
    {
      "current-context": name,
      contexts: [{ name, context: { cluster: name, user: name } }],
      clusters: [
        {
          name,
          cluster: {
            server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
            "certificate-authority": join(directory, "ca.crt"),
          },
        },
      ],
      users: [{ name, user: { tokenFile: join(directory, "token") } }],
    },
    { allow: "files", clock },
  );
  const namespace = await readFile(join(directory, "namespace"), "utf8").catch(() => "");
  return { ...context, namespace: namespace.trim() === "" ? undefined : namespace.trim() };
}
