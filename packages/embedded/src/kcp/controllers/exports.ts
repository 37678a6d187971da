import { textAt, valueAt } from "@tmc/kube/json.ts";
import { kcpConditionsOf } from "../conditions.ts";
import { logicalClusterOf } from "../directory.ts";
import { identityHash, identityKey, identityNamespace, pathAnnotation, skipSliceAnnotation } from "../names.ts";
import { systemTypes } from "../system-client.ts";
import type { ControllerWorld } from "./world.ts";

/** Reconciles an APIExport: its identity secret, identity hash and endpoint slice. */
export function reconcileExport(
  { client, directory, random, clock }: ControllerWorld,
  logicalCluster: string,
  name: string,
): void {
  let apiExport = directory.apiExport(logicalCluster, name);
  if (apiExport === undefined || apiExport.metadata.deletionTimestamp !== undefined) return;
  const identityLocation = { logicalCluster, namespace: identityNamespace };

  if (valueAt(apiExport, "spec", "identity", "secretRef") === undefined) {
    client.ensure(systemTypes.namespaces, { logicalCluster }, { metadata: { name: identityNamespace } });
    if (client.find(systemTypes.secrets, identityLocation, name) === undefined) {
      const data = { key: Buffer.from(identityKey(random)).toString("base64") };
      client.create(systemTypes.secrets, identityLocation, { metadata: { name }, type: "Opaque", data });
    }
    const secretRef = { namespace: identityNamespace, name };
    apiExport = client.merge(systemTypes.exports, { logicalCluster }, name, { spec: { identity: { secretRef } } });
  }

  const reference = {
    namespace: textAt(apiExport, "spec", "identity", "secretRef", "namespace"),
    name: textAt(apiExport, "spec", "identity", "secretRef", "name"),
  };
  const secret = client.find(systemTypes.secrets, { logicalCluster, namespace: reference.namespace }, reference.name);
  const conditions = kcpConditionsOf(valueAt(apiExport, "status", "conditions"), clock.now());
  const failed = (message: string): void =>
    conditions.markFalse("IdentityValid", { reason: "IdentityVerificationFailed", severity: "Error", message });
  const known = textAt(apiExport, "status", "identityHash");
  const key = Buffer.from(textAt(secret, "data", "key"), "base64").toString();
  const hash = key === "" ? "" : identityHash(key);
  if (secret === undefined) failed(`secret "${reference.name}" not found`);
  else if (hash === "") failed("secret is missing data.key");
  else if (known !== "" && known !== hash) {
    failed(`hash mismatch: identity secret hash "${hash}" must match status.identityHash "${known}"`);
  } else conditions.markTrue("IdentityValid");
  apiExport = client.writeStatus(systemTypes.exports, { logicalCluster }, apiExport, {
    identityHash: known !== "" ? known : hash === "" ? undefined : hash,
    conditions: conditions.list(),
  });

  if (apiExport.metadata.annotations?.[skipSliceAnnotation] !== undefined) return;
  client.ensure(
    systemTypes.slices,
    { logicalCluster },
    {
      metadata: {
        name,
        ownerReferences: [
          { apiVersion: "apis.kcp.io/v1alpha1", kind: "APIExport", name, uid: apiExport.metadata.uid ?? "" },
        ],
      },
      spec: { export: { name, path: apiExport.metadata.annotations?.[pathAnnotation] ?? "" } },
    },
  );
}

/** Publishes the URL of an export's virtual workspace while at least one binding exists. */
export function reconcileSlice(
  { client, directory, clock, address }: ControllerWorld,
  logicalCluster: string,
  name: string,
): void {
  const slice = client.find(systemTypes.slices, { logicalCluster }, name);
  if (slice === undefined || slice.metadata.deletionTimestamp !== undefined) return;
  const referencedPath = textAt(slice, "spec", "export", "path");
  const path = referencedPath === "" ? logicalCluster : referencedPath;
  const exportName = textAt(slice, "spec", "export", "name");
  const apiExport = directory.exportAt(path, exportName);
  const conditions = kcpConditionsOf(valueAt(slice, "status", "conditions"), clock.now());

  let endpoints: { url: string }[] | undefined;
  if (apiExport === undefined) {
    conditions.markFalse("APIExportValid", {
      reason: "APIExportNotFound",
      severity: "Error",
      message: `Error getting APIExport ${path}|${exportName}`,
    });
  } else {
    conditions.markTrue("APIExportValid");
    conditions.markTrue("PartitionValid");
    const exportCluster = logicalClusterOf(apiExport);
    const isBound = directory.bindingsOf(exportCluster, exportName).length > 0;
    if (isBound) endpoints = [{ url: `${address()}/services/apiexport/${exportCluster}/${exportName}` }];
  }
  client.writeStatus(systemTypes.slices, { logicalCluster }, slice, { conditions: conditions.list(), endpoints });
}
