import type { KubeObject, ObjectMeta, ResourceType } from "@tmc/kube/kube-object.ts";
import { withDefaults } from "../machinery/defaults.ts";
import { cloneJson } from "../storage/frozen-json.ts";
import { generatedUid } from "../storage/object-names.ts";
import { timestamp } from "../storage/operations-core.ts";
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
import { kcpClusterAnnotation, pathAnnotation } from "./names.ts";
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

/**
 * Creates the initial objects of a real kcp: the root workspace with its exports and workspace types, roles, the shard.
 */
export function bootstrap(world: ControllerWorld): void {
  const { client, address, loop } = world;
  const root = { logicalCluster: "root" };
  createRoles(world, adminCluster, commonRoles, commonBindings);
  createLogicalCluster(world, {
    name: "root",
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
  logicalCluster: string,
  roles: readonly BootstrapRole[],
  bindings: readonly BootstrapBinding[],
): void {
  for (const { name, rules } of roles)
    seed(world, systemTypes.clusterRoles, logicalCluster, { metadata: { name }, rules });
  for (const { name, role, subject } of bindings) {
    seed(world, systemTypes.clusterRoleBindings, logicalCluster, {
      metadata: { name },
      subjects: [{ ...subject, apiGroup: "rbac.authorization.k8s.io" }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    });
  }
}

/** Stores a known-valid object without admission and validation, which keeps the start fast. */
function seed(
  { client, store, random, clock }: ControllerWorld,
  type: ResourceType,
  logicalCluster: string,
  object: Readonly<{ metadata: ObjectMeta & Readonly<{ name: string }> } & Record<string, unknown>>,
): void {
  const definition = client.definition(type, logicalCluster);
  const { group, version } = type;
  const metadata: ObjectMeta = {
    ...object.metadata,
    uid: generatedUid(random),
    creationTimestamp: timestamp(clock.now()),
    ...(definition.withoutGeneration === true ? {} : { generation: 1 }),
    annotations: { ...object.metadata.annotations, [kcpClusterAnnotation]: logicalCluster },
  };
  const whole: KubeObject = {
    ...object,
    apiVersion: group === "" ? version : `${group}/${version}`,
    kind: definition.kind,
    metadata,
  };
  const key = { storage: definition.storage, logicalCluster, namespace: "", name: object.metadata.name };
  store.put(key, cloneJson(withDefaults(definition.schema, whole)));
}
