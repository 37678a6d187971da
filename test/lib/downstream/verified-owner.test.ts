import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { ownOrigin } from "../../../lib/downstream/verified-owner.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { namespaceOn } from "../../../lib/sync/ownership/namespace-map.ts";
import { marksOf, type Origin } from "../../../lib/sync/ownership/owner.ts";

const east: ObjectKey = { cluster: "abc", kind: "ClusterRegistration", name: "east" };
const web: Origin = {
  hub: "hub",
  cluster: "abc",
  namespace: "shop",
  registration: "east",
  apiVersion: "apps/v1",
  kind: "Deployment",
  name: "web",
};
/** A copy that is in every way what its origin says. */
const copyOf = (origin: Origin, metadata: object = {}): KubeObject => ({
  apiVersion: origin.apiVersion,
  kind: origin.kind,
  metadata: { name: origin.name, namespace: namespaceOn(origin), ...marksOf(origin), ...metadata },
});

const rows: Readonly<Record<string, Readonly<{ object: KubeObject; isOwn: boolean }>>> = {
  "a copy of this registration": { object: copyOf(web), isOwn: true },
  "a true copy of another tenant": { object: copyOf({ ...web, cluster: "other" }), isOwn: false },
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
