/**
 * The container of a trace: a length, a JSON header, aligned little-endian arrays.
 *
 * Reads what `pallas_debug.trace.container` writes and refuses, in words for people, what is
 * cut short, damaged or newer. Knows nothing of what the arrays mean.
 */

import { FORMAT } from "./schema.gen";

export type Ints = Int32Array | Float64Array;

interface ArraySpec {
  dtype: string;
  count: number;
  encoding: string;
  offset: number;
  /** In a part: how many rows of the bundle before stay. */
  keep?: number;
}

export interface Header {
  what: string;
  format: number;
  events: number;
  arrays: Record<string, ArraySpec>;
  data_bytes: number;
  // biome-ignore lint/suspicious/noExplicitAny: the header is JSON of Python's making
  [key: string]: any;
}

/** A bundle that cannot be shown: what is wrong, and what to do. */
export class BundleError extends Error {
  constructor(
    message: string,
    readonly hint: string,
  ) {
    super(message);
    this.name = "BundleError";
  }
}

const ITEM_BYTES: Record<string, number> = {
  u1: 1,
  i1: 1,
  u2: 2,
  i2: 2,
  u4: 4,
  i4: 4,
  u8: 8,
  i8: 8,
};
const WHAT = "pallas_debug trace";
const MAX_INT32 = 2 ** 31 - 1;

export class Bundle {
  private readonly decoded = new Map<string, Ints>();

  /** `before` is the bundle that this one continues; offsets of values count through. */
  constructor(
    readonly header: Header,
    private readonly data: Uint8Array<ArrayBuffer>,
    private readonly before?: Bundle,
  ) {}

  /** Bytes of data, those of the bundles before with them. */
  get size(): number {
    return (this.before?.size ?? 0) + this.data.length;
  }

  /** The bundle that a part makes of this one: rows are added, few are changed. */
  followedBy(part: Bundle): Bundle {
    const view = { ...this.header.view, ...part.header.view };
    return new Bundle({ ...this.header, ...part.header, view }, part.data, this);
  }

  has(name: string): boolean {
    return name in this.header.arrays;
  }

  /** A copy of raw bytes of the data part. */
  bytes(offset: number, size: number): Uint8Array<ArrayBuffer> {
    const first = this.before?.size ?? 0;
    return this.before && offset < first
      ? this.before.bytes(offset, size)
      : this.own(offset - first, size).slice();
  }

  /** Not to be written: the bytes themselves. */
  private own(offset: number, size: number): Uint8Array<ArrayBuffer> {
    if (offset < 0 || size < 0 || offset + size > this.data.length) {
      throw damaged(`${size} bytes at ${offset} lie outside the file`);
    }
    return this.data.subarray(offset, offset + size);
  }

  /** The stored bytes of an array; throws where `ints` would. */
  stored(name: string): Uint8Array<ArrayBuffer> {
    const spec = this.header.arrays[name];
    if (!spec) throw damaged(`it has no array ${name}`);
    const { dtype, encoding, count, offset } = spec;
    const size = ITEM_BYTES[dtype];
    if (!size || !(encoding === "raw" || encoding === "delta") || !(count >= 0))
      throw damaged(`array ${name} has an unknown encoding`);
    return this.own(offset, count * size);
  }

  /** The integer array of a name; decoded once. Not to be written. */
  ints(name: string): Ints {
    let found = this.decoded.get(name);
    if (!found) {
      const bytes = this.stored(name);
      const spec = this.header.arrays[name];
      found = decode(view(bytes, spec.dtype), spec.encoding === "delta");
      if (this.before && spec.keep !== undefined)
        found = this.joined(name, this.before.ints(name), spec.keep, found);
      this.decoded.set(name, found);
    }
    return found;
  }

  private joined(name: string, before: Ints, keep: number, added: Ints): Ints {
    if (keep > before.length) throw damaged(`it lacks rows of ${name}`);
    const [at, to] = [this.intsOrNone(`${name}.at`), this.intsOrNone(`${name}.to`)];
    const wide = [before, added, to].some((part) => part instanceof Float64Array);
    const rows = wide ? new Float64Array(keep + added.length) : new Int32Array(keep + added.length);
    rows.set(before.subarray(0, keep));
    rows.set(added, keep);
    for (let i = 0; i < at.length; i++) rows[at[i]] = to[i];
    return rows;
  }

  /** The same, or an empty array where the file has none. */
  intsOrNone(name: string): Ints {
    return this.has(name) ? this.ints(name) : new Int32Array(0);
  }
}

function damaged(reason: string): BundleError {
  return new BundleError(
    `The trace is damaged: ${reason}.`,
    "Save it again, or load an intact copy.",
  );
}

type Stored =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Int32Array
  | Uint32Array<ArrayBuffer>
  | Float64Array;

function decode(stored: Stored, delta: boolean): Ints {
  // One type of array in the loops: engines are slow where it changes.
  const narrow = stored instanceof Uint32Array ? signed(stored) : stored;
  if (!narrow || narrow instanceof Float64Array) return decodeWide(stored, delta);
  if (!delta) return narrow instanceof Int32Array ? narrow : new Int32Array(narrow);
  const values = new Int32Array(narrow);
  return addUp(values) ? values : decodeWide(stored, true);
}

/** The same numbers with a sign, in place; null where one is too large. */
function signed(stored: Uint32Array<ArrayBuffer>): Int32Array | null {
  const found = new Int32Array(stored.buffer, stored.byteOffset, stored.length);
  for (let i = 0; i < found.length; i++) if (found[i] < 0) return null;
  return found;
}

/** Sums in place; false if they leave 32 bits. */
function addUp(values: Int32Array): boolean {
  let [sum, low, high] = [0, 0, 0];
  for (let i = 0; i < values.length; i++) {
    sum += values[i];
    if (sum > high) high = sum;
    if (sum < low) low = sum;
    values[i] = sum;
  }
  return high <= MAX_INT32 && low >= -MAX_INT32 - 1;
}

function decodeWide(stored: Stored, delta: boolean): Ints {
  const values = new Float64Array(stored);
  let [sum, fits] = [0, true];
  for (let i = 0; i < values.length; i++) {
    sum = delta ? sum + values[i] : values[i];
    values[i] = sum;
    fits &&= sum <= MAX_INT32 && sum >= -MAX_INT32 - 1;
  }
  return fits ? new Int32Array(values) : values;
}

/** The numbers as they are stored: in place, or in a copy where they do not lie evenly. */
function view(bytes: Uint8Array<ArrayBuffer>, dtype: string): Stored {
  const size = ITEM_BYTES[dtype];
  const { buffer, byteOffset: at } = bytes.byteOffset % size ? bytes.slice() : bytes;
  const count = bytes.length / size;
  switch (dtype) {
    case "u1":
      return new Uint8Array(buffer, at, count);
    case "i1":
      return new Int8Array(buffer, at, count);
    case "u2":
      return new Uint16Array(buffer, at, count);
    case "i2":
      return new Int16Array(buffer, at, count);
    case "u4":
      return new Uint32Array(buffer, at, count);
    case "i4":
      return new Int32Array(buffer, at, count);
    default: {
      const Big = dtype === "u8" ? BigUint64Array : BigInt64Array;
      return Float64Array.from(new Big(buffer, at, count), Number);
    }
  }
}

/** Opens a bundle: bytes or base64 text, plain or gzip. Throws `BundleError`. */
export async function openBundle(
  source: ArrayBuffer | Uint8Array | DataView | string,
): Promise<Bundle> {
  return parse(await decompressed(asBytes(source)));
}

function asBytes(source: ArrayBuffer | ArrayBufferView | string): Uint8Array<ArrayBuffer> {
  if (typeof source === "string") return fromBase64(source.trim());
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  const bytes = new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  return bytes as Uint8Array<ArrayBuffer>;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    const modern = Uint8Array as unknown as {
      fromBase64?: (text: string) => Uint8Array<ArrayBuffer>;
    };
    if (modern.fromBase64) return modern.fromBase64(text);
    const raw = atob(text);
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return bytes;
  } catch {
    throw damaged("its text is no base64");
  }
}

async function decompressed(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  if (typeof DecompressionStream === "undefined") {
    throw new BundleError(
      "This browser cannot unpack the trace.",
      "Use a browser from 2023 or later, or save the trace uncompressed.",
    );
  }
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new BundleError(
      "The trace is cut short or damaged: it does not unpack.",
      "Save it again, or load an intact copy.",
    );
  }
}

/** The header and the data part of uncompressed bytes. */
export function parse(bytes: Uint8Array<ArrayBuffer>): Bundle {
  const notATrace = (reason: string) =>
    new BundleError(
      `This is no pallas_debug trace: ${reason}.`,
      "Open a file written by trace.save or to_html.",
    );
  if (bytes.length < 8) throw notATrace("it is too short");
  const head = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const length = Number(head.getBigUint64(0, true));
  if (length < 2 || length > 2 ** 30 || bytes[8] !== 0x7b)
    throw notATrace("it does not begin with a header");
  if (8 + length > bytes.length) throw cutShort(bytes.length, 8 + length);
  let header: Header;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  } catch {
    throw notATrace("its header is no JSON");
  }
  if (header?.what !== WHAT || typeof header.arrays !== "object")
    throw notATrace("its header is another one");
  if (!(header.format <= FORMAT)) {
    throw new BundleError(
      `The trace has format ${header.format}; this viewer knows formats up to ${FORMAT}.`,
      "Open it with a newer pallas_debug.",
    );
  }
  const expected = 8 + length + header.data_bytes;
  if (!(expected <= bytes.length)) throw cutShort(bytes.length, expected);
  return new Bundle(header, bytes.subarray(8 + length));
}

function cutShort(size: number, expected: number): BundleError {
  return new BundleError(
    `The trace is cut short: ${size} bytes of ${expected}.`,
    "Copy or save it again; it ended too early.",
  );
}
