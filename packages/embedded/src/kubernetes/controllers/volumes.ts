import { compareQuantities, parseQuantity } from "@tmc/kube/quantity.ts";
import type { PersistentVolume, PersistentVolumeClaim, StoredMeta } from "../kinds.ts";
import { type ClusterController, keyOf, type World } from "../world.ts";

const claimProtection = "kubernetes.io/pvc-protection";
const volumeProtection = "kubernetes.io/pv-protection";

/** Binds claims to volumes of their storage class, and keeps a claim while a pod uses it. */
export const volumeController: ClusterController = {
  name: "volumes",
  watches: {
    persistentvolumeclaims: (claim) => [keyOf(claim)],
    persistentvolumes: (volume) => {
      const claim = volume.spec.claimRef;
      // A key without a namespace is a volume's.
      return [keyOf(volume), ...(claim === undefined ? [] : [`${claim.namespace ?? ""}/${claim.name}`])];
    },
    pods: (pod) =>
      (pod.spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) =>
        persistentVolumeClaim === undefined
          ? []
          : [`${pod.metadata.namespace ?? ""}/${persistentVolumeClaim.claimName}`],
      ),
  },
  reconcile({ namespace, name }, world) {
    if (namespace === "") {
      releaseVolume(world, name);
      return undefined;
    }
    const claim = world.get("persistentvolumeclaims", namespace, name);
    if (claim === undefined) {
      releaseVolumesOf(world, namespace, name);
      return undefined;
    }
    if (claim.metadata.deletionTimestamp !== undefined) {
      unprotect(world, claim);
      return undefined;
    }
    if (claim.status?.phase !== "Bound") bindClaim(world, claim);
    return undefined;
  },
};

function unprotect(world: World, claim: PersistentVolumeClaim): void {
  const { namespace, name } = claim.metadata;
  const inUse = world
    .list("pods", namespace)
    .some((pod) => pod.spec.volumes?.some((volume) => volume.persistentVolumeClaim?.claimName === name));
  if (inUse || claim.metadata.finalizers?.includes(claimProtection) !== true) return;
  const metadata = withoutFinalizer(claim.metadata, claimProtection);
  world.update("persistentvolumeclaims", { ...claim, metadata });
}

/** Removes the protection finalizer of a terminating volume once its claim is gone. */
function releaseVolume(world: World, name: string): void {
  const volume = world.get("persistentvolumes", "", name);
  if (volume?.metadata.deletionTimestamp === undefined) return;
  const { claimRef } = volume.spec;
  const claim =
    claimRef === undefined ? undefined : world.get("persistentvolumeclaims", claimRef.namespace ?? "", claimRef.name);
  const isBound = claim !== undefined && claim.metadata.uid === claimRef?.uid;
  if (isBound || volume.metadata.finalizers?.includes(volumeProtection) !== true) return;
  world.update("persistentvolumes", { ...volume, metadata: withoutFinalizer(volume.metadata, volumeProtection) });
}

function withoutFinalizer(metadata: StoredMeta, finalizer: string): StoredMeta {
  const { finalizers = [], ...others } = metadata;
  const kept = finalizers.filter((each) => each !== finalizer);
  return kept.length === 0 ? others : { ...others, finalizers: kept };
}

/** Deletes or releases the volumes of a deleted claim, by reclaim policy. */
function releaseVolumesOf(world: World, namespace: string, name: string): void {
  for (const volume of world.list("persistentvolumes")) {
    const claim = volume.spec.claimRef;
    if (claim?.name !== name || claim.namespace !== namespace || volume.metadata.deletionTimestamp !== undefined)
      continue;
    if (volume.spec.persistentVolumeReclaimPolicy === "Delete") world.remove("persistentvolumes", volume);
    else world.writeStatus("persistentvolumes", volume, { ...volume.status, phase: "Released" });
  }
}

function bindClaim(world: World, claim: PersistentVolumeClaim): void {
  const source = "persistentvolume-controller";
  const className = claim.spec.storageClassName ?? "";
  const found = world.list("persistentvolumes").find((volume) => matchesClaim(volume, claim));
  const storageClass = className === "" ? undefined : world.get("storageclasses", "", className);
  if (found === undefined && storageClass === undefined) {
    const message =
      className === ""
        ? "no persistent volumes available for this claim and no storage class is set"
        : `storageclass.storage.k8s.io "${className}" not found`;
    const type = className === "" ? "Normal" : "Warning";
    const reason = className === "" ? "FailedBinding" : "ProvisioningFailed";
    if (claim.status?.phase !== "Pending") world.writeStatus("persistentvolumeclaims", claim, { phase: "Pending" });
    world.recordEvent(claim, { type, reason, message, source });
    return;
  }
  const capacity = claim.spec.resources?.requests ?? {};
  const claimRef = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    namespace: claim.metadata.namespace ?? "",
    name: claim.metadata.name,
    uid: claim.metadata.uid,
  };
  const volume =
    found ??
    world.create("persistentvolumes", {
      metadata: {
        name: `pvc-${claim.metadata.uid}`,
        annotations: { "pv.kubernetes.io/provisioned-by": storageClass?.provisioner ?? "" },
      },
      spec: {
        accessModes: [...(claim.spec.accessModes ?? ["ReadWriteOnce"])],
        capacity: { storage: capacity.storage ?? "1Gi" },
        claimRef,
        persistentVolumeReclaimPolicy: storageClass?.reclaimPolicy ?? "Delete",
        storageClassName: className,
        volumeMode: claim.spec.volumeMode ?? "Filesystem",
        hostPath: { path: `/var/lib/embedded/${claim.metadata.uid}`, type: "DirectoryOrCreate" },
      },
    });
  const bound =
    volume.spec.claimRef?.uid === claim.metadata.uid
      ? volume
      : world.update("persistentvolumes", { ...volume, spec: { ...volume.spec, claimRef } });
  world.writeStatus("persistentvolumes", bound, { ...bound.status, phase: "Bound" });
  const annotations = {
    ...claim.metadata.annotations,
    "pv.kubernetes.io/bind-completed": "yes",
    "pv.kubernetes.io/bound-by-controller": "yes",
  };
  const updated = world.update("persistentvolumeclaims", {
    ...claim,
    metadata: { ...claim.metadata, annotations },
    spec: { ...claim.spec, volumeName: volume.metadata.name },
  });
  world.writeStatus("persistentvolumeclaims", updated, {
    phase: "Bound",
    accessModes: [...(claim.spec.accessModes ?? [])],
    capacity: { ...capacity },
  });
  if (found === undefined) {
    const message = `Successfully provisioned volume ${volume.metadata.name}`;
    world.recordEvent(claim, { type: "Normal", reason: "ProvisioningSucceeded", message, source });
  }
}

function matchesClaim(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const { claimRef, storageClassName = "", capacity, accessModes } = volume.spec;
  if (claimRef !== undefined) {
    return (
      claimRef.name === claim.metadata.name &&
      claimRef.namespace === claim.metadata.namespace &&
      (claimRef.uid === undefined || claimRef.uid === claim.metadata.uid)
    );
  }
  if (claim.spec.volumeName !== undefined && claim.spec.volumeName !== "")
    return claim.spec.volumeName === volume.metadata.name;
  const offered = capacity?.storage ?? "0";
  const requested = claim.spec.resources?.requests?.storage ?? "0";
  return (
    storageClassName === (claim.spec.storageClassName ?? "") &&
    (claim.spec.accessModes ?? []).every((mode) => accessModes?.includes(mode) === true) &&
    compareQuantities(parseQuantity(offered), parseQuantity(requested)) >= 0
  );
}
