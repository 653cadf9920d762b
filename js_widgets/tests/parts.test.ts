/** A bundle that grew by a part is the one that Python would have sent whole. */

import { describe, expect, it } from "vitest";
import { type Bundle, openBundle } from "../src/bundle";
import { Model } from "../src/model/trace";
import { modelOf, partOf } from "./golden";

const CASE = "random_1";

async function part(number: number): Promise<Bundle> {
  return openBundle(partOf(CASE, number));
}

describe("a growing bundle", () => {
  it("has the arrays, the header and the values of the whole one", async () => {
    const whole = await modelOf(CASE);
    const first = await part(0);
    const grown = first.followedBy(await part(1));
    expect(first.header.events).toBeLessThan(whole.count);
    for (const name of Object.keys(whole.bundle.header.arrays)) {
      if (name === "payloads.offset") continue;
      expect(Array.from(grown.ints(name)), name).toEqual(Array.from(whole.bundle.ints(name)));
    }
    const { arrays, data_bytes, data_crc32, view, ...rest } = whole.bundle.header;
    expect(grown.header).toMatchObject(rest);
    const { findings, has_report, ...shown } = view;
    expect(grown.header.view).toMatchObject({ ...shown, has_report: false });
    const model = new Model(grown);
    for (let row = 0; row < whole.bundle.ints("payloads.dtype").length; row++)
      expect(model.payload(row), `value ${row}`).toEqual(whole.payload(row));
    for (let e = 0; e < whole.count; e++) expect(model.what(e)).toBe(whole.what(e));
    for (let b = 0; b < whole.buffers.count; b++) {
      const memory = whole.memory(b, whole.count);
      expect(model.memory(b, whole.count)?.values).toEqual(memory?.values);
    }
  });

  it("leaves the one before as it was", async () => {
    const first = await part(0);
    const before = Array.from(first.ints("events.kind"));
    first.followedBy(await part(1)).ints("events.kind");
    expect(Array.from(first.ints("events.kind"))).toEqual(before);
  });

  it("refuses a part of another bundle", async () => {
    const other = (await modelOf("elementwise")).bundle;
    const mixed = other.followedBy(await part(1));
    expect(() => mixed.ints("view.clocks.parent")).toThrow("lacks rows");
  });
});
