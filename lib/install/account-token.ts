import type { KubeClient } from "@tmc/kube/client.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json-record.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { accountNamespace } from "../api/export-access.ts";
import { managedTypes } from "./managed-object.ts";

/**
 * Asks for a token of one of our service accounts.
 *
 * A token on request, and not one that kcp keeps in a Secret: it ends by itself, it ends with its account, and nobody who
 * may read Secrets in the workspace can take it. The server may give it a shorter life than was asked for.
 */
export async function requestToken(
  provider: KubeClient,
  { account, lifetimeSeconds }: Readonly<{ account: string; lifetimeSeconds: number }>,
  signal?: AbortSignal,
): Promise<string> {
  const answer = await provider.create<KubeObject>(
    { type: managedTypes.ServiceAccount, namespace: accountNamespace },
    {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: Math.round(lifetimeSeconds) },
    },
    { name: account, subresource: "token", signal },
  );
  const token = isRecord(answer.status) ? answer.status.token : undefined;
  if (typeof token !== "string") {
    throw new ControllerError("invalid", `kcp: token of ${accountNamespace}/${account}: the server gave none`);
  }
  return token;
}

/** What a service account's token says of itself; nobody here can check that it is true. */
export type TokenFacts = Readonly<{ uid: string; issuedMs: number; expiresMs: number }>;

/** Reads what a token says; undefined when it is none of a service account, or never ends. */
export function parseToken(token: string): TokenFacts | undefined {
  const claims = claimsOf(token);
  if (!isRecord(claims)) return undefined;
  const { iat, exp, "kubernetes.io": kubernetes } = claims;
  const account = isRecord(kubernetes) ? kubernetes.serviceaccount : undefined;
  const uid = isRecord(account) ? account.uid : undefined;
  if (typeof iat !== "number" || typeof exp !== "number" || typeof uid !== "string") return undefined;
  return { uid, issuedMs: iat * 1000, expiresMs: exp * 1000 };
}

function claimsOf(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
  } catch {
    return undefined; // not a token of the form that we know
  }
}

/** What is known of a kubeconfig that was written before. */
export type WrittenFacts = Readonly<{ server: string; ca: string | undefined; token: TokenFacts | undefined }>;

export type RenewalFacts = Readonly<{
  /** Undefined when there is none, or none that can be read. */
  written: WrittenFacts | undefined;
  server: string;
  ca: string | undefined;
  /** The service account that there is now. */
  uid: string;
  nowMs: number;
}>;

/**
 * Decides whether a kubeconfig has to be written anew, and why; undefined when the one that is there will do.
 *
 * A token is renewed when half of its life is over: whoever runs `tmc bootstrap` more often than that never meets a token
 * that has ended, and one that was handed out stays good while its successor is brought to where it is used.
 */
export function decideRenewal({ written, server, ca, uid, nowMs }: RenewalFacts): string | undefined {
  if (written === undefined) return "there is none";
  if (written.server !== server || written.ca !== ca) return "it is for another server";
  if (written.token === undefined || written.token.uid !== uid) return "it is for another account";
  const { issuedMs, expiresMs } = written.token;
  return nowMs - issuedMs >= (expiresMs - issuedMs) / 2 ? "its token is half through its life" : undefined;
}
