import { byKey } from "@tmc/kube/compare.ts";
import type { ReferenceKind } from "../../api/workload-kinds.ts";
import { type Fields, groupOf, isFields, objectsAt, textAt, valueAt } from "../../model/json.ts";
import { podSpecOf } from "../desired/pod-spec.ts";
import { isGeneratedToken, isServerMade } from "../desired/server-fields.ts";
import type { Workload } from "../sync-objects.ts";

/** Something in the same namespace that a workload cannot do without. */
export type Reference = Readonly<{
  kind: ReferenceKind;
  name: string;
  /** Whether the workload runs without it too. */
  optional: boolean;
}>;

/**
 * What an object refers to in its own namespace: each thing once, sorted by kind and name. What every server makes by
 * itself is not among it, nor is what could not exist.
 */
export function referencesOf(object: Workload): readonly Reference[] {
  const found = new Map<string, Reference>();
  for (const reference of [...fromPodSpec(object), ...fromIngress(object), ...fromAccount(object)]) {
    const { kind, name, optional } = reference;
    if (isServerMade(kind, name) || !canExist(name)) continue;
    const key = `${kind}/${name}`;
    const isOptional = optional && found.get(key)?.optional !== false;
    found.set(key, { kind, name, optional: isOptional });
  }
  return [...found].toSorted(byKey).map(([, reference]) => reference);
}

/** A hub does not look into pod templates, so a name may be anything; only what is a name can be looked for. */
function canExist(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name);
}

function fromPodSpec(object: Workload): readonly Reference[] {
  const spec = podSpecOf(object);
  if (spec === undefined) return [];
  // A StatefulSet gives its own claims the place of volumes that have the same name.
  const planned = new Set(
    objectsAt(object, "spec", "volumeClaimTemplates").map((claim) => textAt(claim, "metadata", "name")),
  );
  const volumes = objectsAt(spec, "volumes").filter((volume) => !planned.has(textAt(volume, "name")));
  const containers = ["initContainers", "containers", "ephemeralContainers"].flatMap((list) => objectsAt(spec, list));
  const account = textAt(spec, "serviceAccountName") || textAt(spec, "serviceAccount");
  return [
    ...volumes.flatMap(fromVolume),
    ...containers.flatMap(fromContainer),
    ...objectsAt(spec, "imagePullSecrets").map((secret) => needed("Secret", textAt(secret, "name"))),
    needed("ServiceAccount", account),
  ];
}

function fromVolume(volume: Fields): readonly Reference[] {
  const projected = objectsAt(volume, "projected", "sources");
  return [
    ...named("ConfigMap", volume.configMap),
    ...named("Secret", volume.secret, "secretName"),
    ...projected.flatMap((source) => [...named("ConfigMap", source.configMap), ...named("Secret", source.secret)]),
    needed("PersistentVolumeClaim", textAt(volume, "persistentVolumeClaim", "claimName")),
    needed("Secret", textAt(volume, "csi", "nodePublishSecretRef", "name")),
    needed("Secret", textAt(volume, "azureFile", "secretName")),
    // cephfs, cinder, flexVolume, iscsi, rbd, scaleIO and storageos all have the password under the same name.
    ...Object.values(volume).map((source) => needed("Secret", textAt(source, "secretRef", "name"))),
  ];
}

function fromContainer(container: Fields): readonly Reference[] {
  const variables = objectsAt(container, "env").flatMap((variable) => [
    ...named("ConfigMap", valueAt(variable, "valueFrom", "configMapKeyRef")),
    ...named("Secret", valueAt(variable, "valueFrom", "secretKeyRef")),
  ]);
  const sources = objectsAt(container, "envFrom").flatMap((source) => [
    ...named("ConfigMap", source.configMapRef),
    ...named("Secret", source.secretRef),
  ]);
  return [...variables, ...sources];
}

function fromIngress(object: Workload): readonly Reference[] {
  if (object.kind !== "Ingress" || groupOf(object.apiVersion) !== "networking.k8s.io") return [];
  return objectsAt(object, "spec", "tls").map((entry) => needed("Secret", textAt(entry, "secretName")));
}

function fromAccount(object: Workload): readonly Reference[] {
  if (object.kind !== "ServiceAccount" || object.apiVersion !== "v1") return [];
  const account = object.metadata.name ?? "";
  const namesIn = (list: string): readonly string[] =>
    objectsAt(object, list)
      .map((secret) => textAt(secret, "name"))
      .filter((name) => !isGeneratedToken(name, account));
  return [
    ...namesIn("imagePullSecrets").map((name) => needed("Secret", name)),
    // This list says what pods may mount, not what they do.
    ...namesIn("secrets").map((name): Reference => ({ kind: "Secret", name, optional: true })),
  ];
}

/** Every name is put forward, the empty one too: `referencesOf` leaves out what cannot be. */
function needed(kind: Reference["kind"], name: string): Reference {
  return { kind, name, optional: false };
}

function named(kind: Reference["kind"], source: unknown, field = "name"): readonly Reference[] {
  if (!isFields(source)) return [];
  return [{ kind, name: textAt(source, field), optional: source.optional === true }];
}
