import { expect, test } from "vitest";
import { isAsWritten, recordMark, recordMarkAnnotation } from "../../../../lib/sync/ownership/record.ts";

const workload = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
const record = (spec: object = {}, finalizers?: readonly string[]) => ({
  spec: { workload, clusters: ["east"], ...spec },
  metadata: { name: "web", ...(finalizers === undefined ? {} : { finalizers: [...finalizers] }) },
});
const marked = (one: ReturnType<typeof record>, mark = recordMark(one)) => ({
  ...one,
  metadata: { ...one.metadata, annotations: { [recordMarkAnnotation]: mark } },
});

const same: Record<string, [ReturnType<typeof record>, ReturnType<typeof record>]> = {
  "the order of fields": [
    record(),
    { ...record(), spec: { clusters: ["east"], workload: { name: "web", kind: "Deployment", apiVersion: "apps/v1" } } },
  ],
  "a field without a value": [record(), record({ placement: undefined })],
  "no finalizers, and none named": [record(), record({}, [])],
};
test.each(Object.keys(same))("says the same, whatever: %s", (what) => {
  const [one, other] = same[what] ?? [];
  expect(one && recordMark(one)).toBe(other && recordMark(other));
});

const changed: Record<string, ReturnType<typeof record>> = {
  "a cluster": record({ clusters: ["west"] }),
  "another cluster": record({ clusters: ["east", "west"] }),
  "the placement": record({ placement: "all" }),
  "a finalizer": record({}, ["a/b"]),
};
test.each(Object.keys(changed))("shows that somebody else has changed %s", (what) => {
  const now = changed[what] ?? record();
  expect(isAsWritten(marked(record()))).toBe(true);
  expect(isAsWritten(marked(now, recordMark(record())))).toBe(false);
});

test("a record that nobody has marked is nobody's word", () => {
  expect(isAsWritten(record())).toBe(false);
});
