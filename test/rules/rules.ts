import { deletionRules } from "./deletion-rules.ts";
import { deploymentRules } from "./deployment-rules.ts";
import { hostileRules } from "./hostile-rules.ts";
import { identityRules } from "./identity-rules.ts";
import { incidentRules } from "./incident-rules.ts";
import { observationRules } from "./observation-rules.ts";
import { ownershipRules } from "./ownership-rules.ts";
import { restoreRules } from "./restore-rules.ts";
import type { Rule } from "./rule.ts";
import { secretRules } from "./secret-rules.ts";
import { successorRules } from "./successor-rules.ts";
import { upsyncRules } from "./upsync-rules.ts";
import { capacityRules, volumeRules } from "./volume-rules.ts";

/** All rules that are known to protect what users have. */
export const rules: readonly Rule[] = [
  ...incidentRules,
  ...deletionRules,
  ...ownershipRules,
  ...identityRules,
  ...upsyncRules,
  ...successorRules,
  ...volumeRules,
  ...capacityRules,
  ...restoreRules,
  ...observationRules,
  ...secretRules,
  ...hostileRules,
  ...deploymentRules,
];
