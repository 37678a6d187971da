import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport/transport.ts";
import { parseCredentialText } from "../credentials/credential-text.ts";
import { readSecretText, type SecretsManager } from "../credentials/secrets-manager.ts";
import { endpointAt } from "./export/endpoints.ts";
import { openRenewingHub, type RenewingHubOptions } from "./renewing-client.ts";

type HubOptions = Readonly<{
  openTransport: (endpoint: Endpoint) => Transport;
  clock: Clock;
  /** @default Math.random */
  random?: (() => number) | undefined;
  /** Another server for the same credentials: a shard that an APIExportEndpointSlice names. @default the kubeconfig's */
  server?: string | undefined;
}>;

export type SecretHubOptions = HubOptions &
  Readonly<{
    secretsManager: SecretsManager;
    /** Name or ARN of the secret. It contains a kubeconfig without references to files, or server, ca and token. */
    secret: string;
  }>;

/**
 * Opens a client with the kubeconfig in a secret. The secret is read again after some minutes, and at once when the server answers
 * 401. While Secrets Manager is unreachable the last kubeconfig is used.
 */
export function openSecretHub(options: SecretHubOptions): Promise<KubeClient> {
  const { secretsManager, secret, server, openTransport, clock, random = Math.random } = options;
  const source = `secret ${secret}`;
  const readEndpoint = async (): Promise<Endpoint> => {
    const text = await readSecretText(secretsManager, secret, clock);
    return withSourceInErrors(source, () => withServer(server, parseCredentialText(text)));
  };
  return openRenewingHub({ source, readEndpoint, openTransport, clock, random });
}

export type FileHubOptions = HubOptions &
  Pick<RenewingHubOptions, "ttlMs" | "onRenewed" | "onFailure"> &
  Readonly<{
    path: string;
    /** The name of the file in messages. @default `kubeconfig <path>` */
    source?: string | undefined;
  }>;

/** Opens a client with a kubeconfig file, which may refer to other files. A changed file is used as a changed secret is. */
export function openFileHub(options: FileHubOptions): Promise<KubeClient> {
  const { path, source = `kubeconfig ${path}`, server, clock, random = Math.random } = options;
  const readEndpoint = async (): Promise<Endpoint> => {
    const text = await readFile(path, "utf8").catch((error: unknown) => {
      throw new ControllerError("invalid", `${source}: ${readErrorText(error)}`, { cause: error });
    });
    return withSourceInErrors(source, () =>
      withServer(server, parseKubeconfig(text, { allow: "files", directory: dirname(path), clock }).endpoint),
    );
  };
  const { openTransport, ttlMs, onRenewed, onFailure } = options;
  return openRenewingHub({ source, readEndpoint, openTransport, clock, random, ttlMs, onRenewed, onFailure });
}

function readErrorText(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "cannot be read";
  return code === "ENOENT" ? "there is no such file" : code;
}

const withServer = (server: string | undefined, endpoint: Endpoint): Endpoint =>
  server === undefined ? endpoint : endpointAt(endpoint, server);

function withSourceInErrors<T>(source: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const reason = error instanceof ControllerError ? error.message : "cannot be read";
    throw new ControllerError("invalid", `${source}: ${reason}`, { cause: error });
  }
}
