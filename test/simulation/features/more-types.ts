import { aDesiredDeployment, type DesiredWorkload, placeLabel, type WorkloadKind } from "../desired-workloads.ts";
import type { Input, Step } from "../scenario.ts";
import type { Seeded } from "../seeded.ts";
import { physicalNames, tenantPaths } from "../servers.ts";
import { volumePlacement, volumeWorkload } from "../workload-laws.ts";
import type { Feature } from "./feature.ts";

const placementNames = ["more-0", "more-1"];
const registrations = ["east", "west", "north", "south"];
const namespace = "shop";

/** The workloads of types that have their own controllers on clusters, or none. */
const kinds: Readonly<Record<string, WorkloadKind>> = {
  "m-set": "StatefulSet",
  "m-daemon": "DaemonSet",
  "m-job": "Job",
  "m-cron": "CronJob",
  "m-entry": "Ingress",
};
const names = Object.keys(kinds);

/**
 * Workloads of all types; one whose replicas an autoscaler owns, one with a service account, one that stays with its volume,
 * and one that moves without it.
 */
export const moreTypes: Feature = {
  name: "more-types",
  share: 0.1,
  exportsAllTypes: true,
  steps: (seeded, { endMs }) =>
    tenantPaths.flatMap((_, tenant) => [
      ...firstInputs(seeded, tenant).map((input): Step => ({ atMs: 0, input })),
      ...Array.from(
        { length: seeded.between(3, 10) },
        (): Step => ({ atMs: seeded.between(0, endMs), input: aChange(seeded, tenant) }),
      ),
    ]),
};

function firstInputs(seeded: Seeded, tenant: number): readonly Input[] {
  const apply = (name: string, desired: DesiredWorkload): Input => ({ kind: "apply", tenant, name, desired });
  return [
    ...placementNames.map((name) => aPlacement(seeded, tenant, name)),
    ...names.filter(() => seeded.chance(0.6)).map((name) => apply(name, aWorkload(seeded, name))),
    apply("m-scaled", withPod(seeded, "m-scaled", "more-0", {})),
    // Not placed: clusters without metrics report that it cannot scale.
    apply("m-scaler", aDesired("HorizontalPodAutoscaler", {}, scalerSpec)),
    apply("m-account", aDesired("ServiceAccount", {}, undefined)),
    apply("m-member", withPod(seeded, "m-member", seeded.pick(placementNames), { serviceAccountName: "m-account" })),
    ...[volumePlacement, "more-moves"].flatMap((name): Input[] => {
      const workload = name === volumePlacement ? volumeWorkload : "m-moves";
      const claim = { persistentVolumeClaim: { claimName: `${workload}-data` } };
      return [
        aVolumePlacement(seeded, tenant, name),
        apply(`${workload}-data`, aDesired("PersistentVolumeClaim", {}, claimSpec)),
        apply(workload, withPod(seeded, workload, name, { volumes: [{ name: "data", ...claim }] })),
      ];
    }),
  ];
}

function aChange(seeded: Seeded, tenant: number): Input {
  const kind = seeded.next();
  const cluster = seeded.pick(physicalNames);
  if (kind < 0.15) return aPlacement(seeded, tenant, seeded.pick(placementNames));
  if (kind < 0.4) return aVolumePlacement(seeded, tenant, seeded.pick([volumePlacement, "more-moves"]));
  // As an autoscaler does.
  if (kind < 0.6) {
    const deed = { namespace, name: "m-scaled", do: "scale", replicas: seeded.between(1, 4) } as const;
    return { kind: "hand", cluster, tenant, deed };
  }
  const name = seeded.pick(names);
  if (kind < 0.75) return { kind: "remove", tenant, name, of: kinds[name] ?? "Job", namespace };
  // The template of a Job cannot be changed.
  const isAnew = kinds[name] === "Job" || seeded.chance(0.1);
  return { kind: isAnew ? "apply-anew" : "apply", tenant, name, desired: aWorkload(seeded, name) };
}

const placeOf = (name: string): Record<string, string> => ({ [placeLabel]: name, tier: "front" });

function aPlacement(seeded: Seeded, tenant: number, name: string): Input {
  const workloadSelector = { labelSelector: { matchLabels: { [placeLabel]: name } }, namespaces: [namespace] };
  const [strategy, numberOfClusters] = seeded.pick([["Spread", 4] as const, ["RoundRobin", 2] as const]);
  const spec = { strategy, numberOfClusters, workloadSelector };
  return { kind: "place", tenant, name, desired: { annotations: {}, spec } };
}

/** On one cluster, which changes with what it prefers. */
function aVolumePlacement(seeded: Seeded, tenant: number, name: string): Input {
  const workloadSelector = { labelSelector: { matchLabels: { [placeLabel]: name } }, namespaces: [namespace] };
  const spec = {
    strategy: "Affinity",
    numberOfClusters: 1,
    clusterNames: seeded.some(registrations, 0.5),
    workloadSelector,
    volumes: name === volumePlacement ? "Retain" : "Recreate",
  } as const;
  return { kind: "place", tenant, name, desired: { annotations: {}, spec } };
}

function aWorkload(seeded: Seeded, name: string): DesiredWorkload {
  const kind = kinds[name] ?? "Job";
  const place = placeOf(seeded.pick(placementNames));
  const template = podTemplate(name, seeded);
  const selector = { matchLabels: { app: name } };
  switch (kind) {
    case "StatefulSet":
      return aDesired(kind, place, { replicas: seeded.between(0, 2), serviceName: "s0", selector, template });
    case "DaemonSet":
      return aDesired(kind, place, { selector, template });
    case "CronJob": {
      const jobTemplate = { spec: { template: withoutRestart(template) } };
      return aDesired(kind, place, { schedule: seeded.pick(["0 0 1 1 *", "0 0 2 1 *"]), jobTemplate });
    }
    case "Ingress": {
      const backend = { service: { name: "s0", port: { number: 80 } } };
      const paths = [{ path: "/", pathType: "Prefix", backend }];
      const rules = [{ host: seeded.pick(["one.example", "two.example"]), http: { paths } }];
      return aDesired(kind, place, { rules, ...(seeded.chance(0.5) && { tls: [{ secretName: "secret-a" }] }) });
    }
    default:
      return aDesired(kind, place, { template: withoutRestart(template) });
  }
}

type Template = ReturnType<typeof podTemplate>;

function podTemplate(name: string, seeded: Seeded) {
  const containers = [{ name: "main", image: `registry.example/shop:${seeded.between(1, 3)}` }];
  return { metadata: { labels: { app: name } }, spec: { terminationGracePeriodSeconds: 0, containers } };
}

const withoutRestart = (template: Template) => ({ ...template, spec: { ...template.spec, restartPolicy: "Never" } });

/** A Deployment with further fields of its pods. */
function withPod(seeded: Seeded, name: string, place: string, fields: object): DesiredWorkload {
  const desired = aDesiredDeployment(seeded, namespace, { name, places: [place], clusters: registrations });
  const template = podTemplate(name, seeded);
  const spec = {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: { ...template, spec: { ...template.spec, ...fields } },
  };
  return { ...desired, annotations: {}, body: { ...desired.body, spec } };
}

function aDesired(kind: WorkloadKind, labels: Record<string, string>, spec: unknown): DesiredWorkload {
  const apiVersion = apiVersions[kind] ?? "v1";
  return { namespace, labels, annotations: {}, body: { apiVersion, kind, ...(spec !== undefined && { spec }) } };
}

const apiVersions: Readonly<Partial<Record<WorkloadKind, string>>> = {
  StatefulSet: "apps/v1",
  DaemonSet: "apps/v1",
  Job: "batch/v1",
  CronJob: "batch/v1",
  Ingress: "networking.k8s.io/v1",
  HorizontalPodAutoscaler: "autoscaling/v2",
};

const claimSpec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const scalerSpec = {
  scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "m-scaled" },
  minReplicas: 1,
  maxReplicas: 9,
};
