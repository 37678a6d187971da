import type { KubeClient } from "@tmc/kube/client.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { accountNamespace } from "../api/export-access.ts";
import { managedTypes } from "./managed-object.ts";

/**
 * Requests a token for one of TMC's service accounts with the TokenRequest API.
 *
 * Unlike a token in a Secret, it expires, it becomes invalid with its account, and users who may read Secrets in the workspace
 * cannot read it. The server may grant a shorter lifetime than requested.
 */
export async function requestToken(
  provider: KubeClient,
  {
    account,
    namespace = accountNamespace,
    lifetimeSeconds,
  }: Readonly<{ account: string; namespace?: string; lifetimeSeconds: number }>,
  signal?: AbortSignal,
): Promise<string> {
  const response = await provider.create<KubeObject>(
    { type: managedTypes.ServiceAccount, namespace },
    {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: Math.round(lifetimeSeconds) },
    },
    { name: account, subresource: "token", signal },
  );
  const token = isRecord(response.status) ? response.status.token : undefined;
  if (typeof token !== "string") {
    throw new ControllerError("invalid", `token of ${namespace}/${account}: the server returned no token`);
  }
  return token;
}

/** Claims of a service account token. The signature is not verified. */
export type TokenFacts = Readonly<{ uid: string; issuedMs: number; expiresMs: number }>;

/** Parses a service account token; undefined for other tokens and for tokens without an expiry time. */
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
    return undefined; // not a JWT
  }
}

/** A kubeconfig that was written by an earlier run. */
export type WrittenKubeconfig = Readonly<{ server: string; ca: string | undefined; token: TokenFacts | undefined }>;

export type RenewalFacts = Readonly<{
  /** Undefined if there is none, or it cannot be read. */
  written: WrittenKubeconfig | undefined;
  server: string;
  ca: string | undefined;
  /** UID of the current service account. */
  uid: string;
  nowMs: number;
}>;

/**
 * Returns why a kubeconfig must be written again; undefined if the existing one is still good.
 *
 * A token is renewed after half of its lifetime. So `tmc bootstrap`, run at least that often, never leaves an expired token,
 * and the old token stays valid while the new one is rolled out.
 */
export function decideRenewal({ written, server, ca, uid, nowMs }: RenewalFacts): string | undefined {
  if (written === undefined) return "it does not exist";
  if (written.server !== server || written.ca !== ca) return "it is for another server";
  if (written.token === undefined || written.token.uid !== uid) return "it is for another account";
  const { issuedMs, expiresMs } = written.token;
  return nowMs - issuedMs >= (expiresMs - issuedMs) / 2 ? "its token has passed half of its lifetime" : undefined;
}
