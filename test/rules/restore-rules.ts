import type { NamedTest, Removal, Rule } from "./rule.ts";

const controller = "test/lib/controller/restores.test.ts";
const store = "packages/kube/src/informer/object-store.ts";

const kcp = (row: string): NamedTest => ({
  file: controller,
  titles: [
    "a kcp that was restored from a backup, %s",
    "kcp's state is the truth again: copies are changed back and written again, and none is deleted",
  ],
  rows: [row],
});
const cluster = (row: string): NamedTest => ({
  file: controller,
  titles: [
    "a cluster that was restored from a backup, %s",
    "copies that it no longer has are written again, and old ones are changed",
  ],
  rows: [row],
});

const titled = (title: string): NamedTest => ({
  file: "packages/kube/test/informer/object-store.test.ts",
  titles: ["an object store", title],
});

const listIsTruth: Removal = {
  file: store,
  text: "if (listVersion !== undefined) return compareResourceVersions(versionOf(before), listVersion) > 0;",
  without: "",
};
const answerIsTruth: Removal = {
  file: store,
  text: "before === atRequest ? resourceVersion !== versionOf(before) : isNewer(resourceVersion, before);",
  without: "isNewer(resourceVersion, before);",
};

const believed = "after a restore of kcp or of a cluster the controller goes on with what was before";

/** What makes a restore from a backup take effect. */
export const restoreRules: readonly Rule[] = [
  {
    incident: believed,
    rule: "a list is believed, and so is the answer after a conflict",
    removals: [listIsTruth, answerIsTruth],
    test: kcp("with bumped revisions"),
  },
  {
    incident: believed,
    rule: "a complete list replaces everything that is not newer than the list",
    removals: [listIsTruth],
    test: titled(
      "stores the objects of a list that is not older than the watch, with any version: a restored server keeps old ones",
    ),
  },
  {
    incident: believed,
    rule: "an answer of the server replaces a cached object with any version",
    removals: [answerIsTruth],
    test: titled("believes an answer with a smaller version if nothing has changed the entry since the request"),
  },
  {
    incident: believed,
    rule: "a list follows the interruption of a watch, because a watch from a version in the future is silent",
    removals: [
      {
        file: "packages/kube/src/informer/watch.ts",
        text: "if (isInterrupted) return;",
        without: "if (!isInterrupted) return;",
      },
    ],
    test: cluster("whose revisions went back"),
  },
  {
    incident: believed,
    rule: "a list follows a failed probe, because a cluster may be restored while its watches stay open",
    removals: [
      {
        file: "lib/controller/run.ts",
        text: "onProbeFailed: (key) => syncParts?.relistSoon(key),",
        without: "onProbeFailed: () => {},",
      },
    ],
    test: {
      file: controller,
      titles: [
        "a cluster whose probe fails",
        "its copies are listed again: it may be restored while its watches stay open",
      ],
    },
  },
  {
    incident: believed,
    rule: "a copy that went back to an older version has changed, whatever its generation",
    removals: [
      {
        file: "lib/downstream/copy-cache.ts",
        text: "compareResourceVersions(after.resourceVersion, before.resourceVersion) >= 0 &&",
        without: "",
      },
    ],
    test: {
      file: "test/lib/downstream/copy-cache.test.ts",
      titles: [
        "a list of a cluster that was restored from a backup",
        "a copy that went back is a change, whatever its generation, and its state is the listed one",
      ],
    },
  },
  {
    incident: "a copy on a restored cluster keeps overrides that its placement does not have any more",
    rule: "a copy that names an earlier manifest than its sync record is written again",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: "isHashApplied && copy.writtenHash !== undefined && copy.writtenHash !== desired.hash;",
        without: "false;",
      },
    ],
    test: {
      file: controller,
      titles: [
        "a cluster that was restored from a backup, %s",
        "an old copy loses what its workload does not have any more, also if its generation is the same",
      ],
      rows: ["whose revisions went back"],
    },
  },
  {
    incident: believed,
    rule: "an object that went back to an older version is sent, whatever its fingerprint",
    removals: [
      {
        file: "lib/relay/event-to-key/workload-changes.ts",
        text: "isRestored && before?.version !== versionNumber(metadata.resourceVersion);",
        without: "false;",
      },
    ],
    test: {
      file: "test/lib/relay/event-to-key/workload-tracker.test.ts",
      titles: ["sends a workload again when it or its sync record went back to an older version"],
    },
  },
  {
    incident: "a restore of kcp deletes the copies of ConfigMaps that were created after the backup",
    rule: "a workload without our finalizer is deleted only if the server still has its sync record",
    removals: [
      {
        file: "lib/sync/observed.ts",
        text: "if (isDeletedByAbsence) return { workload, record: await workloads.readRecordUncached(recordAddress, signal) };",
        without: "if (isDeletedByAbsence) return { workload, record };",
      },
    ],
    test: {
      file: controller,
      titles: [
        "a kcp that was restored from a backup, %s, with ConfigMaps as workloads",
        "a ConfigMap that it does not know keeps its copies if the sync records are listed %s",
      ],
      rows: ["with bumped revisions", "last"],
    },
  },
  {
    incident: "a restored kcp gets a sync record without a workload, which holds its copies for ever",
    rule: "a lost sync record is created again only if the server has the workload",
    removals: [
      {
        file: "lib/sync/observed.ts",
        text: "isRecordLost ? await workloads.readUncached(key, signal) : workload, record",
        without: "isRecordLost ? workload : workload, record",
      },
    ],
    test: {
      file: controller,
      titles: [
        "a kcp that was restored from a backup, %s",
        "a Deployment that it does not know keeps its copies and gets no record if %s are listed last",
      ],
      rows: ["with bumped revisions", "deployments"],
    },
  },
  {
    incident: "SQS drops a change after a restore, because its version was used before",
    rule: "a message carries no version that was used before a restore",
    removals: [
      {
        file: "lib/relay/event-to-key/restore-detector.ts",
        text: "return version > 0 && version <= usedUpTo ? undefined : resourceVersion;",
        without: "return resourceVersion;",
      },
    ],
    test: {
      file: "test/lib/relay/event-to-key/restore-detector.test.ts",
      titles: ["a detector of restores", "gives messages no version that was used before the restore"],
    },
  },
];
