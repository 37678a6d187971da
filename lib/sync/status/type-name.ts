/** `Deployment.apps`, `Service`: a type without its version, for a table of rules. */
export function typeName({ apiVersion, kind }: Readonly<{ apiVersion: string; kind: string }>): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? kind : `${kind}.${apiVersion.slice(0, slash)}`;
}
