import { expect, it } from "vitest";
import { unique } from "../resources.ts";
import type { MakeKubectlRoom } from "./kubectl-room.ts";
import { aConfigMap, aDeployment, aPlacement, aRegistration } from "./manifests.ts";

/** kcp marks what it keeps with annotations and labels of its own; a description then has more lines than on a cluster. */
const withoutMarks = (description: string): string =>
  description
    .replace(/(Annotations: +)kcp\.io\/cluster: \S+\n/, "$1<none>\n")
    .replace(/(Labels: +)claimed\.internal\S+\n(?: +(?=\S))?/g, (_, title: string) => title)
    .replaceAll(/^Labels: +(?=Annotations)/gm, "Labels:       <none>\n");

export function kubectlDescribeCases(room: MakeKubectlRoom, kind: "kcp" | "cluster"): void {
  it("describes a config map with its data", async () => {
    const { ok, namespace } = await room();
    await ok("create -f -", { input: aConfigMap("m", { a: "1", text: "x\ny" }, { labels: { l: "1" } }) });
    const description = await ok("describe cm m");
    expect(description).toContain(`Name:         m\nNamespace:    ${namespace}\nLabels:       `);
    expect(description).toMatch(/^\S* +l=1$|^Labels: +l=1$/m);
    expect(description.slice(description.indexOf("\nData\n"))).toBe(
      "\nData\n====\na:\n----\n1\n\ntext:\n----\nx\ny\n\n\nBinaryData\n====\n\nEvents:  <none>\n",
    );
  });

  it("describes a namespace with its phase and quota", async () => {
    const { ok, namespace } = await room();
    const description = await ok(`describe namespace ${namespace}`);
    expect(description).toContain(`Name:         ${namespace}\n`);
    expect(description).toContain(`kubernetes.io/metadata.name=${namespace}\n`);
    expect(description).toContain("Status:       Active\n\nNo resource quota.\n");
    // kcp has no limit ranges, and kubectl says nothing of what it cannot ask for.
    expect(description.includes("No LimitRange resource.")).toBe(kind === "cluster");
  });

  it("describes a secret without its content", async () => {
    const { ok } = await room();
    await ok("create secret generic s --from-literal=password=hidden");
    const description = await ok("describe secret s");
    expect(description).toContain("Type:  Opaque\n\nData\n====\npassword:  6 bytes\n");
    expect(description).not.toContain("hidden");
  });

  it("describes a role with its rules", async () => {
    const { ok } = await room();
    await ok("create role r --verb=get,list --resource=configmaps,deployments.apps");
    const description = withoutMarks(await ok("describe role r"));
    expect(description).toBe(
      [
        "Name:         r",
        "Labels:       <none>",
        "Annotations:  <none>",
        "PolicyRule:",
        "  Resources         Non-Resource URLs  Resource Names  Verbs",
        "  ---------         -----------------  --------------  -----",
        "  configmaps        []                 []              [get list]",
        "  deployments.apps  []                 []              [get list]",
        "",
      ].join("\n"),
    );
  });

  it("describes a registered cluster", async () => {
    const { ok } = await room();
    const name = unique("cluster");
    await ok("create -f -", { input: aRegistration(name) });
    const description = withoutMarks(await ok(`describe cr ${name}`));
    expect(description).toContain(
      [
        `Name:         ${name}`,
        "Namespace:    ",
        "Labels:       region=west",
        "Annotations:  <none>",
        "API Version:  tmc.kcp.io/v1alpha1",
        "Kind:         ClusterRegistration",
        "Metadata:",
      ].join("\n"),
    );
    expect(description.slice(description.indexOf("Spec:"))).toBe(
      [
        "Spec:",
        "  Capabilities:",
        "    Available:  true",
        "    Type:       compute",
        "    Available:  true",
        "    Type:       storage",
        "  Location:     us-west-2",
        "Events:         <none>",
        "",
      ].join("\n"),
    );
  });

  it("describes a placement", async () => {
    const { ok } = await room();
    const name = unique("placement");
    await ok("create -f -", { input: aPlacement(name) });
    const description = await ok(`describe workloadplacement ${name}`);
    expect(description.slice(description.indexOf("Spec:"))).toBe(
      [
        "Spec:",
        "  Adoption:          Never",
        "  Custom Resources:  Require",
        "  Deletion Policy:   Delete",
        "  Drift:             Revert",
        "  Location Selector:",
        "    Match Labels:",
        "      Region:  west",
        "  Strategy:    RoundRobin",
        "  Volumes:     Retain",
        "Events:        <none>",
        "",
      ].join("\n"),
    );
  });

  it("describes a deployment with its template", async () => {
    const { ok, namespace } = await room();
    await ok("create -f -", { input: aDeployment("web", 0) });
    const description = await ok("describe deployment web");
    // Our export fills in no defaults inside the template: the cluster that runs it does.
    const protocol = kind === "kcp" ? "" : "TCP";
    expect(description).toMatch(new RegExp(`^Name: +web\nNamespace: +${namespace}\nCreationTimestamp: +\\w{3}, `));
    expect(description).toMatch(/^Selector: +app=web$/m);
    expect(description).toMatch(/^Replicas: +0 desired \| 0 updated \| 0 total \| 0 available \| 0 unavailable$/m);
    expect(description).toContain(
      [
        "Pod Template:",
        "  Labels:  app=web",
        "  Containers:",
        "   web:",
        "    Image:        nginx:1",
        `    Port:         80/${protocol}`,
        `    Host Port:    0/${protocol}`,
        "    Environment:  <none>",
        "    Mounts:       <none>",
        "   side:",
        "    Image:         busybox:1",
        "    Port:          <none>",
        "    Host Port:     <none>",
        "    Environment:   <none>",
        "    Mounts:        <none>",
        "  Volumes:         <none>",
        "  Node-Selectors:  <none>",
        "  Tolerations:     <none>",
      ].join("\n"),
    );
  });

  it("says which object to describe is not there", async () => {
    const { refused } = await room();
    expect(await refused("describe cm gone")).toBe('Error from server (NotFound): configmaps "gone" not found\n');
  });

  if (kind === "cluster") {
    it("describes a deployment with its conditions, replica sets and events", async () => {
      const { ok } = await room();
      await ok("create -f -", { input: aDeployment("web", 2) });
      await ok("rollout status deploy/web --timeout=30s");
      const description = await ok("describe deployment web");
      expect(description).toMatch(/^Replicas: +2 desired \| 2 updated \| 2 total \| 2 available \| 0 unavailable$/m);
      expect(description).toMatch(/^StrategyType: +RollingUpdate$/m);
      expect(description).toMatch(/^RollingUpdateStrategy: +25% max unavailable, 25% max surge$/m);
      expect(description).toMatch(/^ {2}Available +True +MinimumReplicasAvailable$/m);
      expect(description).toMatch(/^ {2}Progressing +True +NewReplicaSetAvailable$/m);
      expect(description).toMatch(/^OldReplicaSets: +<none>$/m);
      expect(description).toMatch(/^NewReplicaSet: +web-\w+ \(2\/2 replicas created\)$/m);
      expect(description).toMatch(
        /^ {2}Normal +ScalingReplicaSet +\d+s +deployment-controller +Scaled up replica set web-\w+ from 0 to 2$/m,
      );
    });

    it("describes a pod and a service", async () => {
      const { ok, namespace } = await room();
      await ok("create -f -", { input: aDeployment("web", 1) });
      await ok("expose deploy/web --port=80 --target-port=8080");
      await ok("rollout status deploy/web --timeout=30s");
      const pod = await ok("describe pod -l app=web");
      expect(pod).toMatch(/^Status: +Running$/m);
      expect(pod).toMatch(/^Controlled By: +ReplicaSet\/web-\w+$/m);
      expect(pod).toMatch(/^ {2}Ready +True *$/m);
      expect(pod).toMatch(
        new RegExp(`^ {2}Normal +Scheduled +\\S+ +default-scheduler +Successfully assigned ${namespace}/`, "m"),
      );
      const service = await ok("describe service web");
      expect(service).toMatch(/^Type: +ClusterIP$/m);
      expect(service).toMatch(/^IP: +\d+\.\d+\.\d+\.\d+$/m);
      expect(service).toMatch(/^Port: +<unset> {2}80\/TCP$/m);
      expect(service).toMatch(/^TargetPort: +8080\/TCP$/m);
    });

    it("describes a node", async () => {
      const { ok } = await room();
      const [node = ""] = (await ok("get nodes -o name")).split("\n");
      const description = await ok(`describe ${node}`);
      expect(description).toMatch(/^ {2}Ready +True +/m);
      expect(description).toMatch(/^Capacity:$/m);
      expect(description).toMatch(/^Non-terminated Pods: +\(\d+ in total\)$/m);
    });
  }
}
