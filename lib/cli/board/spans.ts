import { padEnd, textWidth } from "../output.ts";

export type Style = "plain" | "bold" | "dim" | "good" | "bad" | "warn" | "accent" | "title";
/** A part of a line in one style. */
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

/** The style of a state. */
export type State = "good" | "warn" | "bad" | "dim";

/** The marker of each state: its shape distinguishes the states without color. */
const markers: Readonly<Record<State, string>> = { good: "●", warn: "◐", bad: "✗", dim: "○" };

export function markerOf(state: State): Span {
  return span(markers[state], state);
}

export function lineWidth(line: Line): number {
  return line.reduce((width, { text }) => width + textWidth(text), 0);
}

/** Truncates a span with an ellipsis, or pads it with spaces, to a width. */
export function fitSpan({ text, style }: Span, width: number): Span {
  return { text: padEnd(clipText(text, width), width), style };
}

/** Truncates a text to a number of columns, with an ellipsis. */
export function clipText(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let clipped = "";
  for (const character of text) {
    if (textWidth(clipped + character) > width - 1) break;
    clipped += character;
  }
  return width < 1 ? "" : `${clipped}…`;
}

/** Aligns spans left and right, with `fill` between them; when the line is too narrow, the right ones are dropped. */
export function justify(left: Line, right: Line, columns: number, fill: Span = span(" ")): Line {
  const gap = columns - lineWidth(left) - lineWidth(right);
  if (gap < 1) return left;
  return [...left, { text: fill.text.repeat(gap), style: fill.style }, ...right];
}

/** Wraps a text between words into at most `maxLines` lines. */
export function wrapText(text: string, width: number, maxLines: number): readonly string[] {
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
  if (lines.length <= maxLines) return lines.map((each) => clipText(each, width));
  const shown = lines.slice(0, maxLines);
  return shown.map((each, at) => clipText(at === maxLines - 1 ? `${each} …` : each, width));
}

/** Formats a line for the terminal, truncated to its width, with or without color. */
export function formatLine(line: Line, { columns, color }: Readonly<{ columns: number; color: boolean }>): string {
  let available = columns;
  let text = "";
  for (const part of line) {
    if (available <= 0) break;
    const shown = textWidth(part.text) <= available ? part.text : clipText(part.text, available);
    available -= textWidth(shown);
    const code = color ? codes[part.style] : "";
    text += code === "" ? shown : `\x1b[${code}m${shown}\x1b[0m`;
  }
  return color ? text : text.trimEnd();
}
