import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { ApiFailure } from "../api-failure.ts";
import type { ResourceDefinition } from "../definition.ts";
import { ensureObject, setDefault } from "../field-changes.ts";
import { textAt } from "../fields.ts";
import type { Store } from "../store.ts";

type Admit = (object: KubeObject, store: Store) => void;

/** The definition as a cluster admits its objects: with what only a cluster that runs workloads can say about new ones. */
export function admitted(definition: ResourceDefinition, store: Store): ResourceDefinition {
  const { group, plural, hooks } = definition;
  const admit = admissions[`${group}/${plural}`];
  if (admit === undefined) return definition;
  // Not spread: a definition's schema is linked when it is first looked at.
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

/** What a real server writes into the status of a new object, because these fields are never left out. */
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
  const standard = store
    .list("storageclasses.storage.k8s.io", { cluster: "" })
    .find(({ metadata }) => metadata.annotations?.[isDefaultClass] === "true");
  if (standard?.metadata.name !== undefined) spec.storageClassName = standard.metadata.name;
}

function requireServiceAccount(pod: KubeObject, store: Store): void {
  const { namespace = "", name = "", generateName = "" } = pod.metadata;
  const account = textAt(pod, "spec", "serviceAccountName") || textAt(pod, "spec", "serviceAccount");
  // The default account is made with its namespace; it may be a moment late.
  if (account === "" || account === "default") return;
  if (store.get({ storage: "serviceaccounts", cluster: "", namespace, name: account }) !== undefined) return;
  const why = `error looking up service account ${namespace}/${account}: serviceaccount "${account}" not found`;
  // A real server looks before it has made up the end of a name.
  const isGenerated = generateName !== "" && name.length === generateName.length + suffixLength;
  const shown = isGenerated ? generateName : name;
  throw new ApiFailure(403, "Forbidden", `pods "${shown}" is forbidden: ${why}`, { name: shown, kind: "pods" });
}
