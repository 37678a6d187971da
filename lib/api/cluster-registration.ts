import { conditions, observedGeneration } from "./condition.ts";
import { group, version } from "./group.ts";
import { defineKind, type KindOf } from "./kind.ts";
import { capabilityType, objectName } from "./names.ts";
import { choice, flag, list, listMap, object, required, set, text, textMap, time, whole } from "./schema.ts";

/** As many ends as are noted down; more at once are never let go without somebody's word. */
export const maxRecentDeletions = 1_000;
/** As many refusals as are noted down: a few are told, and one more is no other news. */
export const maxRejected = 64;

const capability = object("One thing that the cluster can offer.", {
  type: required(capabilityType("What it is, for example compute, storage, networking or gpu.")),
  available: flag("Whether the cluster offers it; false wins over what TMC detects.", { default: true }),
  version: text("Which version of it the cluster offers.", { minLength: 1, maxLength: 63 }),
  properties: textMap("More about it, for people and for tools of their own.", { maxProperties: 64 }),
});

const taint = object("Something that keeps work away from the cluster, unless it tolerates it.", {
  key: required(text("What it is, in the form of a label's key.", { minLength: 1, maxLength: 317 })),
  value: text("Told apart by this where one key is not enough.", { maxLength: 63 }),
  effect: required(
    choice(
      "NoSchedule lets no new work in, PreferNoSchedule only when nothing else fits, NoExecute sends away what is there too.",
      ["NoSchedule", "PreferNoSchedule", "NoExecute"],
    ),
  ),
  timeAdded: time("Since when; tolerations that last for some seconds count from here."),
});

const secretReference = object("A Secret of the same workspace.", {
  namespace: required(text("Its namespace.", { minLength: 1, maxLength: 63 })),
  name: required(objectName("Its name.")),
  key: text("Which of its entries holds the kubeconfig; kubeconfig when it is left out.", {
    minLength: 1,
    maxLength: 253,
  }),
});

const endpoint = object("Where the cluster is, for a Secret that holds a token and no kubeconfig.", {
  server: required(
    text("The address of its API server, https only.", {
      maxLength: 2048,
      pattern: "^https://[^\\s/?#@]+(/[^\\s?#]*)?$",
    }),
  ),
  caBundle: text("The certificates that its API server's own is checked against, as PEM or base64 of PEM.", {
    maxLength: 131_072,
  }),
});

const eksCluster = object(
  "An EKS cluster that carries the tag tmc.kcp.io/logical-cluster with this workspace's logical cluster as its value. TMC asks AWS for its address and signs in with its own role.",
  {
    clusterName: required(
      text("Its name in EKS.", { minLength: 1, maxLength: 100, pattern: "^[0-9A-Za-z][A-Za-z0-9_-]*$" }),
    ),
    region: required(
      text("Its region, for example eu-central-1.", {
        maxLength: 32,
        pattern: "^[a-z]{2}(-[a-z]{2,12}){1,2}-[0-9]{1,2}$",
      }),
    ),
    account: text(
      "The AWS account it is in, where that is not TMC's own. TMC then takes the role tmc/<logical cluster> there, with the logical cluster as external id.",
      { pattern: "^[0-9]{12}$" },
    ),
  },
);

const quantity = (description: string) => text(description, { minLength: 1, maxLength: 63 });

const amounts = (description: string) =>
  object(description, {
    cpu: quantity("Processors, as a quantity."),
    memory: quantity("Bytes of memory, as a quantity."),
    pods: quantity("How many pods, as a quantity."),
    storage: quantity("Bytes of the nodes' own disks for pods, as a quantity; left out when nodes do not say."),
    gpu: quantity("Graphics processors of any make, as a quantity; left out when there are none."),
  });

const servedApi = object("What is served under one group and version.", {
  groupVersion: required(text("The group and version, for example apps/v1.", { minLength: 1, maxLength: 317 })),
  kinds: set("The kinds that can be created there.", text("A kind.", { minLength: 1, maxLength: 253 }), {
    maxItems: 2000,
  }),
});

const detectedCapability = object("One thing that TMC has found the cluster to offer.", {
  type: required(capabilityType("What it is.")),
  version: text("Which version of it.", { minLength: 1, maxLength: 63 }),
});

const apiBinding = object("An APIBinding of the same workspace.", { name: required(objectName("Its name.")) });

const connectedApi = object("What was seen of one APIBinding.", {
  apiBinding: required(objectName("Its name.")),
  connected: flag("Whether it is bound; left out where TMC cannot see that."),
  error: text("Why it is not bound, or cannot be seen.", { maxLength: 1024 }),
});

const workloadName = required(text("The object: its type, namespace and name.", { minLength: 1, maxLength: 1024 }));

const upsyncJournal = object("What TMC notes down of objects that were born on the cluster.", {
  recentDeletions: listMap(
    "Objects that were removed from the workspace in the last minutes because the cluster said that they had gone.",
    "name",
    object("One object.", { name: workloadName, time: required(time("When.")) }),
    { maxItems: maxRecentDeletions },
  ),
  rejected: listMap(
    "Objects that the workspace refuses.",
    "name",
    object("One object.", {
      name: workloadName,
      time: required(time("When it was last offered.")),
      message: required(text("Why, in the words of the workspace.", { maxLength: 1024 })),
    }),
    { maxItems: maxRejected },
  ),
});

/** A physical Kubernetes cluster that a tenant lets its work run on. */
export const clusterRegistration = defineKind({
  group,
  version,
  kind: "ClusterRegistration",
  plural: "clusterregistrations",
  shortNames: ["cr"],
  categories: ["kcp"],
  scope: "Cluster",
  description:
    "ClusterRegistration makes a Kubernetes cluster known to the workspace, so that work can be placed on it.",
  columns: [
    { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: "Location", type: "string", jsonPath: ".spec.location" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: object("The cluster as its owner describes it.", {
    location: required(
      text("Where the cluster is, for example us-west-2.", {
        minLength: 1,
        maxLength: 253,
        pattern: "^\\S(.*\\S)?$",
      }),
    ),
    capabilities: listMap("What the cluster offers, one entry for each type.", "type", capability, { maxItems: 64 }),
    taints: list("What keeps work away from the cluster.", taint, { maxItems: 64 }),
    unschedulable: flag("Lets no new work in; what is there stays."),
    evictAfterSeconds: whole(
      "How long after it stopped being Ready its work leaves, where a placement has no toleration of tmc.kcp.io/not-ready; 300 when it is left out.",
      { minimum: 0 },
    ),
    upsync: list(
      "Types of objects that may be born on the cluster and are then made known to the workspace; none when it is left out.",
      object("One type.", {
        apiVersion: required(text("For example apps/v1.", { minLength: 1, maxLength: 317 })),
        kind: required(text("For example Deployment.", { minLength: 1, maxLength: 63 })),
        namespaces: set("The only namespaces of the cluster, by name.", text("A namespace.", { maxLength: 63 }), {
          maxItems: 256,
        }),
        matchLabels: textMap("Labels that they must have.", { maxProperties: 64 }),
      }),
      { maxItems: 64 },
    ),
    apiBindings: listMap(
      "APIBindings whose types the work on this cluster needs; whether they are bound is in status.connectedAPIs.",
      "name",
      apiBinding,
      { maxItems: 64 },
    ),
    endpoint,
    credentials: object(
      "How TMC gets in, one way of these. It names where the credentials are and never holds them. Without it the operator's own arrangement counts.",
      {
        secretRef: secretReference,
        eks: eksCluster,
        secretsManager: object(
          "The AWS Secrets Manager secret tmc/<logical cluster>/<name of this registration> of TMC's own account: a kubeconfig, or server, ca and token.",
          {},
        ),
      },
      { minProperties: 1, maxProperties: 1 },
    ),
  }),
  status: object("What TMC has seen of the cluster.", {
    conditions,
    observedGeneration,
    lastHeartbeat: time("When the cluster last answered well; written about once a minute."),
    kubernetesVersion: text("The version that its API server says it is.", { maxLength: 253 }),
    apis: listMap("What the cluster serves, one entry for each group and version.", "groupVersion", servedApi, {
      maxItems: 1000,
    }),
    connectedAPIs: listMap("The APIBindings of the spec, and whether each is bound.", "apiBinding", connectedApi, {
      maxItems: 64,
    }),
    capacity: amounts("What all its nodes have together; left out where TMC may not see nodes."),
    allocatable: amounts("What its ready nodes that take pods have for them; left out where TMC may not see nodes."),
    nodes: object("How many nodes it has; left out where TMC may not see nodes.", {
      ready: required(whole("Nodes that are ready.", { minimum: 0 })),
      total: required(whole("All nodes.", { minimum: 0 })),
    }),
    capabilities: listMap("What TMC has found it to offer.", "type", detectedCapability, { maxItems: 64 }),
    capabilitiesDetected: time("When version, APIs, nodes and capabilities were last looked at."),
    consecutiveFailures: whole("Failed probes in a row, counted up to the number that makes it not Ready.", {
      minimum: 0,
    }),
    consecutiveSuccesses: whole("Good probes in a row while it is not Ready yet.", { minimum: 0 }),
    nextProbeTime: time("While its health is in doubt, nobody needs to try it before this time."),
    credentialsExpire: time("When the credentials in use end, where they say so."),
    upsync: upsyncJournal,
    notifiedHash: text("The fingerprint of what placements have last been told of the cluster.", { maxLength: 128 }),
  }),
});

/** A registered cluster, as the server stores it. */
export type ClusterRegistration = KindOf<typeof clusterRegistration>;
