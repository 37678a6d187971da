import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError, oneLine } from "@tmc/kube/errors.ts";
import type { ReadBindings, SeenBinding } from "../../registration/connected-apis.ts";
import { troubleOfHub } from "../hub-requests.ts";
import { type ApiBinding, apiBindings, formatComplaints } from "../kcp-types.ts";
import { clientOf } from "../logical-cluster.ts";

/** Creates what reads bindings in workspaces that are reached directly; that we may not see one is an answer. */
export function createBindingReader(client: KubeClient): ReadBindings {
  const read = async (logicalCluster: string, name: string, signal: AbortSignal): Promise<SeenBinding> => {
    try {
      const binding = await clientOf(client, logicalCluster).get<ApiBinding>({ type: apiBindings, name }, { signal });
      return judgeBinding(name, binding);
    } catch (error) {
      const seen = bindingOfError(name, error);
      if (seen === undefined) throw troubleOfHub(error, name);
      return seen;
    }
  };
  return ({ logicalCluster, names }, signal) => Promise.all(names.map((name) => read(logicalCluster, name, signal)));
}

/** An export shows its tenants' bindings to itself and no others, whatever they are called. */
export const unseenThroughExport: ReadBindings = async ({ names }) =>
  names.map((name) => ({ name, isBound: undefined, why: "TMC sees no other bindings through its export" }));

/** Short enough for a status. */
const longestWhy = 300;

/** Tells whether a binding is bound, and in kcp's own words why not. */
export function judgeBinding(name: string, { metadata, status }: ApiBinding): SeenBinding {
  if (metadata.deletionTimestamp !== undefined) return { name, isBound: false, why: "it is being deleted" };
  if (status?.phase === "Bound") return { name, isBound: true };
  const complaints = formatComplaints(status?.conditions);
  const phase = status?.phase ? `its phase is ${status.phase}` : "kcp has not looked at it yet";
  return { name, isBound: false, why: oneLine(complaints === "" ? phase : complaints, longestWhy) };
}

/** What a refusal says of a binding; undefined for trouble that may pass and says nothing. */
function bindingOfError(name: string, error: unknown): SeenBinding | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (error.status === 403) return { name, isBound: undefined, why: "TMC may not read APIBindings there" };
  if (error.status !== 404) return undefined;
  if (error.body?.details?.name === name) return { name, isBound: false, why: "there is no such APIBinding" };
  return { name, isBound: undefined, why: "no APIBindings are served there" };
}
