import { deletionRules } from "./deletion-rules.ts";
import { deploymentRules } from "./deployment-rules.ts";
import { incidentRules } from "./incident-rules.ts";
import type { Rule } from "./rule.ts";

/** All rules that are known to protect what users have. */
export const rules: readonly Rule[] = [...incidentRules, ...deletionRules, ...deploymentRules];
