import { ApiFailure } from "../machinery/api-errors.ts";
import type { Attributes } from "../server/frontend.ts";
import type { ApiRequest, User } from "../server/http.ts";
import { type AccessDecision, forbiddenRequest } from "./rbac.ts";
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
  /** Static bearer tokens and their users. */
  tokens?: ReadonlyMap<string, User> | undefined;
  serviceAccountTokens?: ServiceAccountTokens | undefined;
  /**
   * Returns the current uid of a service account, or undefined if it is gone. Tokens of an earlier account with the
   * same name are rejected.
   */
  findServiceAccount?: ((account: ServiceAccountIdentity) => string | undefined) | undefined;
  /** Decides whether a user may impersonate another in the logical cluster that the request names. */
  mayImpersonate: (user: User, attributes: Attributes, request: ApiRequest) => AccessDecision;
}>;

/** Identifies the sender of a request. */
export interface Authenticator {
  /**
   * Throws 401 for invalid credentials; returns the anonymous user if there are none. Follows impersonation headers.
   */
  authenticate(request: ApiRequest): User;
  /** Returns the owner of a bearer token, or undefined for an unknown or expired token. */
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
      const impersonation = parseImpersonation(request);
      if (impersonation === undefined) return user;
      for (const attributes of impersonation.requiredAccess) {
        const { allowed, reason } = options.mayImpersonate(user, attributes, request);
        if (!allowed) throw forbiddenRequest(user, attributes, reason);
      }
      return impersonation.user;
    },
  };
}

/** The 401 for invalid credentials. */
export function unauthorized(): ApiFailure {
  return new ApiFailure(401, "Unauthorized", "Unauthorized");
}

type Impersonation = Readonly<{ user: User; requiredAccess: readonly Attributes[] }>;

const extraPrefix = "impersonate-extra-";

function parseImpersonation({ headers, path }: ApiRequest): Impersonation | undefined {
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
  const requiredAccess = [
    account === null
      ? impersonateAttributes("", "users", name)
      : { ...impersonateAttributes("", "serviceaccounts", accountName), namespace },
    ...groups.map((group) => impersonateAttributes("", "groups", group)),
    ...(uid === undefined ? [] : [impersonateAttributes("authentication.k8s.io", "uids", uid)]),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => ({
        ...impersonateAttributes("authentication.k8s.io", "userextras", value),
        subresource: key,
      })),
    ),
  ];
  const ownGroups = groups.length === 0 && account !== null ? serviceAccountGroups(namespace) : groups;
  const user: User = {
    name,
    ...(uid === undefined ? {} : { uid }),
    groups: ownGroups,
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
  return { user: withGroup(user, name === anonymous.name ? "system:unauthenticated" : authenticated), requiredAccess };
}

function impersonateAttributes(group: string, resource: string, name: string): Attributes {
  return { verb: "impersonate", group, version: "v1", resource, subresource: "", namespace: "", name, path: "" };
}

function withGroup(user: User, group: string): User {
  return user.groups.includes(group) ? user : { ...user, groups: [...user.groups, group] };
}
