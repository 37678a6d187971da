import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Words that the project no longer uses, each with the words of docs/glossary.md that replace it. */
export const replacedWords: Readonly<Record<string, string>> = {
  attend: "watch subscription",
  attention: "watch subscription",
  birth: "upsynced object",
  birthplace: "upsync origin",
  born: "upsynced, created downstream",
  breather: "yield",
  chronicle: "event log",
  companion: "dependency",
  crew: "worker pool",
  desk: "runtime",
  doubt: "stale",
  duty: "shard filter",
  headcount: "inventory",
  hindrance: "blocker",
  journal: "deletion log",
  lane: "watched resource",
  ledger: "change tracker",
  look: "reconcile, probe or read",
  news: "change, Event",
  obstacle: "blocker",
  pace: "debounce, rate",
  painter: "renderer",
  portrait: "normalized object",
  purse: "CPU share",
  roster: "cluster index",
  rota: "spread schedule",
  rush: "burst",
  scene: "observed facts",
  sighting: "observed state",
  site: "session",
  survey: "inventory",
  tell: "notify, enqueue or record an Event",
  territory: "scope",
  timetable: "delay heap",
  trouble: "failure, blocker",
  wake: "enqueue",
  wish: "desired",
  workbench: "runtime",
  "carried address": "embedded IPv4",
  "check again": "requeue after",
  "come along": "dependency",
  concealed: "redacted",
  "given up": "dead-lettered",
  "never version": "create-only resourceVersion",
  "set aside": "dead-lettered",
};

/** Other forms of a replaced word that count as the word itself. */
const forms: Readonly<Record<string, string>> = {
  told: "tell",
  woken: "wake",
  woke: "wake",
  looking: "look",
  "comes along": "come along",
};

/** Texts that may contain a replaced word, with the reason. */
const exceptions: readonly Readonly<{ file: RegExp; words?: readonly string[]; reason: string }>[] = [
  { file: /^scripts\/vocabulary\.ts$/, reason: "This file lists the words." },
  { file: /^docs\/glossary\.md$/, reason: "The glossary lists the words that it replaces." },
  {
    file: /^packages\/embedded\/src\/(?:kubernetes\/admission|server\/request-body|storage\/continue-token)\.ts$/,
    words: ["look"],
    reason:
      'Error messages of Kubernetes, verbatim: "looking for beginning of value", "error looking up service account".',
  },
];

const productFiles = [
  "{bin,functions,infra,lib,scripts}/**/*.{ts,mjs,md}",
  "packages/*/src/**/*.ts",
  "packages/*/*.md",
  "docs/**/*.md",
  "examples/**/*.{yaml,md}",
  "{README,CONTRIBUTING}.md",
];

export type WordUse = Readonly<{ file: string; line: number; word: string }>;

/** The uses of replaced words in product code and documentation, and the number of files that were read. */
export function findReplacedWords(root: string): Readonly<{ files: number; uses: readonly WordUse[] }> {
  const files = globSync(productFiles, { cwd: root }).sort();
  const uses = files.flatMap((file) =>
    usesInText(readFileSync(join(root, file), "utf8")).flatMap(({ line, word }) =>
      exceptions.some((exception) => exception.file.test(file) && (exception.words ?? [word]).includes(word))
        ? []
        : [{ file, line, word }],
    ),
  );
  return { files: files.length, uses };
}

/** The uses of replaced words in a text. Identifiers count by their parts: `looksAgain` is a use of "look". */
export function usesInText(text: string): readonly Omit<WordUse, "file">[] {
  return text.split("\n").flatMap((content, index) => {
    const words = (content.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).map((word) => stem(word.toLowerCase()));
    const pairs = words.slice(1).map((word, at) => `${words[at]} ${word}`);
    return [...words, ...pairs].flatMap((word) => {
      const known = forms[word] ?? word;
      return Object.hasOwn(replacedWords, known) ? [{ line: index + 1, word: known }] : [];
    });
  });
}

/** A word without a plural or verb ending, if that gives a replaced word. */
function stem(word: string): string {
  const candidates = [
    word,
    word.replace(/s$/, ""),
    word.replace(/es$/, ""),
    word.replace(/ed$/, ""),
    word.replace(/d$/, ""),
  ];
  return candidates.find((candidate) => Object.hasOwn(replacedWords, candidate)) ?? word;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { files, uses } = findReplacedWords(fileURLToPath(new URL("..", import.meta.url)));
  for (const { file, line, word } of uses) console.log(`${file}:${line}: "${word}": write ${replacedWords[word]}`);
  console.log(`${uses.length} uses of ${Object.keys(replacedWords).length} replaced words in ${files} files`);
  process.exitCode = uses.length === 0 ? 0 : 1;
}
