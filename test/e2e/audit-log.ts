/** A request as kcp's audit log has it: who asked what, where, and what the answer was. */
export type AuditedRequest = Readonly<{
  /** On whose behalf; the virtual workspace passes a request on in the name of who has sent it. */
  user: string;
  /** The logical cluster that a service account belongs to; undefined for people. Two accounts of one name differ in it. */
  home: string | undefined;
  verb: string;
  /** The logical cluster that it was for; undefined for all of an export at once. */
  cluster: string | undefined;
  /** Its plural; undefined for a path that is no object's. */
  resource: string | undefined;
  namespace: string | undefined;
  name: string | undefined;
  code: number;
  atMs: number;
}>;

const homeField = "authentication.kcp.io/cluster-name";

/** Reads an audit log, one JSON object a line; a last line may still be on its way. */
export function parseAuditLog(text: string): readonly AuditedRequest[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => requestOf(recordOf(JSON.parse(line))));
}

function requestOf(event: Fields): AuditedRequest {
  const user = recordOf(event.impersonatedUser ?? event.user);
  const homes = recordOf(user.extra)[homeField];
  const object = recordOf(event.objectRef);
  return {
    user: textOf(user.username) ?? "",
    home: Array.isArray(homes) ? textOf(homes[0]) : undefined,
    verb: textOf(event.verb) ?? "",
    cluster: textOf(recordOf(event.annotations)["kcp.io/cluster"]),
    // Inside kcp the identity of the export stands behind the plural.
    resource: textOf(object.resource)?.replace(/:.*$/, ""),
    namespace: textOf(object.namespace),
    name: textOf(object.name),
    code: Number(recordOf(event.responseStatus).code ?? 0),
    atMs: Date.parse(textOf(event.requestReceivedTimestamp) ?? ""),
  };
}

type Fields = Readonly<Record<string, unknown>>;

const recordOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? { ...value } : {});
const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
