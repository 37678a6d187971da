import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/** A user with a fixed token, for tests of what others may do. */
export type StaticUser = Readonly<{ name: string; token: string; groups?: readonly string[] }>;

const auditPolicy = JSON.stringify({
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
});

/** Flags that kcp and kube-apiserver share, with the files they name: users by token, and a log of every request. */
export async function writeSharedFlags(
  folder: string,
  { users, auditLog }: Readonly<{ users: readonly StaticUser[]; auditLog?: string | undefined }>,
): Promise<string[]> {
  const flags: string[] = [];
  if (users.length > 0) {
    const file = join(folder, "users.csv");
    // The column of groups is left out when there are none: an empty one would be a group without a name.
    const rows = users.map(({ name, token, groups = [] }) =>
      [token, name, name, ...(groups.length === 0 ? [] : [`"${groups.join(",")}"`])].join(","),
    );
    await writeFile(file, `${rows.join("\n")}\n`, { mode: 0o600 });
    flags.push(`--token-auth-file=${file}`);
  }
  if (auditLog !== undefined) {
    const file = join(folder, "audit-policy.json");
    await writeFile(file, auditPolicy);
    flags.push(`--audit-policy-file=${file}`, `--audit-log-path=${auditLog}`);
  }
  return flags;
}
