import type { Removal } from "./rule.ts";

// Rules that more than one test speaks of, and how each is taken out.

/** Only the server's word about this very object says that it is not there; any other failure says nothing. */
export const failureIsNoAbsence: Removal = {
  file: "lib/upstream/hub-requests.ts",
  text: `if (faultOf(error) !== "not-found" || error instanceof TenantNotBound) throw error;`,
  without: "if (error instanceof TenantNotBound) throw error;",
};

/** A workload that is not there, and that nobody saw being deleted, has vanished. */
export const vanishedIsNotDeleted: Removal = {
  file: "lib/sync/decide.ts",
  text: `isClaimed ? "deleted" : "vanished";`,
  without: `isClaimed ? "deleted" : "deleted";`,
};

/** What cannot be written down is not done. */
export const recordComesFirst: Removal = {
  file: "lib/sync/ownership/protect.ts",
  text: "ensureRecord(workloads, { recordAddress, workload, record, spec, isPlaced, hubId: locator.hub }, signal),",
  without:
    "ensureRecord(workloads, { recordAddress, workload, record, spec, isPlaced, hubId: locator.hub }, signal).catch(() => record),",
};

/** Nothing is evicted because of a record that is not the one that the server has now. */
export const recordIsReadBeforeEviction: Removal = {
  file: "lib/sync/eviction/evict.ts",
  text: "if (current?.metadata.uid !== record?.metadata.uid)",
  without: "if (record !== undefined && current?.metadata.uid !== record.metadata.uid)",
};

/** A workload that is wanted and fits nowhere keeps the copies that it has. */
export const lastCopyStays: Removal = {
  file: "lib/sync/targets/decide.ts",
  text: `if (intent === "placed" && !hasTargets) {`,
  without: "if (false) {",
};

/** A copy goes after the workload is ready where it belongs. */
export const readyElsewhereFirst: Removal = {
  file: "lib/sync/targets/decide.ts",
  text: `if (intent === "placed" && !isReplaced) {`,
  without: "if (false) {",
};

/** Right before a copy goes, the upstream is asked whether its deletion is held. */
export const holdsAreAsked: Removal = {
  file: "lib/sync/eviction/evict.ts",
  text: "const held = mayBeHeld ? await readHold(name, signal) : undefined;",
  without: "const held = mayBeHeld && name === undefined ? await readHold(name, signal) : undefined;",
};

/** Right before a copy goes, the clusters that replace it are asked themselves. */
export const replacementsAreAsked: Removal = {
  file: "lib/sync/eviction/evict.ts",
  text: "await replacement.confirm(signal)",
  without: "undefined",
};

/** The placement that a workload is placed by is asked for where no list has it. */
export const recordedPlacementIsAskedFor: Removal = {
  file: "lib/sync/observed.ts",
  text: "await hub.confirm<WorkloadPlacement & KubeObject>(key, signal)",
  without: "listed.find(({ metadata }) => metadata.name === key.name)",
};

/** A workload that the watch has not told of is asked for before it counts as gone. */
export const workloadIsAskedFor: Removal = {
  file: "lib/upstream/cached-workload-hub.ts",
  text: "known(address) ?? readUncached(address, requests.get, signal),",
  without: "known(address),",
};

/** So is a namespace, whose labels say which placement governs what is in it. */
export const namespaceIsAskedFor: Removal = {
  file: "lib/upstream/cached-workload-hub.ts",
  text: "known(address) ?? readUncached(address, isWhole(address) ? requests.get : requests.getMetadata, signal),",
  without: "known(address),",
};

/** The clusters that run a placement's work are asked for where no list has them. */
export const chosenClustersAreAskedFor: Removal = {
  file: "lib/placement/world.ts",
  text: "if (selectedClusters.length === 0) return [];",
  without: "if (selectedClusters.length >= 0) return [];",
};

/** No workload is looked at before everything that it depends on has been listed. */
export const allIsListedFirst: Removal = {
  file: "lib/relay/event-to-key/workload-tracker.ts",
  text: "if (listed.size < resources.size) return;",
  without: "",
};

/** Every object is looked at once in a while, whoever was told of it or not. */
export const everythingIsLookedAtAgain: Removal = {
  file: "lib/controller/resync.ts",
  text: `{ reason: "resync", keys }`,
  without: `{ reason: "resync", keys: function* (): Generator<WorkKey> {} }`,
};

/** Very many copies do not leave at once. */
export const guardCounts: Removal = {
  file: "lib/sync/eviction/deletion-guard.ts",
  text: "evicted > settings.maxCopies || (evicted > settings.alwaysAllowed && evicted * 100 > total * settings.maxPercent)",
  without: "evicted > Infinity && total > settings.maxCopies",
};

/** A namespace goes only when nothing is in it. */
export const namespaceIsEmpty: Removal = {
  file: "lib/downstream/namespaces.ts",
  text: "if (isEmpty.includes(false)) return false;",
  without: "",
};
