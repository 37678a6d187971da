import type { KubeObject } from "@tmc/kube/kube-object.ts";

/** What a tracker remembers of an object's version. */
export type SeenVersion = Readonly<{ version: number }>;

/**
 * Notices that the upstream server was restored from a backup. Its revision goes back, or, if the operator bumps it, single
 * objects have older versions than before. Then an object may have changed although its fingerprint is the same: the
 * generation counts from an earlier value again, and a status that TMC wrote is an older one.
 */
export interface RestoreDetector {
  /** Whether a complete list shows that the server was restored since `seen`. */
  isRestored(seen: ReadonlyMap<string, SeenVersion>, list: RestoreEvidence): boolean;
  /**
   * The version that identifies a change in the queue; undefined for a version that may have been used before the restore:
   * SQS would drop the message as a duplicate.
   */
  messageVersion(resourceVersion: string | undefined): string | undefined;
}

export type RestoreEvidence = Readonly<{
  objects: readonly KubeObject[];
  idOf: (object: KubeObject) => string;
  /** The version of the list, where it is known. */
  resourceVersion: string | undefined;
}>;

/** Creates a detector for one logical cluster. */
export function createRestoreDetector(): RestoreDetector {
  /** Versions up to this one were used before a restore. */
  let usedUpTo = 0;
  return {
    isRestored: (seen, { objects, idOf, resourceVersion }) => {
      let newest = 0;
      for (const { version } of seen.values()) newest = Math.max(newest, version);
      const isBack =
        isOlder(versionNumber(resourceVersion), newest) ||
        objects.some((object) => wentBack(object, seen.get(idOf(object))));
      if (isBack) usedUpTo = Math.max(usedUpTo, newest);
      return isBack;
    },
    messageVersion: (resourceVersion) => {
      const version = versionNumber(resourceVersion);
      return version > 0 && version <= usedUpTo ? undefined : resourceVersion;
    },
  };
}

/** A resourceVersion as a number, which takes less memory than its text; 0 if it has no order. */
export function versionNumber(resourceVersion: string | undefined): number {
  const version = Number(resourceVersion);
  return Number.isSafeInteger(version) ? version : 0;
}

/** Whether an object has an older version than the one that was seen before. */
function wentBack({ metadata }: KubeObject, before: SeenVersion | undefined): boolean {
  return before !== undefined && isOlder(versionNumber(metadata.resourceVersion), before.version);
}

const isOlder = (version: number, other: number): boolean => version > 0 && version < other;
