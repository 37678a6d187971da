import { readFile } from "node:fs/promises";
import { ControllerError } from "@tmc/kube/fault.ts";
import { loadAll } from "js-yaml";
import { type CustomType, parseCustomType } from "../../upstream/custom-types.ts";

/** Reads the CustomResourceDefinitions in a file that --crd names. */
export async function readCustomTypes(file: string): Promise<readonly CustomType[]> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new ControllerError("invalid", `--crd "${file}": cannot be read`, { cause: error });
  });
  let documents: readonly unknown[];
  try {
    documents = loadAll(text).filter((document) => document !== null && document !== undefined);
  } catch (error) {
    throw new ControllerError("invalid", `--crd "${file}": invalid YAML`, { cause: error });
  }
  if (documents.length === 0) throw new ControllerError("invalid", `--crd "${file}": empty`);
  return documents.map((document) => parseCustomType(document, `--crd "${file}"`));
}
