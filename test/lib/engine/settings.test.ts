import { expect, test } from "vitest";
import { tenantConcurrencyOf } from "../../../lib/engine/settings.ts";

const cases: Record<string, { said?: number; workers?: number; isShared: boolean; share: number | undefined }> = {
  "half of the usual workers": { isShared: true, share: 3 },
  "half of many": { workers: 20, isShared: true, share: 10 },
  "the only worker there is": { workers: 1, isShared: true, share: 1 },
  "all workers where nobody else can come": { workers: 20, isShared: false, share: undefined },
  "what was said, whoever else can come": { said: 4, isShared: false, share: 4 },
};
test.each(Object.entries(cases))("one tenant has %s", (_name, { said, workers = 5, isShared, share }) => {
  expect(tenantConcurrencyOf({ tenantConcurrency: said }, { workers, isShared })).toBe(share);
});
