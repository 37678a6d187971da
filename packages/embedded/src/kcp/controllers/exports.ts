import { textAt, valueAt } from "../../fields.ts";
import { conditionsOf } from "../conditions.ts";
import { clusterOf } from "../directory.ts";
import { identityHash, identityKey, identityNamespace, pathAnnotation, skipSliceAnnotation } from "../names.ts";
import { systemTypes } from "../system-client.ts";
import type { ControllerWorld } from "./world.ts";

/** Gives an export its identity and its endpoint slice. */
export function reconcileExport(
  { client, directory, random, clock }: ControllerWorld,
  cluster: string,
  name: string,
): void {
  let apiExport = directory.apiExport(cluster, name);
  if (apiExport === undefined || apiExport.metadata.deletionTimestamp !== undefined) return;
  const home = { cluster, namespace: identityNamespace };

  if (valueAt(apiExport, "spec", "identity", "secretRef") === undefined) {
    client.ensure(systemTypes.namespaces, { cluster }, { metadata: { name: identityNamespace } });
    if (client.find(systemTypes.secrets, home, name) === undefined) {
      const data = { key: Buffer.from(identityKey(random)).toString("base64") };
      client.create(systemTypes.secrets, home, { metadata: { name }, type: "Opaque", data });
    }
    const secretRef = { namespace: identityNamespace, name };
    apiExport = client.merge(systemTypes.exports, { cluster }, name, { spec: { identity: { secretRef } } });
  }

  const reference = {
    namespace: textAt(apiExport, "spec", "identity", "secretRef", "namespace"),
    name: textAt(apiExport, "spec", "identity", "secretRef", "name"),
  };
  const secret = client.find(systemTypes.secrets, { cluster, namespace: reference.namespace }, reference.name);
  const conditions = conditionsOf(valueAt(apiExport, "status", "conditions"), clock.now());
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
  apiExport = client.writeStatus(systemTypes.exports, { cluster }, apiExport, {
    identityHash: known !== "" ? known : hash === "" ? undefined : hash,
    conditions: conditions.list(),
  });

  if (apiExport.metadata.annotations?.[skipSliceAnnotation] !== undefined) return;
  client.ensure(
    systemTypes.slices,
    { cluster },
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

/** Publishes where an export's virtual workspace is, for as long as someone is bound to it. */
export function reconcileSlice(
  { client, directory, clock, address }: ControllerWorld,
  cluster: string,
  name: string,
): void {
  const slice = client.find(systemTypes.slices, { cluster }, name);
  if (slice === undefined || slice.metadata.deletionTimestamp !== undefined) return;
  const given = textAt(slice, "spec", "export", "path");
  const path = given === "" ? cluster : given;
  const exportName = textAt(slice, "spec", "export", "name");
  const apiExport = directory.exportAt(path, exportName);
  const conditions = conditionsOf(valueAt(slice, "status", "conditions"), clock.now());

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
    const exportCluster = clusterOf(apiExport);
    const isBound = directory.bindingsOf(exportCluster, exportName).length > 0;
    if (isBound) endpoints = [{ url: `${address()}/services/apiexport/${exportCluster}/${exportName}` }];
  }
  client.writeStatus(systemTypes.slices, { cluster }, slice, { conditions: conditions.list(), endpoints });
}
