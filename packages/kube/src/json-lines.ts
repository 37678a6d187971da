const newline = 0x0a;

/** A line this long is no Kubernetes event: etcd takes objects of a few megabytes at most. */
const longestLineBytes = 64 * 1024 * 1024;

/** Splits a stream into lines, whatever way its chunks are cut. */
export interface LineSplitter {
  /** The lines that this chunk completes, empty ones left out. */
  push(chunk: Uint8Array | string): string[];
}

function join(pieces: readonly (Uint8Array | string)[]): string {
  const only = pieces[0];
  if (pieces.length === 1 && only !== undefined) return textOf(only);
  // Text stays text: half of a surrogate pair at a chunk's end would not survive being turned into bytes.
  if (pieces.every((piece) => typeof piece === "string")) return pieces.join("");
  return Buffer.concat(pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece))).toString();
}

function textOf(piece: Uint8Array | string): string {
  if (typeof piece === "string") return piece;
  return Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString("utf8");
}

/**
 * Creates a splitter. Bytes become text one whole line at a time: a newline is never part of a longer UTF-8 sequence, so
 * no character is ever cut. What is left of a line waits in pieces, so that a giant one is copied once.
 */
export function createLineSplitter(limitBytes = longestLineBytes): LineSplitter {
  let pieces: (Uint8Array | string)[] = [];
  let waiting = 0;

  const take = (last: Uint8Array | string): string => {
    if (pieces.length === 0) return textOf(last);
    const line = join([...pieces, last]);
    pieces = [];
    waiting = 0;
    return line;
  };
  const keep = (rest: Uint8Array | string): void => {
    if (rest.length === 0) return;
    waiting += rest.length;
    if (waiting > limitBytes) throw new Error(`line is longer than ${limitBytes} bytes`);
    pieces.push(rest);
  };

  return {
    push: (chunk) => {
      const lines: string[] = [];
      let start = 0;
      if (typeof chunk === "string") {
        for (let end = chunk.indexOf("\n"); end !== -1; end = chunk.indexOf("\n", start)) {
          const line = take(chunk.slice(start, end));
          if (line !== "" && line !== "\r") lines.push(line);
          start = end + 1;
        }
        keep(chunk.slice(start));
        return lines;
      }
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
        const line = pieces.length === 0 ? bytes.toString("utf8", start, end) : take(bytes.subarray(start, end));
        if (line !== "" && line !== "\r") lines.push(line);
        start = end + 1;
      }
      keep(bytes.subarray(start));
      return lines;
    },
  };
}
