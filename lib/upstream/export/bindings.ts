import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError, oneLine } from "@tmc/kube/errors.ts";
import type { ObservedBinding, ReadBindings } from "../../registration/served-apis.ts";
import { asUpstreamError } from "../hub-requests.ts";
import { type ApiBinding, apiBindings, formatUnmetConditions } from "../kcp-types.ts";
import { clientOf } from "../logical-cluster.ts";

/** Creates a reader of APIBindings in workspaces that TMC reaches directly. Missing permission is an answer, not an error. */
export function createBindingReader(client: KubeClient): ReadBindings {
  const read = async (logicalCluster: string, name: string, signal: AbortSignal): Promise<ObservedBinding> => {
    try {
      const binding = await clientOf(client, logicalCluster).get<ApiBinding>({ type: apiBindings, name }, { signal });
      return observedBindingOf(name, binding);
    } catch (error) {
      const observed = bindingOfError(name, error);
      if (observed === undefined) throw asUpstreamError(error, name);
      return observed;
    }
  };
  return ({ logicalCluster, names }, signal) => Promise.all(names.map((name) => read(logicalCluster, name, signal)));
}

/** Reports every binding as unreadable: the virtual workspace of an export shows only bindings to that export. */
export const readBindingsThroughExport: ReadBindings = async ({ names }) =>
  names.map(
    (name): ObservedBinding => ({
      name,
      isBound: undefined,
      error: "TMC cannot read other APIBindings through its APIExport",
    }),
  );

/** The limit for messages in a status. */
const maxErrorLength = 300;

/** Whether a binding is bound, and if not, the reason as kcp reports it. */
export function observedBindingOf(name: string, { metadata, status }: ApiBinding): ObservedBinding {
  if (metadata.deletionTimestamp !== undefined) return { name, isBound: false, error: "it is being deleted" };
  if (status?.phase === "Bound") return { name, isBound: true };
  const unmet = formatUnmetConditions(status?.conditions);
  const phase = status?.phase ? `its phase is ${status.phase}` : "kcp has not reconciled it yet";
  return { name, isBound: false, error: oneLine(unmet === "" ? phase : unmet, maxErrorLength) };
}

/** The state of a binding by the error of its read; undefined for a transient error. */
function bindingOfError(name: string, error: unknown): ObservedBinding | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (error.status === 403) return { name, isBound: undefined, error: "TMC may not read APIBindings there" };
  if (error.status !== 404) return undefined;
  if (error.body?.details?.name === name) return { name, isBound: false, error: "there is no such APIBinding" };
  return { name, isBound: undefined, error: "no APIBindings are served there" };
}
