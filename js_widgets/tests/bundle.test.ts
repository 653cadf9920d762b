// @vitest-environment node

/** The container: every width and encoding of integers, plain and gzip, damaged and newer. */

import { describe, expect, it } from "vitest";
import { openBundle, parse } from "../src/bundle";

type Arrays = Record<
  string,
  { dtype: string; encoding: string; bytes: Uint8Array<ArrayBuffer>; count: number }
>;

function container(arrays: Arrays, more: object = {}): Uint8Array<ArrayBuffer> {
  const specs: Record<string, object> = {};
  let size = 0;
  for (const [name, { dtype, encoding, bytes, count }] of Object.entries(arrays)) {
    specs[name] = { dtype, encoding, count, offset: size };
    size += Math.ceil(bytes.length / 8) * 8;
  }
  const header = {
    what: "pallas_debug trace",
    format: 1,
    events: 0,
    arrays: specs,
    data_bytes: size,
    ...more,
  };
  let text = JSON.stringify(header);
  text += " ".repeat((8 - (text.length % 8)) % 8);
  const out = new Uint8Array(8 + text.length + size);
  new DataView(out.buffer).setBigUint64(0, BigInt(text.length), true);
  out.set(new TextEncoder().encode(text), 8);
  for (const [name, { bytes }] of Object.entries(arrays)) {
    out.set(bytes, 8 + text.length + (specs[name] as { offset: number }).offset);
  }
  return out;
}

const stored = (
  array: { buffer: ArrayBuffer; length: number },
  dtype: string,
  encoding: string,
) => ({
  dtype,
  encoding,
  bytes: new Uint8Array(array.buffer),
  count: array.length,
});

describe("integers", () => {
  it.each([
    ["u1", new Uint8Array([0, 255]), [0, 255], [0, 255]],
    ["i1", new Int8Array([-128, 127]), [-128, 127], [-128, -1]],
    ["u2", new Uint16Array([1, 65535]), [1, 65535], [1, 65536]],
    ["i2", new Int16Array([-32768, 5]), [-32768, 5], [-32768, -32763]],
    ["u4", new Uint32Array([4294967295, 1]), [4294967295, 1], [4294967295, 4294967296]],
    ["i4", new Int32Array([2147483647, 1]), [2147483647, 1], [2147483647, 2147483648]],
    ["u8", new BigUint64Array([5n, 2n ** 40n]), [5, 2 ** 40], [5, 2 ** 40 + 5]],
    ["i8", new BigInt64Array([-5n, 3n]), [-5, 3], [-5, -2]],
  ])("of type %s, raw and as differences", (dtype, array, raw, sums) => {
    const data = container({ r: stored(array, dtype, "raw"), d: stored(array, dtype, "delta") });
    const bundle = parse(data);
    expect([...bundle.ints("r")]).toEqual(raw);
    expect([...bundle.ints("d")]).toEqual(sums);
    expect(bundle.ints("d")).toBe(bundle.ints("d"));
  });

  it("that do not exist, or lie outside, are refused", () => {
    const bundle = parse(container({ a: stored(new Uint8Array([1]), "u1", "zip") }));
    expect(() => bundle.ints("a")).toThrow(/unknown encoding/);
    expect(() => bundle.ints("b")).toThrow(/no array b/);
    expect(() => bundle.bytes(0, 100)).toThrow(/outside the file/);
  });
});

describe("opening", () => {
  const data = container({ a: stored(new Uint8Array([1, 2, 3]), "u1", "raw") });

  it("takes bytes, views at any offset, base64 and gzip", async () => {
    const shifted = new Uint8Array(data.length + 3);
    shifted.set(data, 3);
    const zipped = await new Response(
      new Blob([data]).stream().pipeThrough(new CompressionStream("gzip")),
    ).arrayBuffer();
    const text = Buffer.from(zipped).toString("base64");
    const forms = [data, data.buffer, new DataView(shifted.buffer, 3), zipped, `\n${text}\n`];
    for (const form of forms) expect([...(await openBundle(form)).ints("a")]).toEqual([1, 2, 3]);
  });

  it.each([
    ["cut", data.slice(0, data.length - 4), /cut short/],
    ["cut in its header", data.slice(0, 40), /cut short/],
    ["empty", new Uint8Array(0), /too short/],
    ["another file", new TextEncoder().encode("PK some other archive"), /no pallas_debug trace/],
    ["newer", container({}, { format: 99 }), /format 99/],
    ["another container", container({}, { what: "weights" }), /another one/],
  ])("refuses what is %s", async (_, bytes, message) => {
    await expect(openBundle(bytes)).rejects.toThrow(message);
  });
});
