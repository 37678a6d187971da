import { ApiFailure } from "../api-failure.ts";
import type { Attributes } from "../frontend.ts";
import type { ApiRequest, User } from "../http.ts";
import { type Decision, forbidden } from "./rbac.ts";
import {
  type ServiceAccountIdentity,
  type ServiceAccountTokens,
  serviceAccountGroups,
  serviceAccountUser,
} from "./service-account-tokens.ts";

export const anonymous: User = { name: "system:anonymous", groups: ["system:unauthenticated"] };
const authenticated = "system:authenticated";

export type AuthenticatorOptions = Readonly<{
  now: () => number;
  /** Bearer tokens that never change, and whose they are. */
  tokens?: ReadonlyMap<string, User> | undefined;
  serviceAccountTokens?: ServiceAccountTokens | undefined;
  /** The uid a service account has now; undefined when it is gone. A token of an earlier one of that name is refused. */
  findServiceAccount?: ((account: ServiceAccountIdentity) => string | undefined) | undefined;
  /** Whether a user may act as another, at the place that the request names. */
  mayImpersonate: (user: User, attributes: Attributes, request: ApiRequest) => Decision;
}>;

/** Tells who sent a request. */
export interface Authenticator {
  /** Throws 401 where credentials are shown and not believed; anonymous where none are. Follows impersonation headers. */
  authenticate(request: ApiRequest): User;
  /** Whose a bearer token is; undefined when nobody's. */
  authenticateToken(token: string): User | undefined;
}

/** Creates an authenticator for bearer tokens, service accounts, client certificates and impersonation. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { tokens, serviceAccountTokens, findServiceAccount, now } = options;

  const authenticateToken = (token: string): User | undefined => {
    const known = tokens?.get(token);
    if (known !== undefined) return withGroup(known, authenticated);
    const account = serviceAccountTokens?.read(token, now());
    if (account === undefined) return undefined;
    if (findServiceAccount !== undefined && findServiceAccount(account) !== account.uid) return undefined;
    return serviceAccountUser(account, account.id);
  };

  const identify = (request: ApiRequest): User => {
    const { certificate, headers } = request;
    if (certificate !== undefined) {
      return withGroup({ name: certificate.user, groups: certificate.groups }, authenticated);
    }
    const [, scheme = "", token = ""] = /^(\S+)\s+(\S+)\s*$/.exec(headers.authorization ?? "") ?? [];
    if (scheme.toLowerCase() !== "bearer") return anonymous;
    const user = authenticateToken(token);
    if (user === undefined) throw unauthorized();
    return user;
  };

  return {
    authenticateToken,
    authenticate: (request) => {
      const user = identify(request);
      const wanted = impersonated(request);
      if (wanted === undefined) return user;
      for (const attributes of wanted.needs) {
        const { allowed, reason } = options.mayImpersonate(user, attributes, request);
        if (!allowed) throw forbidden(user, attributes, reason);
      }
      return wanted.user;
    },
  };
}

/** The answer to whoever shows credentials that are not believed. */
export function unauthorized(): ApiFailure {
  return new ApiFailure(401, "Unauthorized", "Unauthorized");
}

type Impersonation = Readonly<{ user: User; needs: readonly Attributes[] }>;

const extraPrefix = "impersonate-extra-";

function impersonated({ headers, path }: ApiRequest): Impersonation | undefined {
  const name = headers["impersonate-user"];
  // Repeated headers arrive as one, joined by commas.
  const groups = (headers["impersonate-group"] ?? "").split(/,\s*/).filter((group) => group !== "");
  const uid = headers["impersonate-uid"];
  const extra = Object.fromEntries(
    Object.entries(headers).flatMap(([header, value]) =>
      header.startsWith(extraPrefix) && value !== undefined
        ? [[decodeURIComponent(header.slice(extraPrefix.length)), value.split(/,\s*/)]]
        : [],
    ),
  );
  if (name === undefined || name === "") {
    if (groups.length === 0 && uid === undefined && Object.keys(extra).length === 0) return undefined;
    const message = `Internal Server Error: ${JSON.stringify(path)}: requested impersonation without impersonating a user`;
    throw new ApiFailure(500, "InternalError", message);
  }

  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  const [, namespace = "", accountName = ""] = account ?? [];
  const needs = [
    account === null
      ? impersonating("", "users", name)
      : { ...impersonating("", "serviceaccounts", accountName), namespace },
    ...groups.map((group) => impersonating("", "groups", group)),
    ...(uid === undefined ? [] : [impersonating("authentication.k8s.io", "uids", uid)]),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => ({ ...impersonating("authentication.k8s.io", "userextras", value), subresource: key })),
    ),
  ];
  const ownGroups = groups.length === 0 && account !== null ? serviceAccountGroups(namespace) : groups;
  const user: User = {
    name,
    ...(uid === undefined ? {} : { uid }),
    groups: ownGroups,
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
  return { user: withGroup(user, name === anonymous.name ? "system:unauthenticated" : authenticated), needs };
}

function impersonating(group: string, resource: string, name: string): Attributes {
  return { verb: "impersonate", group, version: "v1", resource, subresource: "", namespace: "", name, path: "" };
}

function withGroup(user: User, group: string): User {
  return user.groups.includes(group) ? user : { ...user, groups: [...user.groups, group] };
}
