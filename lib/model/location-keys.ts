/** The keys that selectors may use of every cluster, beside its labels. */
export const derivedKeys = ["location", "region", "zone", "provider", "environment"] as const;

/**
 * A cluster's labels together with the keys that are derived for it, so that a selector on `region` finds a cluster that
 * says where it is in another way. A label of that very name always wins.
 *
 * - `location`: `spec.location`.
 * - `region`: the label `topology.kubernetes.io/region` (or its beta name), else the location without its zone.
 * - `zone`: the label `topology.kubernetes.io/zone` (or its beta name), else the location where that names one
 *   (`us-west-2a`, `us-central1-b`).
 * - `provider`: the label `tmc.kcp.io/provider`, else what stands before the colon or slash of `aws:us-west-2`.
 * - `environment`: the label `tmc.kcp.io/environment`, else the label `env`.
 */
export function labelsWithDerivedKeys(
  labels: Readonly<Record<string, string>>,
  location: string,
): ReadonlyMap<string, string> {
  const { provider, place } = splitProvider(location);
  const fromLocation = splitZone(place);
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
  for (const [key, value] of derived) if (value !== undefined && value !== "") all.set(key, shared(value));
  for (const key of Object.keys(labels).toSorted()) all.set(key, shared(labels[key] ?? ""));
  return all;
}

/**
 * The same text, as the engine keeps it for names of properties: one for all equal ones. Whether two of these are equal is
 * told without looking at their characters, and a thousand clusters of a region have one text for it.
 */
function shared(text: string): string {
  return Object.keys({ [text]: 0 })[0] ?? text;
}

// Only known names: in `eu:frankfurt` the first word is no provider.
const providerPattern =
  /^(aws|azure|gcp|ibm|oci|alibaba|digitalocean|hetzner|ovh|scaleway|openstack|vsphere|onprem)[:/](.+)$/;

function splitProvider(location: string): { provider: string | undefined; place: string } {
  const [, provider, place] = providerPattern.exec(location) ?? [];
  return { provider, place: place ?? location };
}

function splitZone(place: string): { region: string; zone: string | undefined } {
  const region = /^(.+-[0-9]+)[a-z]$/.exec(place)?.[1] ?? /^(.+[0-9])-[a-z]$/.exec(place)?.[1];
  return region === undefined ? { region: place, zone: undefined } : { region, zone: place };
}
