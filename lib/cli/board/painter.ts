/** Puts lines on a terminal's screen and takes them away again. */
export interface Painter {
  /** Shows these lines; only what differs from before is sent. */
  paint(lines: readonly string[]): void;
  /** Forgets what is on the screen, for a terminal that has changed its size. */
  forget(): void;
  /** Gives the terminal back as it was. It does nothing a second time. */
  end(): void;
}

const screen = {
  // Another screen, no cursor, no lines that go on in the next row.
  begin: "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J",
  end: "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l",
  clear: "\x1b[2J",
  // The terminal shows what is between these at once.
  hold: "\x1b[?2026h",
  release: "\x1b[?2026l",
} as const;

/** Takes over a terminal's screen. Whoever does must see to `end`, also after a crash. */
export function createPainter(write: (text: string) => void): Painter {
  let shown: readonly string[] = [];
  let cleared = true;
  let ended = false;
  write(screen.begin);
  return {
    paint: (lines) => {
      if (ended) return;
      let text = cleared ? "" : screen.clear;
      for (const [at, line] of lines.entries()) {
        if (cleared && shown[at] === line) continue;
        text += `\x1b[${at + 1};1H${line}\x1b[K`;
      }
      for (let at = lines.length; at < shown.length; at += 1) text += `\x1b[${at + 1};1H\x1b[K`;
      cleared = true;
      shown = lines;
      if (text !== "") write(`${screen.hold}${text}${screen.release}`);
    },
    forget: () => {
      cleared = false;
      shown = [];
    },
    end: () => {
      if (ended) return;
      ended = true;
      write(screen.end);
    },
  };
}
