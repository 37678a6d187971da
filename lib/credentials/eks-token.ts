import { type AwsIdentity, awsDomain, presignUrl } from "./aws-sign.ts";

/**
 * Makes a token for an EKS cluster: a question to STS, "who am I?", signed for this one cluster, that the cluster asks in our
 * name. It holds for the cluster of that name wherever it is sent, so it may go to that cluster's own endpoint alone.
 */
export async function createEksToken(
  cluster: Readonly<{ clusterName: string; region: string }>,
  signing: Readonly<{ identity: AwsIdentity; atMs: number }>,
): Promise<string> {
  const { clusterName, region } = cluster;
  const url = await presignUrl(
    {
      method: "GET",
      hostname: `sts.${region}.${awsDomain(region)}`,
      path: "/",
      query: { Action: "GetCallerIdentity", Version: "2011-06-15" },
      headers: { "x-k8s-aws-id": clusterName },
    },
    { ...signing, service: "sts", region },
    // In the URL the header would count for nothing, and the cluster refuses the token.
    { expiresInSeconds: 60, signedHeaders: ["x-k8s-aws-id"] },
  );
  return `k8s-aws-v1.${Buffer.from(url).toString("base64url")}`;
}
