import { createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { textAt, textsAt, valueAt } from "../fields.ts";
import type { User } from "../http.ts";

export type ServiceAccountIdentity = Readonly<{ cluster: string; namespace: string; name: string; uid: string }>;

/** Issues and reads the bearer tokens of service accounts. Only the server that issued a token believes it. */
export interface ServiceAccountTokens {
  readonly issuer: string;
  issue(account: ServiceAccountIdentity, options: IssueOptions): string;
  /** Whom a token names; undefined when it is not ours, has been changed, or has expired. */
  read(
    token: string,
    now: number,
  ): (ServiceAccountIdentity & Readonly<{ id: string; audiences: string[] }>) | undefined;
}

export type IssueOptions = Readonly<{
  now: number;
  /** Without it the token is good for as long as the account is. */
  expirationSeconds?: number | undefined;
  audiences?: readonly string[] | undefined;
}>;

/** Creates an issuer with a key of its own. The key lives in memory, so tokens end with the server. */
export function createServiceAccountTokens(issuer = "https://kubernetes.default.svc"): ServiceAccountTokens {
  const key = randomBytes(32);
  const sign = (content: string) => createHmac("sha256", key).update(content).digest();
  return {
    issuer,
    issue: ({ cluster, namespace, name, uid }, { now, expirationSeconds, audiences }) => {
      const seconds = Math.trunc(now / 1000);
      const claims = {
        aud: audiences === undefined || audiences.length === 0 ? [issuer] : audiences,
        ...(expirationSeconds === undefined ? {} : { exp: seconds + expirationSeconds }),
        iat: seconds,
        iss: issuer,
        jti: randomUUID(),
        "kubernetes.io": {
          ...(cluster === "" ? {} : { clusterName: cluster }),
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
      const given = Buffer.from(token.slice(end + 1), "base64url");
      const expected = sign(content);
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
      const claims: unknown = JSON.parse(Buffer.from(content.split(".")[1] ?? "", "base64url").toString());
      const expires = valueAt(claims, "exp");
      if (typeof expires === "number" && now / 1000 >= expires) return undefined;
      const kubernetes = valueAt(claims, "kubernetes.io");
      return {
        cluster: textAt(kubernetes, "clusterName"),
        namespace: textAt(kubernetes, "namespace"),
        name: textAt(kubernetes, "serviceaccount", "name"),
        uid: textAt(kubernetes, "serviceaccount", "uid"),
        id: textAt(claims, "jti"),
        audiences: textsAt(claims, "aud"),
      };
    },
  };
}

/** The user that a service account is. */
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
