import { randomUUID } from "node:crypto";
import { ControllerError } from "@tmc/kube/fault.ts";
import { parseServerAddress } from "@tmc/kube/kubeconfig/server-address.ts";
import { Command, InvalidArgumentError, Option } from "commander";
import { acceptedRecord, type HubRecord, renewedRecord } from "../../upstream/hub-identity.ts";
import { createHubRecord, type HubRecordStore, openHubRecord } from "../../upstream/hub-record.ts";
import { type CliIo, confirmDeletion } from "../cli-io.ts";
import { commandName } from "../names.ts";
import { formatDocument, outputOption } from "../output.ts";
import { inWorkspace, type OpenWorkspace, type WorkspaceOptions, withWorkspaceOptions } from "../workspace.ts";

type ShowOptions = WorkspaceOptions & Readonly<{ output: "table" | "json" | "yaml" }>;
type IdentityOptions = WorkspaceOptions & Readonly<{ server?: string; yes?: true }>;

const help = `
The ConfigMap tmc-system/tmc-hub stores the identity: with an APIExport in the
workspace of the export, otherwise in the first workspace of the controller, or
in the plain cluster. All copies on clusters carry the id. A controller refuses
to start if it reaches the hub at an address that the identity does not contain,
because a restored backup has the same id.
`;

/** Creates the `hub` command group. */
export function hubCommand(io: CliIo): Command {
  return new Command("hub")
    .summary("Manage the identity of the upstream server: show, accept-identity, new-identity")
    .description("Manage the identity of kcp, or of the plain cluster, in which TMC's objects are.")
    .addHelpText("after", help)
    .addCommand(showCommand(io))
    .addCommand(acceptCommand(io))
    .addCommand(renewCommand(io));
}

function showCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("show").summary("Show the identity").addOption(outputOption(["table", "json", "yaml"])),
  ).action((options: ShowOptions) =>
    inWorkspace(io, options, async (workspace) => {
      const record = await requireRecord(openStore(workspace));
      const { id, servers } = record;
      if (options.output === "table") io.out(formatRecord(record));
      else io.out(formatDocument({ id, servers }, options.output));
    }),
  );
}

function acceptCommand(io: CliIo): Command {
  return withIdentityOptions(
    new Command("accept-identity")
      .summary("Confirm that the hub is the same one, with another address")
      .description(
        "Add the address of the kubeconfig, or the one of --server, to the identity, so that controllers can use it. Do not use this command for a copy that was restored from a backup while the original is in use. Without a stored identity, the command stores one.",
      ),
  ).action((options: IdentityOptions) =>
    inWorkspace(io, options, async (workspace) => {
      const store = openStore(workspace);
      const { record, uid, server } = await store.readFacts();
      const address = options.server ?? server;
      if (record === undefined) {
        const root = isInKcp(workspace) ? workspace.client : undefined;
        await createHubRecord(store, { root, sources: [workspace.client], server: address });
      } else await store.write(acceptedRecord(parsed(record), { uid, server: address }));
      io.out(formatRecord(await requireRecord(store)));
    }),
  );
}

function renewCommand(io: CliIo): Command {
  return withIdentityOptions(
    new Command("new-identity")
      .summary("Give a restored copy of a hub its own id")
      .description(
        "Replace the id by a new one. Use this command for a copy that was restored from a backup while the original is in use. TMC then no longer changes the copies that the original has on clusters, and creates its own: remove the registrations of clusters that the copy must not use first.",
      )
      .option("-y, --yes", "Do not ask for confirmation"),
  ).action((options: IdentityOptions) =>
    inWorkspace(io, options, async (workspace) => {
      const question = "All workloads get new copies on their clusters, and the existing copies stay. Continue?";
      if (!(await confirmDeletion(io, { yes: options.yes === true, question }))) return;
      const store = openStore(workspace);
      const { uid, server } = await store.readFacts();
      await store.write(renewedRecord({ uid, server: options.server ?? server, seed: randomUUID() }));
      io.out(formatRecord(await requireRecord(store)));
    }),
  );
}

function withIdentityOptions(command: Command): Command {
  return withWorkspaceOptions(command).addOption(
    new Option(
      "--server <url>",
      "Address at which controllers reach the hub (default: that of the kubeconfig)",
    ).argParser(parseServer),
  );
}

const isInKcp = ({ client }: OpenWorkspace): boolean => /\/clusters\/[^/]+\/?$/.test(client.server);

function openStore(workspace: OpenWorkspace): HubRecordStore {
  return openHubRecord(workspace.client, { isKcp: isInKcp(workspace) });
}

async function requireRecord(store: HubRecordStore): Promise<HubRecord> {
  const { record } = await store.readFacts();
  if (record !== undefined) return parsed(record);
  throw new ControllerError("not-found", "no identity is stored here; the first start of a controller stores one");
}

function parsed(record: HubRecord | "invalid"): HubRecord {
  if (record !== "invalid") return record;
  throw new ControllerError(
    "invalid",
    `the stored identity cannot be parsed; replace it with "${commandName()} hub new-identity"`,
  );
}

function formatRecord({ id, servers }: HubRecord): string {
  return `id:        ${id}\naddresses: ${servers.join(", ") || "none yet"}\n`;
}

function parseServer(text: string): string {
  try {
    return parseServerAddress(text).origin;
  } catch {
    throw new InvalidArgumentError("expected an https URL such as https://kcp.example.com:6443.");
  }
}
