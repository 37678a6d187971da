import { existsSync } from "node:fs";
import { join } from "node:path";
import { ControllerError } from "@tmc/kube/fault.ts";
import { IgnoreMode } from "aws-cdk-lib";
import { Repository } from "aws-cdk-lib/aws-ecr";
import { Platform } from "aws-cdk-lib/aws-ecr-assets";
import { ContainerImage } from "aws-cdk-lib/aws-ecs";
import type { Construct } from "constructs";

/** The relay's image from a registry; one in ECR is known as such, so that the tasks get the right to pull it. */
export function relayImageOf(scope: Construct, image: string): ContainerImage {
  const ecr =
    /^(?<account>\d{12})\.dkr\.ecr\.(?<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?\/(?<name>[^:@]+)[:@](?<version>.+)$/;
  const { account, region, name, version } = ecr.exec(image)?.groups ?? {};
  if (account === undefined || region === undefined || name === undefined) return ContainerImage.fromRegistry(image);
  const partition = region.startsWith("cn-") ? "aws-cn" : region.startsWith("us-gov-") ? "aws-us-gov" : "aws";
  const repository = Repository.fromRepositoryAttributes(scope, "Repository", {
    repositoryArn: `arn:${partition}:ecr:${region}:${account}:repository/${name}`,
    repositoryName: name,
  });
  return ContainerImage.fromEcrRepository(repository, version);
}

/** The relay's image from a Dockerfile beside `dist/relay.js`; synth only reads them, deploy builds them with Docker. */
export function builtRelayImage(folder: string): ContainerImage {
  const missing = ["Dockerfile", "dist/relay.js"].filter((file) => !existsSync(join(folder, file)));
  if (missing.length > 0) {
    const files = missing.join(" and ");
    throw new ControllerError(
      "invalid",
      `relay: no ${files} in ${folder}: run npm run build first, or name an image with relay.image`,
    );
  }
  return ContainerImage.fromAsset(folder, {
    platform: Platform.LINUX_ARM64,
    // Whatever else lies in the folder must neither be sent to Docker nor make a new image of the same relay.
    exclude: ["*", "!Dockerfile", "!dist", "dist/*", "!dist/relay.js"],
    ignoreMode: IgnoreMode.DOCKER,
  });
}
