const newline = 0x0a;

/** A line this long is not a Kubernetes event: etcd stores objects of a few megabytes at most. */
const longestLineBytes = 64 * 1024 * 1024;

/** Splits a stream into lines, independent of chunk boundaries. */
export interface LineSplitter {
  /** Returns the lines that this chunk completes, without empty ones. */
  push(chunk: Uint8Array | string): string[];
  /** The length of the incomplete line that is kept. */
  readonly pendingBytes: number;
}

function join(pieces: readonly (Uint8Array | string)[]): string {
  const only = pieces[0];
  if (pieces.length === 1 && only !== undefined) return textOf(only);
  // Strings are joined as strings: half of a surrogate pair at the end of a chunk would be lost as bytes.
  if (pieces.every((piece) => typeof piece === "string")) return pieces.join("");
  return Buffer.concat(pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece))).toString();
}

function textOf(piece: Uint8Array | string): string {
  if (typeof piece === "string") return piece;
  return Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString("utf8");
}

/**
 * Creates a splitter. It decodes complete lines only: a newline is never part of a longer UTF-8 sequence, so no character
 * is cut. The pieces of an incomplete line are kept as they are, so that a very long line is copied once.
 */
export function createLineSplitter(limitBytes = longestLineBytes): LineSplitter {
  let pending: (Uint8Array | string)[] = [];
  let pendingBytes = 0;

  const completeLine = (last: Uint8Array | string): string => {
    if (pending.length === 0) return textOf(last);
    const line = join([...pending, last]);
    pending = [];
    pendingBytes = 0;
    return line;
  };
  const keepRest = (rest: Uint8Array | string): void => {
    if (rest.length === 0) return;
    pendingBytes += rest.length;
    if (pendingBytes > limitBytes) throw new Error(`line is longer than ${limitBytes} bytes`);
    pending.push(rest);
  };

  return {
    get pendingBytes() {
      return pendingBytes;
    },
    push: (chunk) => {
      const lines: string[] = [];
      let start = 0;
      if (typeof chunk === "string") {
        for (let end = chunk.indexOf("\n"); end !== -1; end = chunk.indexOf("\n", start)) {
          const line = completeLine(chunk.slice(start, end));
          if (line !== "" && line !== "\r") lines.push(line);
          start = end + 1;
        }
        keepRest(chunk.slice(start));
        return lines;
      }
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
        const line =
          pending.length === 0 ? bytes.toString("utf8", start, end) : completeLine(bytes.subarray(start, end));
        if (line !== "" && line !== "\r") lines.push(line);
        start = end + 1;
      }
      keepRest(bytes.subarray(start));
      return lines;
    },
  };
}
