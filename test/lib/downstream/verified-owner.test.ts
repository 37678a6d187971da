import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { ownOrigin } from "../../../lib/downstream/verified-owner.ts";
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
/** A copy that is in every way what its origin says. */
const copyOf = (origin: Owner, metadata: object = {}): KubeObject => ({
  apiVersion: origin.apiVersion,
  kind: origin.kind,
  metadata: { name: origin.name, namespace: downstreamNamespace(origin), ...ownershipMetadata(origin), ...metadata },
});

const rows: Readonly<Record<string, Readonly<{ object: KubeObject; isOwn: boolean }>>> = {
  "a copy of this registration": { object: copyOf(web), isOwn: true },
  "a true copy of another tenant": { object: copyOf({ ...web, logicalCluster: "other" }), isOwn: false },
  "a true copy by another registration": { object: copyOf({ ...web, registration: "west" }), isOwn: false },
  "a copy in a namespace of another": { object: copyOf(web, { namespace: "tmc-elsewhere" }), isOwn: false },
  "a copy without its label": { object: copyOf(web, { labels: {} }), isOwn: false },
  "a copy without its origin": { object: copyOf(web, { annotations: {} }), isOwn: false },
  "a copy of another name": { object: copyOf(web, { name: "other" }), isOwn: false },
};

describe("own is", () => {
  it.each(Object.entries(rows))("%s", (_, { object, isOwn }) => {
    expect(ownOrigin(object, east)).toEqual(isOwn ? web : undefined);
  });
});
