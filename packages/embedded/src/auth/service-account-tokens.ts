import { createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { textAt, valueAt } from "@tmc/kube/json.ts";
import { textsAt } from "../machinery/fields.ts";
import type { User } from "../server/http.ts";

export type ServiceAccountIdentity = Readonly<{ logicalCluster: string; namespace: string; name: string; uid: string }>;

/** Issues and verifies bearer tokens of service accounts. A token is valid only on the server that issued it. */
export interface ServiceAccountTokens {
  readonly issuer: string;
  issue(account: ServiceAccountIdentity, options: IssueOptions): string;
  /** Returns the identity in a token, or undefined if the signature is wrong or the token has expired. */
  read(
    token: string,
    now: number,
  ): (ServiceAccountIdentity & Readonly<{ id: string; audiences: string[] }>) | undefined;
}

export type IssueOptions = Readonly<{
  now: number;
  /** If unset, the token is valid as long as the account exists. */
  expirationSeconds?: number | undefined;
  audiences?: readonly string[] | undefined;
}>;

/** Creates an issuer with its own key. The key is kept in memory only, so tokens end with the server. */
export function createServiceAccountTokens(issuer = "https://kubernetes.default.svc"): ServiceAccountTokens {
  const key = randomBytes(32);
  const sign = (content: string) => createHmac("sha256", key).update(content).digest();
  return {
    issuer,
    issue: ({ logicalCluster, namespace, name, uid }, { now, expirationSeconds, audiences }) => {
      const seconds = Math.trunc(now / 1000);
      const claims = {
        aud: audiences === undefined || audiences.length === 0 ? [issuer] : audiences,
        ...(expirationSeconds === undefined ? {} : { exp: seconds + expirationSeconds }),
        iat: seconds,
        iss: issuer,
        jti: randomUUID(),
        "kubernetes.io": {
          ...(logicalCluster === "" ? {} : { clusterName: logicalCluster }),
          namespace,
          serviceaccount: { name, uid },
        },
        nbf: seconds,
        sub: `system:serviceaccount:${namespace}:${name}`,
      };
      const content = `${encode({ alg: "HS256", typ: "JWT" })}.${encode(claims)}`;
      return `${content}.${sign(content).toString("base64url")}`;
    },
    read: (token, now) => {
      const end = token.lastIndexOf(".");
      const content = token.slice(0, Math.max(end, 0));
      const signature = Buffer.from(token.slice(end + 1), "base64url");
      const expected = sign(content);
      if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return undefined;
      const claims: unknown = JSON.parse(Buffer.from(content.split(".")[1] ?? "", "base64url").toString());
      const expires = valueAt(claims, "exp");
      if (typeof expires === "number" && now / 1000 >= expires) return undefined;
      const kubernetes = valueAt(claims, "kubernetes.io");
      return {
        logicalCluster: textAt(kubernetes, "clusterName"),
        namespace: textAt(kubernetes, "namespace"),
        name: textAt(kubernetes, "serviceaccount", "name"),
        uid: textAt(kubernetes, "serviceaccount", "uid"),
        id: textAt(claims, "jti"),
        audiences: textsAt(claims, "aud"),
      };
    },
  };
}

export function serviceAccountUser(
  { namespace, name, uid }: Pick<ServiceAccountIdentity, "namespace" | "name" | "uid">,
  tokenId?: string,
): User {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: serviceAccountGroups(namespace),
    ...(tokenId === undefined ? {} : { extra: { "authentication.kubernetes.io/credential-id": [`JTI=${tokenId}`] } }),
  };
}

export function serviceAccountGroups(namespace: string): string[] {
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
