import type { Attributes } from "../server/frontend.ts";
import type { User } from "../server/http.ts";
import type { AccessDecision, RbacRule } from "./rbac.ts";
import type { ServiceAccountTokens } from "./service-account-tokens.ts";

/** Authorization as access reviews and token requests need it. Each embedded server provides one. */
export interface Access {
  decide(logicalCluster: string, user: User, attributes: Attributes): AccessDecision;
  /** Lists every rule that applies to the user in a namespace. */
  rules(logicalCluster: string, user: User, namespace: string): readonly RbacRule[];
  authenticateToken(token: string): User | undefined;
  readonly serviceAccountTokens: ServiceAccountTokens;
}
