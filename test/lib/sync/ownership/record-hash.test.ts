import { expect, test } from "vitest";
import {
  lastWrittenHashAnnotation,
  matchesLastWrittenHash,
  recordHash,
} from "../../../../lib/sync/ownership/record.ts";

const workload = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
const record = (spec: object = {}, finalizers?: readonly string[]) => ({
  spec: { workload, clusters: ["east"], ...spec },
  metadata: { name: "web", ...(finalizers === undefined ? {} : { finalizers: [...finalizers] }) },
});
const annotated = (one: ReturnType<typeof record>, hash = recordHash(one)) => ({
  ...one,
  metadata: { ...one.metadata, annotations: { [lastWrittenHashAnnotation]: hash } },
});

const same: Record<string, [ReturnType<typeof record>, ReturnType<typeof record>]> = {
  "the order of fields": [
    record(),
    { ...record(), spec: { clusters: ["east"], workload: { name: "web", kind: "Deployment", apiVersion: "apps/v1" } } },
  ],
  "a field without a value": [record(), record({ placement: undefined })],
  "whether an empty list of finalizers is omitted": [record(), record({}, [])],
};
test.each(Object.keys(same))("the hash of a record does not depend on %s", (what) => {
  const [one, other] = same[what] ?? [];
  expect(one && recordHash(one)).toBe(other && recordHash(other));
});

const changed: Record<string, ReturnType<typeof record>> = {
  "a cluster": record({ clusters: ["west"] }),
  "another cluster": record({ clusters: ["east", "west"] }),
  "the placement": record({ placement: "all" }),
  "a finalizer": record({}, ["a/b"]),
};
test.each(Object.keys(changed))("the last written hash does not match after a change of %s", (what) => {
  const now = changed[what] ?? record();
  expect(matchesLastWrittenHash(annotated(record()))).toBe(true);
  expect(matchesLastWrittenHash(annotated(now, recordHash(record())))).toBe(false);
});

test("a record without the last written hash does not match", () => {
  expect(matchesLastWrittenHash(record())).toBe(false);
});
