import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { verifiedOwner } from "../../../lib/downstream/verified-owner.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { downstreamNamespace } from "../../../lib/sync/ownership/namespace-map.ts";
import { type Owner, ownershipMetadata } from "../../../lib/sync/ownership/owner.ts";

const east: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const web: Owner = {
  hub: "hub",
  logicalCluster: "abc",
  namespace: "shop",
  registration: "east",
  apiVersion: "apps/v1",
  kind: "Deployment",
  name: "web",
};
/** A copy whose metadata matches its owner in every way. */
const copyOf = (owner: Owner, metadata: object = {}): KubeObject => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  metadata: { name: owner.name, namespace: downstreamNamespace(owner), ...ownershipMetadata(owner), ...metadata },
});

const rows: Readonly<Record<string, Readonly<{ object: KubeObject; isOwn: boolean }>>> = {
  "a copy of this registration": { object: copyOf(web), isOwn: true },
  "a true copy of another tenant": { object: copyOf({ ...web, logicalCluster: "other" }), isOwn: false },
  "a true copy by another registration": { object: copyOf({ ...web, registration: "west" }), isOwn: false },
  "a copy in a namespace of another": { object: copyOf(web, { namespace: "tmc-elsewhere" }), isOwn: false },
  "a copy without its label": { object: copyOf(web, { labels: {} }), isOwn: false },
  "a copy without its owner": { object: copyOf(web, { annotations: {} }), isOwn: false },
  "a copy of another name": { object: copyOf(web, { name: "other" }), isOwn: false },
};

describe("the owner of an object", () => {
  it.each(Object.entries(rows))("%s", (_, { object, isOwn }) => {
    expect(verifiedOwner(object, east)).toEqual(isOwn ? web : undefined);
  });
});
