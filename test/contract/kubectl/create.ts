import { expect, it } from "vitest";
import { unique } from "../resources.ts";
import { type MakeKubectlRoom, table } from "./kubectl-room.ts";
import { aConfigMap } from "./manifests.ts";

export function kubectlCreateCases(room: MakeKubectlRoom): void {
  it("creates a config map from literals", async () => {
    const { ok } = await room();
    expect(await ok("create configmap m --from-literal=a=1 --from-literal=b=2")).toBe("configmap/m created\n");
    expect(await ok("get cm m -o jsonpath={.data}")).toBe('{"a":"1","b":"2"}');
  });

  it("creates a namespace, which serves at once", async () => {
    const { ok } = await room();
    const name = unique("made");
    expect(await ok(`create namespace ${name}`)).toBe(`namespace/${name} created\n`);
    expect(await ok(`create cm m -n ${name}`)).toBe("configmap/m created\n");
    expect(await ok(`delete ns ${name} --wait=false`)).toBe(`namespace "${name}" deleted\n`);
  });

  it("creates a secret, its content encoded", async () => {
    const { ok } = await room();
    expect(await ok("create secret generic s --from-literal=p=hidden --type=example.com/x")).toBe("secret/s created\n");
    expect(await ok("get secret s -o jsonpath={.type}/{.data.p}")).toBe(`example.com/x/${btoa("hidden")}`);
  });

  it("creates service accounts, roles and bindings", async () => {
    const { ok, namespace } = await room();
    expect(await ok("create serviceaccount robot")).toBe("serviceaccount/robot created\n");
    expect(await ok("create role r --verb=get,watch --resource=configmaps --resource-name=m")).toBe(
      "role.rbac.authorization.k8s.io/r created\n",
    );
    expect(await ok(`create rolebinding b --role=r --serviceaccount=${namespace}:robot --user=jane`)).toBe(
      "rolebinding.rbac.authorization.k8s.io/b created\n",
    );
    expect(JSON.parse(await ok("get role r -o json")).rules).toEqual([
      { apiGroups: [""], resourceNames: ["m"], resources: ["configmaps"], verbs: ["get", "watch"] },
    ]);
    expect(JSON.parse(await ok("get rolebinding b -o json")).subjects).toEqual([
      { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" },
      { kind: "ServiceAccount", name: "robot", namespace },
    ]);
  });

  it("creates a deployment", async () => {
    const { ok } = await room();
    expect(await ok("create deployment web --image=nginx:1 --replicas=0 --port=80")).toBe(
      "deployment.apps/web created\n",
    );
    expect(JSON.parse(await ok("get deploy web -o json")).spec).toMatchObject({
      replicas: 0,
      selector: { matchLabels: { app: "web" } },
      template: { spec: { containers: [{ name: "nginx", image: "nginx:1", ports: [{ containerPort: 80 }] }] } },
    });
  });

  it("creates jobs, cron jobs, services and ingresses", async () => {
    const { ok } = await room();
    expect(await ok("create job once --image=busybox:1")).toBe("job.batch/once created\n");
    expect(await ok(["create", "cronjob", "often", "--image=busybox:1", "--schedule=0/5 * * * *"])).toBe(
      "cronjob.batch/often created\n",
    );
    expect(await ok("create job now --from=cronjob/often")).toBe("job.batch/now created\n");
    expect(await ok("create service clusterip web --tcp=80:8080")).toBe("service/web created\n");
    expect(await ok("create ingress web --rule=example.com/=web:80")).toBe("ingress.networking.k8s.io/web created\n");
    expect(JSON.parse(await ok("get ingress web -o json")).spec.rules[0]).toMatchObject({ host: "example.com" });
  });

  it("exposes a deployment", async () => {
    const { ok } = await room();
    await ok("create deployment web --image=nginx:1 --replicas=0");
    expect(await ok("expose deployment web --port=80 --target-port=8080")).toBe("service/web exposed\n");
    expect(JSON.parse(await ok("get svc web -o json")).spec).toMatchObject({
      selector: { app: "web" },
      ports: [{ port: 80, targetPort: 8080, protocol: "TCP" }],
    });
    expect(table(await ok("get svc"))).toMatchObject([{ NAME: "web", "PORT(S)": "80/TCP" }]);
  });

  it("lets a deployment scale by itself", async () => {
    const { ok } = await room();
    await ok("create deployment web --image=nginx:1 --replicas=0");
    expect(await ok("autoscale deployment web --min=2 --max=5 --cpu=50%")).toBe(
      "horizontalpodautoscaler.autoscaling/web autoscaled\n",
    );
    expect(JSON.parse(await ok("get hpa web -o json")).spec).toMatchObject({
      minReplicas: 2,
      maxReplicas: 5,
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    });
    expect(table(await ok("get hpa"))).toMatchObject([
      { NAME: "web", REFERENCE: "Deployment/web", MINPODS: "2", MAXPODS: "5" },
    ]);
  });

  it("creates nothing in a dry run on the server, and shows what it would be", async () => {
    const { ok, refused } = await room();
    expect(await ok("create cm m --from-literal=a=1 --dry-run=server")).toBe("configmap/m created (server dry run)\n");
    const object = JSON.parse(await ok("create cm m --from-literal=a=1 --dry-run=server -o json"));
    expect(object).toMatchObject({ kind: "ConfigMap", data: { a: "1" }, metadata: { uid: expect.any(String) } });
    expect(await refused("get cm m")).toContain('configmaps "m" not found');
  });

  it("checks in a dry run on the server", async () => {
    const { refused } = await room();
    expect(await refused("create -f - --dry-run=server", { input: aConfigMap("Not_A_Name") })).toContain(
      'The ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value: "Not_A_Name": a lowercase RFC 1123 subdomain',
    );
  });

  it("makes up a name", async () => {
    const { ok } = await room();
    const input = { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "made-" } };
    expect(await ok("create -f -", { input })).toMatch(/^configmap\/made-[bcdfghjklmnpqrstvwxz2456789]{5} created\n$/);
  });

  it("says what is there already", async () => {
    const { ok, refused } = await room();
    await ok("create cm m");
    expect(await refused("create cm m")).toBe('error: failed to create configmap: configmaps "m" already exists\n');
    expect(await refused("create -f -", { input: aConfigMap("m") })).toBe(
      'Error from server (AlreadyExists): error when creating "STDIN": configmaps "m" already exists\n',
    );
  });

  it("says which namespace is not there", async () => {
    const { refused } = await room();
    expect(await refused("create cm m -n no-such-namespace")).toBe(
      'error: failed to create configmap: namespaces "no-such-namespace" not found\n',
    );
  });

  it("says what is wrong with a name", async () => {
    const { refused } = await room();
    expect(await refused("create -f -", { input: aConfigMap("bad_name") })).toBe(
      "The ConfigMap \"bad_name\" is invalid: metadata.name: Invalid value: \"bad_name\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')\n",
    );
  });

  it("says which field it does not know, and of two fields both", async () => {
    const { refused } = await room();
    const input = { ...aConfigMap("m"), dataa: {}, extra: 1 };
    expect(await refused("create -f -", { input })).toBe(
      'Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dataa", unknown field "extra"\n',
    );
  });

  it("warns of a field it does not know, or says nothing, as asked", async () => {
    const { run } = await room();
    const create = (name: string, validate: string) =>
      run(`create -f - --validate=${validate}`, { input: { ...aConfigMap(name), dataa: {} } });
    expect(await create("warned", "warn")).toEqual({
      code: 0,
      stdout: "configmap/warned created\n",
      stderr: 'Warning: unknown field "dataa"\n',
    });
    expect(await create("silent", "ignore")).toEqual({ code: 0, stdout: "configmap/silent created\n", stderr: "" });
  });

  it("says which value has the wrong type", async () => {
    const { refused } = await room();
    const input = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" }, data: { a: 1 } };
    expect(await refused("create -f -", { input })).toBe(
      'Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string\n',
    );
  });

  it("says which kind it does not know", async () => {
    const { refused } = await room();
    const input = { apiVersion: "example.com/v1", kind: "Gadget", metadata: { name: "g" } };
    expect(await refused("create -f -", { input })).toBe(
      'error: resource mapping not found for name: "g" namespace: "" from "STDIN": no matches for kind "Gadget" in version "example.com/v1"\nensure CRDs are installed first\n',
    );
  });
}
