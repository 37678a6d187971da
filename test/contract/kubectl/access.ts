import { expect, it } from "vitest";
import { eventually, eventuallyOk } from "../resources.ts";
import { type KubectlRoom, type MakeKubectlRoom, table } from "./kubectl-room.ts";

export function kubectlAccessCases(room: MakeKubectlRoom, kind: "kcp" | "cluster"): void {
  /** kcp adds why to a refusal. */
  const why = kind === "kcp" ? ": access denied" : "";
  const withRobot = async (): Promise<KubectlRoom & { robot: string }> => {
    const here = await room();
    const { ok, run, namespace } = here;
    await ok("create sa robot");
    await ok("create role reader --verb=get,list --resource=configmaps");
    await ok(`create rolebinding reader --role=reader --serviceaccount=${namespace}:robot`);
    const robot = `--as=system:serviceaccount:${namespace}:robot`;
    await eventually(async () => {
      const { code, stdout } = await run(`auth can-i get configmaps ${robot}`);
      return code === 0 ? undefined : `can-i says ${stdout}`;
    });
    return { ...here, robot };
  };

  it("answers what one may", async () => {
    const { ok } = await room();
    expect(await ok("auth can-i create deployments")).toBe("yes\n");
    expect(await ok("auth can-i get configmaps -A")).toBe("yes\n");
  });

  it("answers what another may, and fails when the answer is no", async () => {
    const { ok, run, robot } = await withRobot();
    expect(await ok(`auth can-i list configmaps ${robot}`)).toBe("yes\n");
    expect(await run(`auth can-i delete configmaps ${robot}`)).toMatchObject({
      code: 1,
      stdout: kind === "kcp" ? "no - access denied\n" : "no\n",
    });
    expect(await run(`auth can-i get configmaps -n default ${robot}`)).toMatchObject({ code: 1 });
  });

  it("lists what another may", async () => {
    const { ok, robot } = await withRobot();
    const rows = table(await ok(`auth can-i --list ${robot}`));
    expect(rows).toContainEqual({
      Resources: "configmaps",
      "Non-Resource URLs": "[]",
      "Resource Names": "[]",
      Verbs: "[get list]",
    });
    expect(rows).toContainEqual({
      Resources: "selfsubjectaccessreviews.authorization.k8s.io",
      "Non-Resource URLs": "[]",
      "Resource Names": "[]",
      Verbs: "[create]",
    });
    expect(rows).toContainEqual({
      Resources: "",
      "Non-Resource URLs": "[/version]",
      "Resource Names": "[]",
      Verbs: "[get]",
    });
  });

  it("says who one is", async () => {
    const { ok } = await room();
    const rows = table(await ok("auth whoami"));
    expect(rows.map((row) => row.ATTRIBUTE)).toEqual(expect.arrayContaining(["Username", "Groups"]));
    expect(rows.find((row) => row.ATTRIBUTE === "Groups")?.VALUE).toContain("system:authenticated");
  });

  it("says who one acts as", async () => {
    const { ok, namespace, robot } = await withRobot();
    const { status } = JSON.parse(await ok(`auth whoami ${robot} -o json`));
    expect(status.userInfo).toMatchObject({ username: `system:serviceaccount:${namespace}:robot` });
    expect(status.userInfo.groups).toEqual(
      expect.arrayContaining(["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"]),
    );
  });

  it("does what another may and no more, with words that say what is missing", async () => {
    const { ok, refused, namespace, robot } = await withRobot();
    await ok(`get cm -o name ${robot}`);
    expect(await refused(`get secrets ${robot}`)).toBe(
      `Error from server (Forbidden): secrets is forbidden: User "system:serviceaccount:${namespace}:robot" cannot list resource "secrets" in API group "" in the namespace "${namespace}"${why}\n`,
    );
    expect(await refused(`get deploy web ${robot}`)).toBe(
      `Error from server (Forbidden): deployments.apps "web" is forbidden: User "system:serviceaccount:${namespace}:robot" cannot get resource "deployments" in API group "apps" in the namespace "${namespace}"${why}\n`,
    );
    expect(await refused(`create cm m ${robot}`)).toBe(
      `error: failed to create configmap: configmaps is forbidden: User "system:serviceaccount:${namespace}:robot" cannot create resource "configmaps" in API group "" in the namespace "${namespace}"${why}\n`,
    );
    expect(await refused(`get cr ${robot}`)).toBe(
      `Error from server (Forbidden): clusterregistrations.tmc.kcp.io is forbidden: User "system:serviceaccount:${namespace}:robot" cannot list resource "clusterregistrations" in API group "tmc.kcp.io" at the cluster scope${why}\n`,
    );
  });

  it("makes a token with which the account is itself", async () => {
    const { ok, namespace, refused } = await withRobot();
    const token = (await eventuallyOk(() => ok("create token robot --duration=1h"))).trim();
    const [, claims = ""] = token.split(".");
    expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({
      sub: `system:serviceaccount:${namespace}:robot`,
    });
    await ok(`get cm -o name --token=${token}`);
    expect(await refused(`get secrets --token=${token}`)).toContain(
      `User "system:serviceaccount:${namespace}:robot" cannot list resource "secrets"`,
    );
  });

  it("turns a token away that it does not know", async () => {
    const { refused } = await room();
    expect(await refused("get cm --token=nobody")).toBe("error: You must be logged in to the server (Unauthorized)\n");
  });
}
