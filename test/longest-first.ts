import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What takes longest, the longest first: the simulation for its work, the whole system for its waits. */
const longest = [
  "test/docs/pages.test.ts",
  "test/simulation/simulation.test.ts",
  "test/simulation/kill-at-every-write.test.ts",
  "test/simulation/laws.test.ts",
  "test/e2e/sync.test.ts",
  "test/e2e/upsync.test.ts",
  "test/e2e/engine.test.ts",
];

/** Begins with what takes longest, also where no earlier run has left its times: whatever waits then has others to fill its wait. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const placeOf = ({ moduleId }: TestSpecification): number => {
      const place = longest.findIndex((path) => moduleId.endsWith(`/${path}`));
      return place < 0 ? longest.length : place;
    };
    return sorted.toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
