/** Keys that selectors can use for every cluster in addition to its labels. */
export const derivedKeys = ["location", "region", "zone", "provider", "environment"] as const;

/**
 * Returns a cluster's labels and derived keys, so that a selector on `region` also matches a cluster that has only a
 * topology label or a location. A label with the name of a derived key takes precedence.
 *
 * - `location`: `spec.location`.
 * - `region`: the label `topology.kubernetes.io/region` (or its beta name), else the location without its zone.
 * - `zone`: the label `topology.kubernetes.io/zone` (or its beta name), else the location if it is a zone
 *   (`us-west-2a`, `us-central1-b`).
 * - `provider`: the label `tmc.kcp.io/provider`, else the prefix of a location like `aws:us-west-2`.
 * - `environment`: the label `tmc.kcp.io/environment`, else the label `env`.
 */
export function labelsWithDerivedKeys(
  labels: Readonly<Record<string, string>>,
  location: string,
): ReadonlyMap<string, string> {
  const { provider, rest } = splitProvider(location);
  const fromLocation = splitZone(rest);
  const first = (...keys: readonly string[]): string | undefined =>
    keys.map((key) => (Object.hasOwn(labels, key) ? labels[key] : undefined)).find((value) => value !== undefined);

  const derived: readonly (readonly [string, string | undefined])[] = [
    ["location", location],
    [
      "region",
      first("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region") ?? fromLocation.region,
    ],
    ["zone", first("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone") ?? fromLocation.zone],
    ["provider", first("tmc.kcp.io/provider") ?? provider],
    ["environment", first("tmc.kcp.io/environment", "env")],
  ];
  const all = new Map<string, string>();
  for (const [key, value] of derived) if (value !== undefined && value !== "") all.set(key, interned(value));
  for (const key of Object.keys(labels).toSorted()) all.set(key, interned(labels[key] ?? ""));
  return all;
}

/**
 * Interns a string by using it as a property name. Interned strings are compared by pointer, and a thousand clusters of
 * one region share one string.
 */
function interned(text: string): string {
  return Object.keys({ [text]: 0 })[0] ?? text;
}

// Only known names: `eu` in `eu:frankfurt` is not a provider.
const providerPattern =
  /^(aws|azure|gcp|ibm|oci|alibaba|digitalocean|hetzner|ovh|scaleway|openstack|vsphere|onprem)[:/](.+)$/;

function splitProvider(location: string): { provider: string | undefined; rest: string } {
  const [, provider, rest] = providerPattern.exec(location) ?? [];
  return { provider, rest: rest ?? location };
}

function splitZone(location: string): { region: string; zone: string | undefined } {
  const region = /^(.+-[0-9]+)[a-z]$/.exec(location)?.[1] ?? /^(.+[0-9])-[a-z]$/.exec(location)?.[1];
  return region === undefined ? { region: location, zone: undefined } : { region, zone: location };
}
