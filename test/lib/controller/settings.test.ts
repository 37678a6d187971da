import { expect, test } from "vitest";
import { type ControllerSettings, tenantConcurrencyOf } from "../../../lib/controller/settings.ts";

const cases: Record<string, { said: Partial<ControllerSettings>; isShared: boolean; share: number | undefined }> = {
  "half of the usual workers": { said: {}, isShared: true, share: 3 },
  "half of many": { said: { workers: 20 }, isShared: true, share: 10 },
  "the only worker there is": { said: { workers: 1 }, isShared: true, share: 1 },
  "all workers where nobody else can come": { said: { workers: 20 }, isShared: false, share: undefined },
  "what was said, whoever else can come": { said: { tenantConcurrency: 4 }, isShared: false, share: 4 },
};
test.each(Object.entries(cases))("one tenant has %s", (_name, { said, isShared, share }) => {
  expect(tenantConcurrencyOf(said, isShared)).toBe(share);
});
