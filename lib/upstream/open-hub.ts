import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport.ts";
import { parseCredentialText } from "../credentials/credential-text.ts";
import { readSecretText, type SecretsManager } from "../credentials/secrets-manager.ts";
import { endpointAt } from "./export/endpoints.ts";
import { openRenewedHub, type RenewedHubOptions } from "./renewing-client.ts";

/** How the hub is reached. */
type HubOptions = Readonly<{
  openTransport: (endpoint: Endpoint) => Transport;
  clock: Clock;
  /** @default Math.random */
  random?: (() => number) | undefined;
  /** Another server than the kubeconfig's, for the same user: a shard that an endpoint slice names. */
  server?: string | undefined;
}>;

export type SecretHubOptions = HubOptions &
  Readonly<{
    secretsManager: SecretsManager;
    /** Name or ARN of the secret: a kubeconfig that holds all it needs, or server, ca and token. */
    secret: string;
  }>;

/**
 * Opens the hub with the kubeconfig in a secret. It is read again after some minutes, and at once when the hub refuses it;
 * while Secrets Manager cannot be asked the last one is used.
 */
export function openSecretHub(options: SecretHubOptions): Promise<KubeClient> {
  const { secretsManager, secret, server, openTransport, clock, random = Math.random } = options;
  const place = `secret ${secret}`;
  const readEndpoint = async (): Promise<Endpoint> => {
    const text = await readSecretText(secretsManager, secret, clock);
    return sayingWhere(place, () => movedTo(server, parseCredentialText(text)));
  };
  return openRenewedHub({ place, readEndpoint, openTransport, clock, random });
}

export type FileHubOptions = HubOptions &
  Pick<RenewedHubOptions, "rememberMs" | "onRenewed" | "onTrouble"> &
  Readonly<{
    path: string;
    /** How messages name the file. @default `kubeconfig <path>` */
    place?: string | undefined;
  }>;

/** Opens the hub with a kubeconfig of our own, which may name other files; a new one in its place is taken up likewise. */
export function openFileHub(options: FileHubOptions): Promise<KubeClient> {
  const { path, place = `kubeconfig ${path}`, server, clock, random = Math.random } = options;
  const readEndpoint = async (): Promise<Endpoint> => {
    const text = await readFile(path, "utf8").catch((error: unknown) => {
      throw new ControllerError("invalid", `${place}: ${whyUnreadable(error)}`, { cause: error });
    });
    return sayingWhere(place, () =>
      movedTo(server, parseKubeconfig(text, { allow: "files", directory: dirname(path), clock }).endpoint),
    );
  };
  const { openTransport, rememberMs, onRenewed, onTrouble } = options;
  return openRenewedHub({ place, readEndpoint, openTransport, clock, random, rememberMs, onRenewed, onTrouble });
}

function whyUnreadable(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "cannot be read";
  return code === "ENOENT" ? "there is no such file" : code;
}

const movedTo = (server: string | undefined, endpoint: Endpoint): Endpoint =>
  server === undefined ? endpoint : endpointAt(endpoint, server);

function sayingWhere<T>(place: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const why = error instanceof ControllerError ? error.message : "cannot be read";
    throw new ControllerError("invalid", `${place}: ${why}`, { cause: error });
  }
}
