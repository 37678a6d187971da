import { access, mkdtemp, rm } from "node:fs/promises";
import type { LookupFunction } from "node:net";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCertificateAuthority } from "@tmc/embedded/tls/certificates.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import { credentialsSecretType } from "../../lib/api/condition.ts";
import { findCondition } from "../../lib/model/condition.ts";
import { events, secrets } from "../contract/resources.ts";
import { aRegistration, registrations, startTenants, type Tenants } from "../lib/upstream/tenants.ts";
import { type ConnectionAttempts, watchConnectionAttempts } from "../support/connection-attempts.ts";
import { startServer, type TestServer } from "../support/http-server.ts";
import { type Form, type FormOptions, startControllerForm, startFunctionForm } from "./hostile-forms.ts";
import {
  type HostileRow,
  hostileNames,
  marker,
  rowsOfClosedNetwork,
  rowsOfOpenNetwork,
  type Surroundings,
} from "./hostile-rows.ts";
import { readyOf } from "./tenant.ts";

const authority = createCertificateAuthority();
const certificate = authority.issueServing(["127.0.0.1", "localhost"]);
const tls = { cert: certificate.certificate, key: certificate.key };

/** Resolves the host names of the rows; other names do not exist. */
const resolve: LookupFunction = (hostname, options, callback) => {
  const found = (hostileNames[hostname] ?? []).map((address) => ({ address, family: isIP(address) }));
  const [first] = found;
  if (first === undefined) callback(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }), []);
  else if (options.all === true) callback(null, found);
  else callback(null, first.address, first.family);
};

const forms = { "the controller": startControllerForm, "the function": startFunctionForm } as const;
const networks = {
  "with private endpoints allowed": rowsOfOpenNetwork,
  "with default endpoint rules": rowsOfClosedNetwork,
} as const;

describe.each(Object.entries(forms))("%s with a hostile tenant", (formName, startForm) => {
  describe.each(Object.entries(networks))("%s", (network, rows) => {
    const names = Object.keys(rows);
    const nameOf = (row: string): string => `row-${names.indexOf(row)}`;
    let tenants: Tenants;
    let form: Form;
    let folder = "";
    let around: Surroundings;
    let internal: TestServer;
    let own: TestServer;
    let attempts: ConnectionAttempts;
    let inVictim: Readonly<{ hits: number }>;
    const observed = new Map<string, ClusterRegistration>();

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "tmc-hostile-"));
      internal = await startServer(tls);
      own = await startServer(tls);
      own.handle(({ url, headers }, response) => {
        const [, behavior = "", path = ""] = /^\/([\w-]+)(\/.*)$/.exec(url) ?? [];
        const location = behavior === "redirect-metadata" ? "https://169.254.169.254/" : `${internal.url}/readyz`;
        const token = headers.authorization?.replace("Bearer ", "");
        if (behavior === "healthy" && path === "/readyz") response.writeHead(200).end("ok");
        else if (behavior === "echo") response.writeHead(500).end(`[-]${token} failed: ${token}\n`);
        else response.writeHead(Number(/\d+$/.exec(behavior)?.[0] ?? 302), { location }).end(token);
      });
      tenants = await startTenants(["root:hostile", "root:victim"]);
      const [hostile = "", victim = ""] = tenants.clusters;
      around = {
        victim: { cluster: victim, path: "root:victim", secret: "kubeconfig" },
        internal: internal.url,
        own: (behavior) => `${own.url}/${behavior}`,
        ca: authority.certificate,
        trace: join(folder, "trace"),
      };
      const endpoint = { server: internal.url, ca: authority.certificate };
      const ofVictim = formatKubeconfig({ contexts: [{ name: "c", endpoint, token: `${marker}-of-victim` }] });
      const options: FormOptions = {
        kcp: tenants.kcp,
        client: tenants.client,
        isOpen: network === "with private endpoints allowed",
        resolve,
        secrets: [[`tmc/test/kcp/${victim}/east`, ofVictim]],
      };
      await putSecret(victim, "kubeconfig", { kubeconfig: ofVictim });
      for (const [row, { secret, spec }] of Object.entries(rows)) {
        const name = nameOf(row);
        if (secret !== undefined) await putSecret(hostile, name, secret(around));
        const credentials = secret && { credentials: { secretRef: { namespace: "default", name } } };
        await tenants.at(hostile).create(registrations, aRegistration(name, { ...credentials, ...spec?.(around) }));
      }
      attempts = watchConnectionAttempts();
      inVictim = tenants.kcp.faults.inject({ match: { logicalCluster: victim }, effect: { kind: "delay", ms: 0 } });
      form = await startForm(options);
      await form.reconcile(hostile, names.map(nameOf));
      const { items } = await tenants.at(hostile).listAll<ClusterRegistration>(registrations);
      for (const item of items) observed.set(item.metadata.name ?? "", item);
    }, 60_000);
    afterAll(async () => {
      attempts?.stop();
      await form?.stop();
      await tenants?.stop();
      await Promise.all([internal?.close(), own?.close()]);
      await rm(folder, { recursive: true, force: true });
    });

    const putSecret = async (cluster: string, name: string, stringData: object): Promise<void> => {
      const secret = { apiVersion: "v1", kind: "Secret", type: credentialsSecretType, metadata: { name }, stringData };
      await tenants.at(cluster).create({ type: secrets, namespace: "default" }, secret);
    };

    it.each(Object.entries(rows))("handles %s without harm", (row, { ready, says, controllerSays }: HostileRow) => {
      const registration = observed.get(nameOf(row));
      if (registration === undefined) throw new Error("the registration does not exist");
      expect(readyOf(registration)).toBe(ready);
      const expected = formName === "the controller" ? (controllerSays ?? says) : says;
      expect(findCondition(registration.status?.conditions, "Ready")?.message).toContain(expected);
    });

    it("connects only to the server of the tenant", () => {
      const servers = network === "with private endpoints allowed" ? [new URL(own.url).host] : [];
      expect([...new Set(attempts.addresses)]).toEqual(servers);
      expect({ connections: internal.connections, requests: internal.requests }).toEqual({
        connections: 0,
        requests: [],
      });
    });

    it("runs no program of the tenant", async () => {
      await expect(access(around.trace)).rejects.toThrow("ENOENT");
    });

    it("sends no request to the workspace of another tenant", () => {
      expect(inVictim.hits).toBe(0);
    });

    it("writes no secret to a status, an Event, the log, the metrics or a queue message", async () => {
      const [hostile = "", victim = ""] = tenants.clusters;
      const written: KubeObject[] = [];
      for (const cluster of [hostile, victim]) {
        for (const collection of [registrations, { type: events }]) {
          written.push(...(await tenants.at(cluster).listAll(collection)).items);
        }
      }
      expect(written.length).toBeGreaterThanOrEqual(names.length);
      expect(JSON.stringify(written)).not.toContain(marker);
      expect(form.said()).not.toBe("");
      expect(form.said()).not.toContain(marker);
      expect(form.said()).not.toContain("PRIVATE KEY");
    });
  });
});
