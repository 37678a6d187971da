import { capabilityTypeField, conditionsField, objectNameField, observedGenerationField } from "./condition.ts";
import { group, version } from "./group.ts";
import { defineKind, type KindOf } from "./kind.ts";
import {
  booleanField,
  enumField,
  integerField,
  listField,
  listMapField,
  objectField,
  requiredField,
  setField,
  stringField,
  stringMapField,
  timeField,
} from "./schema.ts";

/** Maximum length of `status.upsync.recentDeletions`. More deletions in the same window always need confirmation. */
export const maxRecentDeletions = 1_000;
/** Maximum length of a cluster's uid in the status. Kubernetes' uids have 36 characters. */
export const maxClusterUidLength = 64;
/** Maximum length of `status.upsync.rejected`. Further rejections are not listed, because they add nothing new for the user. */
export const maxRejected = 64;

/** Maximum length of `status.orphanedCopies.names`: enough to recognize the cause. */
export const maxOrphanNames = 10;

const capability = objectField("A capability that the owner declares for the cluster.", {
  type: requiredField(capabilityTypeField("Type of the capability, for example compute, storage, networking or gpu.")),
  available: booleanField(
    "Whether the cluster offers the capability. Defaults to true. A value of false overrides what TMC detects.",
    { default: true },
  ),
  version: stringField("Version of the capability. If unset, the version that TMC detects applies.", {
    minLength: 1,
    maxLength: 63,
  }),
  properties: stringMapField("Free-form key-value pairs for users and their tools. TMC does not read them.", {
    maxProperties: 64,
  }),
});

const taint = objectField("A taint. Keeps placements without a matching toleration off the cluster.", {
  key: requiredField(stringField("Key of the taint, in label key format.", { minLength: 1, maxLength: 317 })),
  value: stringField("Value of the taint. If unset, the value is the empty string.", { maxLength: 63 }),
  effect: requiredField(
    enumField(
      "Effect on placements that do not tolerate the taint. NoSchedule: new workloads are not placed on the cluster. PreferNoSchedule: new workloads are placed on it only if no other cluster fits. NoExecute: as NoSchedule, and existing workloads are evicted.",
      ["NoSchedule", "PreferNoSchedule", "NoExecute"],
    ),
  ),
  timeAdded: timeField(
    "When the taint was added. tolerationSeconds count from this time. If unset, they count from the time at which TMC first saw the taint.",
  ),
});

const secretReference = objectField(
  "Reads the credentials from a Secret in the same workspace. The Secret must allow it with the label tmc.kcp.io/cluster-credentials, whose value is the name of the registration, or with the type tmc.kcp.io/cluster-credentials.",
  {
    namespace: requiredField(stringField("Namespace of the Secret.", { minLength: 1, maxLength: 63 })),
    name: requiredField(objectNameField("Name of the Secret.")),
    key: stringField("Key in the Secret's data that holds the kubeconfig. Defaults to kubeconfig.", {
      minLength: 1,
      maxLength: 253,
    }),
  },
);

const endpoint = objectField(
  "Address of the cluster's API server. Used only if the Secret in credentials.secretRef holds a token and no kubeconfig. The Secret must name the same server in its key server.",
  {
    server: requiredField(
      stringField("URL of the API server. Must start with https://.", {
        maxLength: 2048,
        pattern: "^https://[^\\s/?#@]+(/[^\\s?#]*)?$",
      }),
    ),
    caBundle: stringField(
      "CA certificates that sign the API server's certificate, as PEM or base64-encoded PEM. If unset, the Secret's ca.crt is used, and without it the system's trusted CAs.",
      { maxLength: 131_072 },
    ),
  },
);

const eksCluster = objectField(
  "Connects to an Amazon EKS cluster with the IAM role of TMC. The EKS cluster must have the tag tmc.kcp.io/logical-cluster with this workspace's logical cluster as its value. TMC reads the endpoint from AWS.",
  {
    clusterName: requiredField(
      stringField("Name of the EKS cluster.", {
        minLength: 1,
        maxLength: 100,
        pattern: "^[0-9A-Za-z][A-Za-z0-9_-]*$",
      }),
    ),
    region: requiredField(
      stringField("AWS region of the EKS cluster, for example eu-central-1.", {
        maxLength: 32,
        pattern: "^[a-z]{2}(-[a-z]{2,12}){1,2}-[0-9]{1,2}$",
      }),
    ),
    account: stringField(
      "AWS account ID of the EKS cluster. Defaults to the account that TMC runs in. For another account, TMC assumes the IAM role tmc/<logical cluster> there, with the logical cluster as external ID.",
      { pattern: "^[0-9]{12}$" },
    ),
  },
);

const quantityField = (description: string) => stringField(description, { minLength: 1, maxLength: 63 });

const resourceAmounts = (description: string) =>
  objectField(description, {
    cpu: quantityField("CPU cores, as a Kubernetes quantity."),
    memory: quantityField("Memory in bytes, as a Kubernetes quantity."),
    pods: quantityField("Number of pods, as a Kubernetes quantity."),
    storage: quantityField(
      "Ephemeral storage of the nodes in bytes, as a Kubernetes quantity. Unset if the nodes do not report it.",
    ),
    gpu: quantityField("Number of GPUs of all vendors, as a Kubernetes quantity. Unset if there are none."),
  });

const servedApi = objectField("A group and version that the cluster serves.", {
  groupVersion: requiredField(stringField("Group and version, for example apps/v1.", { minLength: 1, maxLength: 317 })),
  kinds: setField(
    "Kinds in this group and version that can be created.",
    stringField("A kind, for example Deployment.", { minLength: 1, maxLength: 253 }),
    { maxItems: 2000 },
  ),
});

const detectedCapability = objectField("A capability that TMC detected on the cluster.", {
  type: requiredField(capabilityTypeField("Type of the capability.")),
  version: stringField("Detected version. Unset if it is not known.", { minLength: 1, maxLength: 63 }),
});

const apiBinding = objectField("An APIBinding in the same workspace.", {
  name: requiredField(objectNameField("Name of the APIBinding.")),
});

const connectedApi = objectField("Observed state of one APIBinding.", {
  apiBinding: requiredField(objectNameField("Name of the APIBinding.")),
  connected: booleanField("Whether the APIBinding is bound. Unset if TMC cannot read it."),
  error: stringField("Why the APIBinding is not bound or cannot be read. Unset if it is bound.", {
    maxLength: 1024,
  }),
});

const objectReference = requiredField(
  stringField("The object, as type, namespace and name.", { minLength: 1, maxLength: 1024 }),
);

const upsyncStatus = objectField(
  "State of upsync: objects that were created on the cluster and are mirrored in the workspace. Written by TMC.",
  {
    recentDeletions: listMapField(
      "Objects that TMC deleted from the workspace in the last ten minutes because they were deleted on the cluster. TMC uses the list to hold mass deletions.",
      "name",
      objectField("A deleted object.", {
        name: objectReference,
        time: requiredField(timeField("When TMC deleted the object.")),
        copies: integerField(
          "Number of copies on other clusters that were deleted with the object. Unset if there were none.",
          { minimum: 0 },
        ),
      }),
      { maxItems: maxRecentDeletions },
    ),
    rejected: listMapField(
      "Objects that the workspace's API server rejects. At most 64 are listed.",
      "name",
      objectField("A rejected object.", {
        name: objectReference,
        time: requiredField(timeField("When TMC last tried to write the object.")),
        message: requiredField(stringField("Error message of the API server.", { maxLength: 1024 })),
      }),
      { maxItems: maxRejected },
    ),
    heldDeletions: integerField(
      "Number of upsynced objects that no longer exist on the cluster and that TMC keeps in the workspace until a user confirms their deletion. Unset if none are held.",
      { minimum: 0 },
    ),
  },
);

const orphanedCopies = objectField(
  "Copies that no sync record accounts for: their workload no longer exists, or it is not placed on this cluster. TMC counts at most 500 of them about every half hour, and deletes them only after a user has confirmed it with tmc orphans --delete. Unset if there are none. Written by TMC.",
  {
    count: requiredField(integerField("Number of orphaned copies.", { minimum: 1 })),
    names: requiredField(
      listField(
        "The first ten of them, as kind, upstream namespace and name.",
        stringField("An orphaned copy.", { maxLength: 1024 }),
        { maxItems: maxOrphanNames },
      ),
    ),
    since: requiredField(
      timeField("When TMC found the first of them. A confirmation of their deletion names this time."),
    ),
  },
);

/** A physical Kubernetes cluster that a tenant registers as a target for workloads. */
export const clusterRegistration = defineKind({
  group,
  version,
  kind: "ClusterRegistration",
  plural: "clusterregistrations",
  shortNames: ["cr"],
  categories: ["kcp"],
  scope: "Cluster",
  description:
    "ClusterRegistration registers a Kubernetes cluster in the workspace. WorkloadPlacements can then place workloads on it.",
  columns: [
    { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: "Reason", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
    { name: "Version", type: "string", jsonPath: ".status.kubernetesVersion" },
    { name: "Location", type: "string", jsonPath: ".spec.location" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Message", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].message', priority: 1 },
  ],
  spec: objectField("Desired state of the registration, written by the cluster's owner.", {
    location: requiredField(
      stringField(
        "Location of the cluster, for example us-west-2. Placements can select clusters by it. TMC derives the keys region, zone and provider from it where the labels do not set them.",
        {
          minLength: 1,
          maxLength: 253,
          pattern: "^\\S(.*\\S)?$",
        },
      ),
    ),
    capabilities: listMapField(
      "Capabilities of the cluster, one entry per type. If unset, only the detected capabilities in status.capabilities apply.",
      "type",
      capability,
      { maxItems: 64 },
    ),
    taints: listField("Taints of the cluster. If unset, the cluster has none.", taint, { maxItems: 64 }),
    unschedulable: booleanField(
      "Cordons the cluster: no new workloads are placed on it, and existing workloads stay. Defaults to false.",
    ),
    evictAfterSeconds: integerField(
      "Seconds after which workloads are evicted from the cluster when it stops being Ready. Defaults to 300. A placement's toleration of tmc.kcp.io/not-ready takes precedence.",
      { minimum: 0 },
    ),
    upsync: listField(
      "Types of objects to upsync: objects of these types that are created directly on the cluster appear in the workspace. If unset, nothing is upsynced.",
      objectField("A type to upsync. An object must match all given criteria.", {
        apiVersion: requiredField(
          stringField("API version of the type, for example apps/v1.", { minLength: 1, maxLength: 317 }),
        ),
        kind: requiredField(stringField("Kind of the type, for example Deployment.", { minLength: 1, maxLength: 63 })),
        namespaces: setField(
          "Namespaces on the cluster to upsync from. If unset, all namespaces except kube-* and those that TMC manages.",
          stringField("Name of a namespace.", { maxLength: 63 }),
          {
            maxItems: 256,
          },
        ),
        matchLabels: stringMapField("Labels that the objects must have. If unset, labels do not matter.", {
          maxProperties: 64,
        }),
      }),
      { maxItems: 64 },
    ),
    apiBindings: listMapField(
      "APIBindings that the workloads on this cluster need. TMC reports in status.connectedAPIs whether each is bound. The list does not affect placement.",
      "name",
      apiBinding,
      { maxItems: 64 },
    ),
    endpoint,
    credentials: objectField(
      "Where TMC gets the credentials for the cluster. Set exactly one field. It refers to credentials and never contains them. If unset, TMC uses the credentials that its operator has configured for this cluster.",
      {
        secretRef: secretReference,
        eks: eksCluster,
        secretsManager: objectField(
          "Reads the AWS Secrets Manager secret tmc/<stage>/<hub id>/<logical cluster>/<registration name> in the AWS account of TMC. The secret holds a kubeconfig, or the fields server, ca and token.",
          {},
        ),
      },
      { minProperties: 1, maxProperties: 1 },
    ),
  }),
  status: objectField("Observed state of the cluster. Written by TMC.", {
    conditions: conditionsField,
    observedGeneration: observedGenerationField,
    lastHeartbeat: timeField(
      "When the cluster last answered a health probe successfully. Updated about once a minute. Written by TMC.",
    ),
    clusterUID: stringField(
      "Identity of the cluster: the uid of its namespace kube-system, stored at the first successful probe. While another cluster answers, TMC writes nothing to it. Unset if TMC may not read that namespace. Written by TMC.",
      { maxLength: maxClusterUidLength },
    ),
    observedClusterUID: stringField(
      "Identity of the cluster that answers now, if it is not clusterUID. To accept it, set the annotation tmc.kcp.io/accept-cluster-uid to this value (tmc cluster accept-identity). Written by TMC.",
      { maxLength: maxClusterUidLength },
    ),
    kubernetesVersion: stringField("Version that the cluster's API server reports. Written by TMC.", {
      maxLength: 253,
    }),
    apis: listMapField(
      "APIs that the cluster serves, one entry per group and version. Written by TMC.",
      "groupVersion",
      servedApi,
      { maxItems: 1000 },
    ),
    connectedAPIs: listMapField(
      "Observed state of each APIBinding in spec.apiBindings. Written by TMC.",
      "apiBinding",
      connectedApi,
      { maxItems: 64 },
    ),
    capacity: resourceAmounts("Total capacity of all nodes. Unset if TMC may not list nodes. Written by TMC."),
    allocatable: resourceAmounts(
      "Total allocatable resources of the nodes that are ready and schedulable. Unset if TMC may not list nodes. Written by TMC.",
    ),
    otherPods: objectField(
      "What the running pods that TMC did not place request. Placements with resources find that much less free. Rounded up to 2 % of what is allocatable, so that it changes rarely. Unset if it was not read yet. Written by TMC.",
      {
        cpu: quantityField("CPU cores, as a Kubernetes quantity."),
        memory: quantityField("Memory in bytes, as a Kubernetes quantity."),
        unknown: enumField(
          "Why the requests are not known, so that only what placements reserve counts. Forbidden: the credentials may not list pods. TooMany: the cluster has more pods than TMC reads, or their list is too large.",
          ["Forbidden", "TooMany"],
        ),
      },
    ),
    nodes: objectField("Number of nodes. Unset if TMC may not list nodes. Written by TMC.", {
      ready: requiredField(integerField("Number of ready nodes.", { minimum: 0 })),
      total: requiredField(integerField("Number of all nodes.", { minimum: 0 })),
    }),
    capabilities: listMapField(
      "Capabilities that TMC detected on the cluster, one entry per type. Written by TMC.",
      "type",
      detectedCapability,
      { maxItems: 64 },
    ),
    capabilitiesDetected: timeField(
      "When TMC last read the version, APIs, nodes and capabilities of the cluster. Written by TMC.",
    ),
    consecutiveFailures: integerField(
      "Number of consecutive failed health probes. Stops increasing at the threshold that makes the cluster not Ready. Written by TMC.",
      {
        minimum: 0,
      },
    ),
    consecutiveSuccesses: integerField(
      "Number of consecutive successful health probes while the cluster is not Ready yet. Written by TMC.",
      { minimum: 0 },
    ),
    nextProbeTime: timeField(
      "Earliest time of the next health probe while the cluster's health is uncertain. Unset if it is certain. Written by TMC.",
    ),
    credentialsExpire: timeField(
      "When the credentials in use expire. Unset if they contain no expiry time. Written by TMC.",
    ),
    upsync: upsyncStatus,
    orphanedCopies,
    notifiedHash: stringField(
      "Hash of the cluster's facts that placements were last notified of. TMC uses it to notify them only of changes. Written by TMC.",
      { maxLength: 128 },
    ),
  }),
});

/** A ClusterRegistration as the API server returns it. */
export type ClusterRegistration = KindOf<typeof clusterRegistration>;
