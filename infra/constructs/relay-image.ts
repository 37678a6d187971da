import { existsSync } from "node:fs";
import { join } from "node:path";
import { ControllerError } from "@tmc/kube/fault.ts";
import { IgnoreMode } from "aws-cdk-lib";
import { Repository } from "aws-cdk-lib/aws-ecr";
import { Platform } from "aws-cdk-lib/aws-ecr-assets";
import { ContainerImage } from "aws-cdk-lib/aws-ecs";
import type { Construct } from "constructs";

/** An image of a registry. An ECR image is imported as such, so that CDK grants the tasks permission to pull it. */
export function registryRelayImage(scope: Construct, image: string): ContainerImage {
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

/** An image built from the Dockerfile's target `relay` and `dist/relay.js`. Synth only hashes them; deploy builds the image with Docker. */
export function builtRelayImage(folder: string): ContainerImage {
  const missing = ["Dockerfile", "dist/relay.js"].filter((file) => !existsSync(join(folder, file)));
  if (missing.length > 0) {
    const files = missing.join(" and ");
    throw new ControllerError(
      "invalid",
      `relay: no ${files} in ${folder}: run npm run build first, or set relay.image`,
    );
  }
  return ContainerImage.fromAsset(folder, {
    target: "relay",
    platform: Platform.LINUX_ARM64,
    // Other files must not be sent to Docker, and must not change the hash of the image.
    exclude: ["*", "!Dockerfile", "!dist", "dist/*", "!dist/relay.js"],
    ignoreMode: IgnoreMode.DOCKER,
  });
}
