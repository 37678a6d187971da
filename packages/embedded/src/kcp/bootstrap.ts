import type { KubeObject, ObjectMeta, ResourceType } from "@tmc/kube/kube-object.ts";
import { cloneJson } from "../frozen-json.ts";
import { withDefaults } from "../machinery/defaults.ts";
import { generatedUid } from "../object-names.ts";
import { timestamp } from "../operations-core.ts";
import { adminCluster } from "./authorization.ts";
import {
  type BootstrapBinding,
  type BootstrapRole,
  commonBindings,
  commonRoles,
  rootBindings,
  rootRoles,
} from "./bootstrap-roles.ts";
import { createLogicalCluster } from "./controllers/workspaces.ts";
import type { ControllerWorld } from "./controllers/world.ts";
import { rootExports, rootSchemas } from "./kcp-types.ts";
import { clusterAnnotation, pathAnnotation } from "./names.ts";
import { systemTypes } from "./system-client.ts";

const universal = { name: "universal", path: "root" };
const extendsUniversal = { extend: { with: [universal] } };
const atRoot = { [pathAnnotation]: "root" };
const battery = { "bootstrap.kcp.io/battery": "workspace-types" };

const workspaceTypes = [
  {
    name: "universal",
    spec: {
      initializer: true,
      defaultAPIBindings: [
        { path: "root", export: "tenancy.kcp.io" },
        { path: "root", export: "topology.kcp.io" },
      ],
    },
  },
  {
    name: "home",
    spec: { ...extendsUniversal, defaultChildWorkspaceType: universal, limitAllowedParents: { none: true } },
  },
  {
    name: "organization",
    annotations: battery,
    spec: {
      ...extendsUniversal,
      defaultChildWorkspaceType: universal,
      limitAllowedChildren: { types: [universal] },
      limitAllowedParents: { types: [{ name: "root", path: "root" }] },
    },
  },
  {
    name: "root",
    annotations: { "bootstrap.kcp.io/create-only": "true" },
    spec: {
      ...extendsUniversal,
      defaultChildWorkspaceType: { name: "organization", path: "root" },
      limitAllowedParents: { none: true },
    },
  },
  {
    name: "team",
    annotations: battery,
    spec: {
      ...extendsUniversal,
      defaultChildWorkspaceType: universal,
      limitAllowedParents: {
        types: [
          { name: "organization", path: "root" },
          { name: "team", path: "root" },
        ],
      },
    },
  },
];

/** Fills a new kcp with what a real one starts with: the root workspace, its exports and types, roles, the shard. */
export function bootstrap(world: ControllerWorld): void {
  const { client, address, loop } = world;
  const root = { cluster: "root" };
  createRoles(world, adminCluster, commonRoles, commonBindings);
  createLogicalCluster(world, {
    cluster: "root",
    path: "root",
    type: "root:root",
    owner: JSON.stringify({ username: "system:kcp-bootstrapper" }),
  });
  createRoles(world, "root", rootRoles, rootBindings);
  client.ensure(systemTypes.namespaces, root, {
    metadata: { name: "default", annotations: { "bootstrap.kcp.io/create-only": "true" } },
  });
  for (const { name, spec } of rootSchemas) seed(world, systemTypes.schemas, "root", { metadata: { name }, spec });
  for (const { name, spec } of rootExports) {
    seed(world, systemTypes.exports, "root", { metadata: { name, annotations: atRoot }, spec });
  }
  loop.drain();
  for (const name of ["shards.core.kcp.io", "tenancy.kcp.io", "topology.kcp.io"]) {
    client.create(systemTypes.bindings, root, {
      metadata: { name },
      spec: { reference: { export: { path: "root", name } } },
    });
  }
  loop.drain();
  for (const { name, annotations, spec } of workspaceTypes) {
    seed(world, systemTypes.workspaceTypes, "root", {
      metadata: { name, annotations: { ...annotations, ...atRoot } },
      spec,
    });
  }
  const url = address();
  seed(world, systemTypes.shards, "root", {
    metadata: { name: "root", labels: { name: "root" } },
    spec: { baseURL: url, externalURL: url, virtualWorkspaceURL: url },
  });
  loop.drain();
}

function createRoles(
  world: ControllerWorld,
  cluster: string,
  roles: readonly BootstrapRole[],
  bindings: readonly BootstrapBinding[],
): void {
  for (const { name, rules } of roles) seed(world, systemTypes.clusterRoles, cluster, { metadata: { name }, rules });
  for (const { name, role, subject } of bindings) {
    seed(world, systemTypes.clusterRoleBindings, cluster, {
      metadata: { name },
      subjects: [{ ...subject, apiGroup: "rbac.authorization.k8s.io" }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    });
  }
}

/** Puts an object of our own making into the store: nothing is asked and checked, so that a start costs little. */
function seed(
  { client, store, random, clock }: ControllerWorld,
  type: ResourceType,
  cluster: string,
  object: Readonly<{ metadata: ObjectMeta & Readonly<{ name: string }> } & Record<string, unknown>>,
): void {
  const definition = client.definition(type, cluster);
  const { group, version } = type;
  const metadata: ObjectMeta = {
    ...object.metadata,
    uid: generatedUid(random),
    creationTimestamp: timestamp(clock.now()),
    ...(definition.withoutGeneration === true ? {} : { generation: 1 }),
    annotations: { ...object.metadata.annotations, [clusterAnnotation]: cluster },
  };
  const whole: KubeObject = {
    ...object,
    apiVersion: group === "" ? version : `${group}/${version}`,
    kind: definition.kind,
    metadata,
  };
  const key = { storage: definition.storage, cluster, namespace: "", name: object.metadata.name };
  store.put(key, cloneJson(withDefaults(definition.schema, whole)));
}
