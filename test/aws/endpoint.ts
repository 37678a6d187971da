import { mkdir, writeFile } from "node:fs/promises";
import { Agent } from "node:https";
import { dirname, join } from "node:path";
import { CreateAccessKeyCommand, CreateUserCommand, IAMClient, PutUserPolicyCommand } from "@aws-sdk/client-iam";
import { createCertificateAuthority } from "@tmc/embedded/tls/certificates.ts";
import { callApi } from "../real/api-call.ts";
import { startGroup } from "../real/server-group.ts";
import { ensureInstalled, launcher } from "./install.ts";

const region = "eu-west-1";
const host = "127.0.0.1";
const startMs = 60_000;
/** The emulator takes these for the account's root. Nobody works as root: it may not assume the roles of a deployment. */
const root = { accessKeyId: "test", secretAccessKey: "test" };

/** An endpoint that stands for AWS, and how it is reached. Plain data: it travels to the processes of a test run. */
export type AwsEndpoint = Readonly<{
  url: string;
  region: string;
  credentials: Readonly<{ accessKeyId: string; secretAccessKey: string; sessionToken?: string }>;
  /** PEM and file of its certificate authority; undefined where the usual ones vouch for it. */
  ca: string | undefined;
  caFile: string | undefined;
  /** Whether it was started here, and so has a gate before it. */
  own: boolean;
  /** A folder for the state of the tools that work on it. */
  folder: string | undefined;
}>;

/** An endpoint until it is stopped. */
export interface RunningEndpoint {
  readonly endpoint: AwsEndpoint;
  /** Its running processes, to check for leftovers. */
  readonly groups: readonly number[];
  stop(options?: Readonly<{ keepLogs?: boolean }>): Promise<void>;
}

/**
 * Starts an emulator of AWS on a free port, over TLS and with every right checked, or takes the endpoint that the
 * caller's AWS_ENDPOINT_URL names. Nothing that it starts outlives this process, however that ends.
 */
export async function startEndpoint(caller: NodeJS.ProcessEnv = process.env): Promise<RunningEndpoint> {
  const given = parseGiven(caller);
  if (given !== undefined) return { endpoint: given, groups: [], stop: async () => {} };
  const python = await ensureInstalled();
  const authority = createCertificateAuthority({ name: "local-aws" });
  const { certificate: ca } = authority;
  return startGroup({ name: "aws", portCount: 1 }, async (group, [port = 0]) => {
    const folder = group.folder.path;
    const file = (name: string): string => join(folder, name);
    const serving = authority.issueServing([host, "localhost"]);
    await writeFile(file("ca.pem"), ca);
    await writeFile(file("tls.pem"), serving.certificate);
    await writeFile(file("tls.key"), serving.key, { mode: 0o600 });
    await mkdir(file("tmp"));
    const url = `https://${host}:${port}`;
    // Functions inherit the emulator's environment, so it gets nothing of ours but what they may see.
    const environment: Readonly<Record<string, string>> = {
      HOME: folder,
      TMPDIR: file("tmp"),
      // The first node on the path is the runtime of every function.
      PATH: [dirname(process.execPath), "/usr/bin", "/bin"].join(":"),
      GATEWAY_PORT: String(port),
      BIND_HOST: host,
      MINISTACK_HOST: host,
      MINISTACK_REGION: region,
      LAMBDA_EXECUTOR: "local",
      STATE_DIR: file("state"),
      S3_DATA_DIR: file("s3"),
      AUTH: "true",
      USE_SSL: "1",
      MINISTACK_SSL_CERT: file("tls.pem"),
      MINISTACK_SSL_KEY: file("tls.key"),
      AWS_ENDPOINT_URL: url,
      NODE_EXTRA_CA_CERTS: file("ca.pem"),
      PYTHONDONTWRITEBYTECODE: "1",
      TMC_NO_CORRECTIONS: caller.TMC_NO_CORRECTIONS ?? "",
    };
    const assignments = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    const emulator = group.start(0, {
      name: "ministack",
      command: "/usr/bin/env",
      args: ["-i", ...assignments, python, launcher],
    });
    await group.waitUntilNothingMissing(async () => {
      const { status } = await callApi({ url, ca }, "GET", "/_ministack/ready");
      return status === 200 ? undefined : `the emulator answers ${status}`;
    }, startMs);
    const whoever = { url, region, ca, caFile: file("ca.pem"), own: true, folder };
    const credentials = await createAdministrator({ ...whoever, credentials: root });
    return {
      endpoint: { ...whoever, credentials },
      groups: [emulator.group],
      stop: async (options = {}) => {
        await group.stop(options);
      },
    };
  });
}

/** What an AWS client has to be made with to talk to an endpoint. */
export function clientConfig({ url, region: itsRegion, credentials, ca }: AwsEndpoint) {
  return {
    endpoint: url,
    region: itsRegion,
    credentials,
    ...(ca === undefined ? {} : { requestHandler: { httpsAgent: new Agent({ ca, keepAlive: true }) } }),
  };
}

/** What a process has to have in its environment to work on an endpoint as its administrator. */
export function environmentOf(endpoint: AwsEndpoint): Readonly<Record<string, string>> {
  const { url, region: itsRegion, credentials, caFile, folder } = endpoint;
  return {
    AWS_ENDPOINT_URL: url,
    AWS_ENDPOINT_URL_S3: url,
    AWS_REGION: itsRegion,
    AWS_DEFAULT_REGION: itsRegion,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    ...(credentials.sessionToken === undefined ? {} : { AWS_SESSION_TOKEN: credentials.sessionToken }),
    ...(caFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: caFile, AWS_CA_BUNDLE: caFile }),
    // Its cache maps keys to accounts, which differ from endpoint to endpoint.
    ...(folder === undefined ? {} : { CDK_HOME: join(folder, "cdk") }),
  };
}

function parseGiven({ AWS_ENDPOINT_URL: url, ...caller }: NodeJS.ProcessEnv): AwsEndpoint | undefined {
  if (url === undefined || url === "") return undefined;
  const { AWS_SESSION_TOKEN: sessionToken } = caller;
  return {
    url,
    region: caller.AWS_REGION ?? caller.AWS_DEFAULT_REGION ?? "us-east-1",
    credentials: {
      accessKeyId: caller.AWS_ACCESS_KEY_ID ?? "test",
      secretAccessKey: caller.AWS_SECRET_ACCESS_KEY ?? "test",
      ...(sessionToken === undefined ? {} : { sessionToken }),
    },
    ca: undefined,
    caFile: caller.NODE_EXTRA_CA_CERTS,
    own: false,
    folder: undefined,
  };
}

/** Makes a user who may do everything, as whoever deploys to a real account is one. */
async function createAdministrator(endpoint: AwsEndpoint): Promise<AwsEndpoint["credentials"]> {
  const iam = new IAMClient(clientConfig(endpoint));
  try {
    const UserName = "deployer";
    await iam.send(new CreateUserCommand({ UserName }));
    const everything = { Version: "2012-10-17", Statement: [{ Effect: "Allow", Action: "*", Resource: "*" }] };
    const PolicyDocument = JSON.stringify(everything);
    await iam.send(new PutUserPolicyCommand({ UserName, PolicyName: "everything", PolicyDocument }));
    const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName }));
    const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey } = AccessKey ?? {};
    if (accessKeyId === undefined || secretAccessKey === undefined) throw new Error("aws: the user got no key");
    return { accessKeyId, secretAccessKey };
  } finally {
    iam.destroy();
  }
}
