import { deletionRules } from "./deletion-rules.ts";
import { incidentRules } from "./incident-rules.ts";
import type { Rule } from "./rule.ts";
import { successorRules } from "./successor-rules.ts";
import { volumeRules } from "./volume-rules.ts";

/** All rules that are known to protect what users have. */
export const rules: readonly Rule[] = [...incidentRules, ...deletionRules, ...successorRules, ...volumeRules];
