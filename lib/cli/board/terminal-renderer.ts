type Environment = Readonly<Record<string, string | undefined>>;

/** Whether a terminal can show the board: it needs escape codes and characters beyond ASCII. */
export function canShowBoard(env: Environment): boolean {
  return env.TERM !== "dumb" && isUtf8(env);
}

/** Whether the locale of a terminal is UTF-8, which is assumed if no locale is set. */
export function isUtf8({ LC_ALL, LC_CTYPE, LANG }: Environment): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG || "C.UTF-8";
  return /utf-?8/i.test(locale);
}

/** Shows lines on the alternate screen of a terminal. */
export interface TerminalRenderer {
  /** Shows the lines; writes only those that changed. */
  render(lines: readonly string[]): void;
  /** Makes the next render write all lines, after a change of the terminal size. */
  invalidate(): void;
  /** Restores the terminal; idempotent. */
  end(): void;
}

const escapes = {
  // Alternate screen, hidden cursor, no line wrapping.
  begin: "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J",
  end: "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l",
  clear: "\x1b[2J",
  // Synchronized update: the terminal shows everything between these sequences at once.
  hold: "\x1b[?2026h",
  release: "\x1b[?2026l",
} as const;

/** Switches a terminal to its alternate screen. The caller must call `end`, after a crash too. */
export function createTerminalRenderer(write: (text: string) => void): TerminalRenderer {
  let shown: readonly string[] = [];
  let cleared = true;
  let ended = false;
  write(escapes.begin);
  return {
    render: (lines) => {
      if (ended) return;
      let text = cleared ? "" : escapes.clear;
      for (const [at, line] of lines.entries()) {
        if (cleared && shown[at] === line) continue;
        text += `\x1b[${at + 1};1H${line}\x1b[K`;
      }
      for (let at = lines.length; at < shown.length; at += 1) text += `\x1b[${at + 1};1H\x1b[K`;
      cleared = true;
      shown = lines;
      if (text !== "") write(`${escapes.hold}${text}${escapes.release}`);
    },
    invalidate: () => {
      cleared = false;
      shown = [];
    },
    end: () => {
      if (ended) return;
      ended = true;
      write(escapes.end);
    },
  };
}
