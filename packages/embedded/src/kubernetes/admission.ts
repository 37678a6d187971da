import { textAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import { ApiFailure } from "../machinery/api-errors.ts";
import { ensureObject, setDefault } from "../machinery/fields.ts";

import type { Store } from "../storage/store.ts";

type Admit = (object: KubeObject, store: Store) => void;

/** Adds the admission of a cluster that runs workloads to a definition. */
export function withClusterAdmission(definition: ResourceDefinition, store: Store): ResourceDefinition {
  const { group, plural, hooks } = definition;
  const admit = admissions[`${group}/${plural}`];
  if (admit === undefined) return definition;
  // Not spread, because `schema` is linked on first access.
  return Object.create(definition, {
    hooks: {
      enumerable: true,
      value: {
        ...hooks,
        prepareCreate: (object, context) => {
          admit(object, store);
          hooks?.prepareCreate?.(object, context);
        },
      } satisfies ResourceDefinition["hooks"],
    },
  });
}

/** Status fields that a real server always writes for a new object. */
const withStatus =
  (first: Readonly<Record<string, number>>): Admit =>
  (object) => {
    const status = ensureObject(object, "status");
    for (const [name, value] of Object.entries(first)) setDefault(status, name, value);
  };

const admissions: Readonly<Record<string, Admit | undefined>> = {
  "apps/replicasets": withStatus({ replicas: 0 }),
  "/replicationcontrollers": withStatus({ replicas: 0 }),
  "apps/statefulsets": withStatus({ replicas: 0, availableReplicas: 0 }),
  "apps/daemonsets": withStatus({
    currentNumberScheduled: 0,
    numberMisscheduled: 0,
    desiredNumberScheduled: 0,
    numberReady: 0,
  }),
  "autoscaling/horizontalpodautoscalers": withStatus({ desiredReplicas: 0 }),
  "policy/poddisruptionbudgets": withStatus({
    disruptionsAllowed: 0,
    currentHealthy: 0,
    desiredHealthy: 0,
    expectedPods: 0,
  }),
  "/persistentvolumeclaims": setStorageClass,
  "/pods": requireServiceAccount,
};

const suffixLength = 5;
const isDefaultClass = "storageclass.kubernetes.io/is-default-class";

function setStorageClass(claim: KubeObject, store: Store): void {
  const spec = ensureObject(claim, "spec");
  if (spec.storageClassName !== undefined || textAt(spec, "volumeName") !== "") return;
  const defaultClass = store
    .list("storageclasses.storage.k8s.io", { logicalCluster: "" })
    .find(({ metadata }) => metadata.annotations?.[isDefaultClass] === "true");
  if (defaultClass?.metadata.name !== undefined) spec.storageClassName = defaultClass.metadata.name;
}

function requireServiceAccount(pod: KubeObject, store: Store): void {
  const { namespace = "", name = "", generateName = "" } = pod.metadata;
  const account = textAt(pod, "spec", "serviceAccountName") || textAt(pod, "spec", "serviceAccount");
  // The default account is created after its namespace, so it may not exist yet.
  if (account === "" || account === "default") return;
  if (store.get({ storage: "serviceaccounts", logicalCluster: "", namespace, name: account }) !== undefined) return;
  const why = `error looking up service account ${namespace}/${account}: serviceaccount "${account}" not found`;
  // A real server reports the name before it has appended the generated suffix.
  const isGenerated = generateName !== "" && name.length === generateName.length + suffixLength;
  const shown = isGenerated ? generateName : name;
  throw new ApiFailure(403, "Forbidden", `pods "${shown}" is forbidden: ${why}`, { name: shown, kind: "pods" });
}
