import { expect, test } from "vitest";
import { tenantConcurrencyOf } from "../../../lib/engine/settings.ts";

const cases: Record<string, { configured?: number; workers?: number; isShared: boolean; share: number | undefined }> = {
  "half of the default workers": { isShared: true, share: 3 },
  "half of many workers": { workers: 20, isShared: true, share: 10 },
  "the only worker": { workers: 1, isShared: true, share: 1 },
  "all workers if it is the only tenant": { workers: 20, isShared: false, share: undefined },
  "the configured number in any case": { configured: 4, isShared: false, share: 4 },
};
test.each(Object.entries(cases))("one tenant can use %s", (_name, { configured, workers = 5, isShared, share }) => {
  expect(tenantConcurrencyOf({ tenantConcurrency: configured }, { workers, isShared })).toBe(share);
});
