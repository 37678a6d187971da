import { deletionRules } from "./deletion-rules.ts";
import { hostileRules } from "./hostile-rules.ts";
import { incidentRules } from "./incident-rules.ts";
import type { Rule } from "./rule.ts";

/** All rules that are known to protect what users have. */
export const rules: readonly Rule[] = [...incidentRules, ...deletionRules, ...hostileRules];
