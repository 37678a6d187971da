import type { Attributes } from "../frontend.ts";
import type { User } from "../http.ts";
import type { Decision, PolicyRule } from "./rbac.ts";
import type { ServiceAccountTokens } from "./service-account-tokens.ts";

/** What reviews and token requests need to know about who may do what; each embedded server gives it. */
export interface Access {
  decide(cluster: string, user: User, attributes: Attributes): Decision;
  /** Every rule that applies to the user in a namespace. */
  rules(cluster: string, user: User, namespace: string): readonly PolicyRule[];
  authenticateToken(token: string): User | undefined;
  readonly serviceAccountTokens: ServiceAccountTokens;
}
