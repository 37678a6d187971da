import type { NamedTest, Rule } from "./rule.ts";

const incident = "the record of a deleted object governs another one of the same name";
const successor = (title: string): NamedTest => ({
  file: "test/lib/sync/reconcile-successor.test.ts",
  titles: ["a workload that was deleted and created again", title],
});

/** Rules about objects that are deleted and created again under the same name. */
export const successorRules: readonly Rule[] = [
  {
    incident,
    rule: "a terminating record names the clusters of the new object before the first write there",
    removals: [
      {
        file: "lib/sync/ownership/protect.ts",
        text: "if (record.metadata.deletionTimestamp !== undefined && !isPlaced) return record;",
        without: "if (record.metadata.deletionTimestamp !== undefined) return record;",
      },
    ],
    test: successor(
      "is recorded on its clusters before the first write there, while a cluster of the earlier object is away",
    ),
  },
  {
    incident,
    rule: "a terminating record is replaced only if it names nothing else",
    removals: [
      {
        file: "lib/sync/ownership/protect.ts",
        text: "(spec.clusters ?? []).every((name) => intent.targets.includes(name)) &&",
        without: "",
      },
    ],
    test: successor(
      "is recorded on its clusters before the first write there, while a cluster of the earlier object is away",
    ),
  },
  {
    incident: "a sync record is deleted and created without a pause while the cache lags",
    rule: "a record is replaced only for a workload that the server has",
    removals: [
      {
        file: "lib/sync/ownership/protect.ts",
        text: "if (current?.metadata.uid !== workload.metadata.uid) {",
        without: "if (current?.metadata.uid !== current?.metadata.uid) {",
      },
    ],
    test: successor("gets no record for an earlier object that only the cache still has"),
  },
  {
    incident,
    rule: "a terminating record is replaced by a new one",
    removals: [
      {
        file: "lib/sync/ownership/protect.ts",
        text: "isReplaceable(record, intent) &&",
        without: "!isReplaceable(record, intent) &&\n    intent.targets.length < 0 &&",
      },
    ],
    test: successor("gets a new record if the old one is terminating, and keeps its copies"),
  },
  {
    incident,
    rule: "the placement of an earlier object has no say",
    removals: [
      {
        file: "lib/sync/observed.ts",
        text: "isOfEarlier ? undefined : record?.spec.placement",
        without: "record?.spec.placement",
      },
    ],
    test: successor("is not governed by the placement of an earlier object if the record is not terminating yet"),
  },
  {
    incident,
    rule: "the deletion of an earlier object is not taken for that of its successor",
    removals: [
      {
        file: "lib/sync/ownership/protect.ts",
        text: "deleted === undefined || !isDeleting",
        without: "deleted === undefined",
      },
    ],
    test: successor("is not taken for deleted because an earlier object was deleted while a cluster was away"),
  },
];
