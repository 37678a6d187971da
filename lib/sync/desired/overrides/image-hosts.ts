import { hostOf, isAt, parseImage, parsePlace } from "./image-name.ts";
import { refuse } from "./refuse.ts";

/** One place of images and what takes its place, both as `parsePlace` gives them; without `from`, for every image. */
export type HostRule = Readonly<{ from: string | undefined; to: string }>;

/** Reads a rule; refuses what is no place of images. */
export function parseHostRule(
  { from, to }: Readonly<{ from?: string | undefined; to: string }>,
  where: string,
): HostRule {
  const read = (text: string) =>
    parsePlace(text) ?? refuse(where, `${JSON.stringify(text)} is no host of images, nor a path on one`);
  return { from: from === undefined ? undefined : read(from), to: read(to) };
}

/**
 * The image with its host replaced by the rule that says most about it; as it was when none does.
 *
 * An image that was replaced is never replaced again, also where the new place is within the old one. Rules of which one
 * would take up what another has made are refused: what came out would depend on how often they were followed.
 */
export function rewriteImage(image: string, rules: readonly HostRule[], where: string): string {
  const once = rewrite(image, rules);
  if (once === undefined) return image;
  if (!once.includes("/")) refuse(where, `image ${JSON.stringify(image)} would be left without a name`);
  const twice = rewrite(once, rules);
  if (twice !== undefined) {
    refuse(
      where,
      `image ${JSON.stringify(image)} would be replaced by ${JSON.stringify(once)}, and that by ${JSON.stringify(twice)}`,
    );
  }
  return once;
}

function rewrite(image: string, rules: readonly HostRule[]): string | undefined {
  const { name, version } = parseImage(image);
  const [rule] = rules
    .filter((each) => isMeant(name, each, rules))
    .toSorted((one, other) => (other.from?.length ?? 0) - (one.from?.length ?? 0));
  return rule === undefined ? undefined : `${rule.to}${name.slice((rule.from ?? hostOf(name)).length)}${version}`;
}

function isMeant(name: string, { from, to }: HostRule, rules: readonly HostRule[]): boolean {
  if (from === undefined) return !rules.some((each) => isAt(name, each.to));
  const isDone = isAt(to, from) && isAt(name, to);
  return isAt(name, from) && !isDone;
}
