import { padEnd, textWidth } from "../output.ts";

export type Style = "plain" | "bold" | "dim" | "good" | "bad" | "warn" | "accent" | "title";
/** A piece of a line in one style. */
export type Span = Readonly<{ text: string; style: Style }>;
export type Line = readonly Span[];

const codes: Readonly<Record<Style, string>> = {
  plain: "",
  bold: "1",
  dim: "2",
  good: "32",
  bad: "31",
  warn: "33",
  accent: "36",
  title: "1;30;46",
};

export function span(text: string, style: Style = "plain"): Span {
  return { text, style };
}

export function lineWidth(line: Line): number {
  return line.reduce((width, { text }) => width + textWidth(text), 0);
}

/** A piece brought to a width: cut with an ellipsis, or filled with spaces. */
export function fitted({ text, style }: Span, width: number): Span {
  return { text: padEnd(clipText(text, width), width), style };
}

/** A text of at most so many columns. */
export function clipText(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let clipped = "";
  for (const character of text) {
    if (textWidth(clipped + character) > width - 1) break;
    clipped += character;
  }
  return width < 1 ? "" : `${clipped}…`;
}

/** Something on the left and something on the right of a line, with `fill` between them; the right gives way first. */
export function spread(left: Line, right: Line, columns: number, fill: Span = span(" ")): Line {
  const room = columns - lineWidth(left) - lineWidth(right);
  if (room < 1) return left;
  return [...left, { text: fill.text.repeat(room), style: fill.style }, ...right];
}

/** Breaks a text into lines of a width, between words; no more than `most` lines. */
export function wrapped(text: string, width: number, most: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (textWidth(longer) <= width || line === "") line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  lines.push(line);
  if (lines.length <= most) return lines.map((each) => clipText(each, width));
  const shown = lines.slice(0, most);
  return shown.map((each, at) => clipText(at === most - 1 ? `${each} …` : each, width));
}

/** A line as it is sent to a terminal: never wider than that, in colour or without. */
export function formatLine(line: Line, { columns, color }: Readonly<{ columns: number; color: boolean }>): string {
  let room = columns;
  let text = "";
  for (const piece of line) {
    if (room <= 0) break;
    const shown = textWidth(piece.text) <= room ? piece.text : clipText(piece.text, room);
    room -= textWidth(shown);
    const code = color ? codes[piece.style] : "";
    text += code === "" ? shown : `\x1b[${code}m${shown}\x1b[0m`;
  }
  return color ? text : text.trimEnd();
}
