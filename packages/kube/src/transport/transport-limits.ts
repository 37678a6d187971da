/** Enough to keep a kube-apiserver busy; more connections gave no more requests per second. */
export const requestConnections = 16;

export const connectTimeoutMs = 5_000;

/** Below the 60 s after which load balancers drop an idle connection, and the 90 s of a Go server. */
export const idleTimeoutMs = 30_000;

/** Far above any page of a list; protects the memory of the process from an endless body. */
export const largestBodyBytes = 256 * 1024 * 1024;

const mebibyte = 1024 * 1024;

/** Limits for the answers of a server that another party named. */
export type ResponseLimits = Readonly<{
  /** One answer that is not a list: an object, discovery, health. Also one event of a watch. */
  bodyBytes: number;
  /** One page of a list. A page that is larger is requested again with fewer items. */
  pageBytes: number;
  /** The memory that one answer takes when it is parsed, as `estimateHeapBytes` computes it. */
  heapBytes: number;
  /** The same for a list whose objects are all kept until it is complete. */
  listHeapBytes: number;
  /** Limits of all pages of a list together. */
  listPages: number;
  listItems: number;
  listBytes: number;
  listMs: number;
  /** What informers may keep of one server, over all types: objects, and the length of what is kept of them. */
  cachedObjects: number;
  cachedBytes: number;
}>;

/**
 * The limits for servers that tenants name. An object in etcd has at most 1.5 MB. Parsing is one step of the event loop. Measured
 * in CPU time: ordinary JSON of 2 MB takes 11 ms, the worst that these limits accept 30 ms and 45 MB of memory; a page of
 * 8 MB takes 50 ms, the worst 80 ms. That is too little to be worth a thread. The limits of whole lists are several times
 * those of ten thousand workloads of one type on one cluster. Informers may keep as many objects as one list may have, and ten
 * times what they keep of ten thousand Deployments (a status of some 0.6 KB each).
 */
export const untrustedServerLimits: ResponseLimits = {
  bodyBytes: 2 * mebibyte,
  pageBytes: 8 * mebibyte,
  heapBytes: 64 * mebibyte,
  listHeapBytes: 192 * mebibyte,
  listPages: 2_000,
  listItems: 100_000,
  listBytes: 512 * mebibyte,
  listMs: 120_000,
  cachedObjects: 100_000,
  cachedBytes: 64 * mebibyte,
};

/**
 * The bytes of unfinished responses of all servers of one tenant: four pages of the largest size. The text is copied when it is
 * decoded, so a tenant takes at most some 100 MB this way; a function has 512 MB or more. An honest tenant rarely reads two such
 * pages at a time: 500 Deployments have some 4 MB.
 */
export const tenantInFlightBytes = 4 * untrustedServerLimits.pageBytes;

/** What V8 takes for a list or object, and for the slot of a value in the one around it. */
const heapBytesPerContainer = 64;
const heapBytesPerSlot = 16;

/**
 * Estimates how much memory a JSON text takes when it is parsed. Ordinary JSON takes three to five times its length;
 * `[{},{},…]` and `[[[[…]]]]` take more than twenty times.
 */
export function estimateHeapBytes(json: string): number {
  let containers = 0;
  let separators = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === 0x2c)
      separators += 1; // ,
    else if (code === 0x5b || code === 0x7b) containers += 1; // [ {
  }
  return json.length + containers * heapBytesPerContainer + separators * heapBytesPerSlot;
}
