import { isFields } from "../../../model/json-fields.ts";
import type { SyncCluster } from "../../sync-objects.ts";
import { refuse } from "./refuse.ts";

/**
 * Puts what is known of a cluster in place of `{{cluster.name}}`, `{{cluster.location}}` and `{{cluster.labels.<label>}}`.
 * That is all there is to it: nothing is computed, and what was put in is not looked at again.
 */
export function render(text: string, cluster: SyncCluster, where: string): string {
  let made = "";
  let done = 0;
  // Every character is looked at once: the text is a tenant's, and may be as long as an object can be.
  for (;;) {
    const open = text.indexOf("{{", done);
    const close = open < 0 ? -1 : text.indexOf("}}", open + 2);
    if (close < 0) return made + text.slice(done);
    const variable = text.slice(open + 2, close).trim();
    const fact = factOf(variable, cluster) ?? refuse(where, `cluster ${cluster.name} has no ${quoted(variable)}`);
    made += text.slice(done, open) + fact;
    done = close + 2;
  }
}

/** As much of a text as a message bears. */
const quoted = (text: string): string => JSON.stringify(text.length > 63 ? `${text.slice(0, 63)}…` : text);

/** The same value with every text in it rendered; names of fields stay as they are. */
export function renderAll(value: unknown, cluster: SyncCluster, where: string): unknown {
  if (typeof value === "string") return render(value, cluster, where);
  if (Array.isArray(value)) return value.map((item: unknown) => renderAll(item, cluster, where));
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, renderAll(inner, cluster, where)]));
}

const labelPrefix = "cluster.labels.";

function factOf(variable: string, { name, location, labels }: SyncCluster): string | undefined {
  if (variable === "cluster.name") return name;
  if (variable === "cluster.location") return location;
  return variable.startsWith(labelPrefix) ? labels.get(variable.slice(labelPrefix.length)) : undefined;
}
