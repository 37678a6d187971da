import { byKey } from "@tmc/kube/compare.ts";
import { type Fields, isFields, objectsAt, textAt, valueAt } from "@tmc/kube/json.ts";
import type { ReferenceKind } from "../../api/workload-kinds.ts";
import { apiGroupOf } from "../../model/json.ts";
import { podSpecOf } from "../desired/pod-spec.ts";
import { isGeneratedToken, isServerCreated } from "../desired/server-fields.ts";
import type { Workload } from "../sync-objects.ts";

/** A reference of a workload to an object in its own namespace that its pods need. */
export type Reference = Readonly<{
  kind: ReferenceKind;
  name: string;
  /** Whether the workload also runs without it. */
  optional: boolean;
}>;

/** Identifies a referenced object in its namespace, such as `Secret/registry`. */
export function referenceId({ kind, name }: Readonly<{ kind: string; name: string }>): string {
  return `${kind}/${name}`;
}

/**
 * The objects in its own namespace that an object references: each one once, sorted by kind and name. Objects that every server
 * creates by itself and invalid names are omitted.
 */
export function referencesOf(object: Workload): readonly Reference[] {
  const found = new Map<string, Reference>();
  for (const reference of [...fromPodSpec(object), ...fromIngress(object), ...fromServiceAccount(object)]) {
    const { kind, name, optional } = reference;
    if (isServerCreated(kind, name) || !isValidName(name)) continue;
    const id = referenceId(reference);
    const isOptional = optional && found.get(id)?.optional !== false;
    found.set(id, { kind, name, optional: isOptional });
  }
  return [...found].toSorted(byKey).map(([, reference]) => reference);
}

/** kcp does not validate pod templates, so a name may be any text; only a valid one can be read. */
function isValidName(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name);
}

function fromPodSpec(object: Workload): readonly Reference[] {
  const spec = podSpecOf(object);
  if (spec === undefined) return [];
  // The claim templates of a StatefulSet replace volumes of the same name.
  const claimTemplates = new Set(
    objectsAt(object, "spec", "volumeClaimTemplates").map((claim) => textAt(claim, "metadata", "name")),
  );
  const volumes = objectsAt(spec, "volumes").filter((volume) => !claimTemplates.has(textAt(volume, "name")));
  const containers = ["initContainers", "containers", "ephemeralContainers"].flatMap((list) => objectsAt(spec, list));
  const serviceAccount = textAt(spec, "serviceAccountName") || textAt(spec, "serviceAccount");
  return [
    ...volumes.flatMap(fromVolume),
    ...containers.flatMap(fromContainer),
    ...objectsAt(spec, "imagePullSecrets").map((secret) => required("Secret", textAt(secret, "name"))),
    required("ServiceAccount", serviceAccount),
  ];
}

function fromVolume(volume: Fields): readonly Reference[] {
  const projected = objectsAt(volume, "projected", "sources");
  return [
    ...fromSource("ConfigMap", volume.configMap),
    ...fromSource("Secret", volume.secret, "secretName"),
    ...projected.flatMap((source) => [
      ...fromSource("ConfigMap", source.configMap),
      ...fromSource("Secret", source.secret),
    ]),
    required("PersistentVolumeClaim", textAt(volume, "persistentVolumeClaim", "claimName")),
    required("Secret", textAt(volume, "csi", "nodePublishSecretRef", "name")),
    required("Secret", textAt(volume, "azureFile", "secretName")),
    // cephfs, cinder, flexVolume, iscsi, rbd, scaleIO and storageos all name their Secret in the same field.
    ...Object.values(volume).map((source) => required("Secret", textAt(source, "secretRef", "name"))),
  ];
}

function fromContainer(container: Fields): readonly Reference[] {
  const variables = objectsAt(container, "env").flatMap((variable) => [
    ...fromSource("ConfigMap", valueAt(variable, "valueFrom", "configMapKeyRef")),
    ...fromSource("Secret", valueAt(variable, "valueFrom", "secretKeyRef")),
  ]);
  const sources = objectsAt(container, "envFrom").flatMap((source) => [
    ...fromSource("ConfigMap", source.configMapRef),
    ...fromSource("Secret", source.secretRef),
  ]);
  return [...variables, ...sources];
}

function fromIngress(object: Workload): readonly Reference[] {
  if (object.kind !== "Ingress" || apiGroupOf(object.apiVersion) !== "networking.k8s.io") return [];
  return objectsAt(object, "spec", "tls").map((entry) => required("Secret", textAt(entry, "secretName")));
}

function fromServiceAccount(object: Workload): readonly Reference[] {
  if (object.kind !== "ServiceAccount" || object.apiVersion !== "v1") return [];
  const serviceAccount = object.metadata.name ?? "";
  const secretsIn = (list: string): readonly string[] =>
    objectsAt(object, list)
      .map((secret) => textAt(secret, "name"))
      .filter((name) => !isGeneratedToken(name, serviceAccount));
  return [
    ...secretsIn("imagePullSecrets").map((name) => required("Secret", name)),
    // This list names what pods may mount, not what they mount.
    ...secretsIn("secrets").map((name): Reference => ({ kind: "Secret", name, optional: true })),
  ];
}

/** An empty name is allowed here: `referencesOf` omits it. */
function required(kind: Reference["kind"], name: string): Reference {
  return { kind, name, optional: false };
}

function fromSource(kind: Reference["kind"], source: unknown, field = "name"): readonly Reference[] {
  if (!isFields(source)) return [];
  return [{ kind, name: textAt(source, field), optional: source.optional === true }];
}
