// @vitest-environment node

/** A trace file as `trace.save` writes it, without what Python derives for the viewer. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openBundle } from "../../src/bundle";
import { compile, where } from "../../src/model/query";
import { Model } from "../../src/model/trace";
import { Kind } from "../../src/schema.gen";

describe("a plain trace file", () => {
  it("has events, memory, lines and lifetimes", async () => {
    const model = new Model(
      await openBundle(new Uint8Array(readFileSync("../tests/golden/trace_v1.pldb"))),
    );
    expect(model.hasView).toBe(false);
    expect(model.count).toBeGreaterThan(0);
    for (let event = 0; event < model.count; event++) expect(model.what(event)).not.toBe("");
    const { kind, object, thread } = model.events;
    for (let event = 0; event < model.count; event++) {
      if (kind[event] === Kind.ALLOC) expect(model.buffers.alloc[object[event]]).toBe(event);
      const before = model.eventsOfThread(thread[event]).indexOf(event);
      expect(model.tickOf(event)).toBe(before);
    }
    for (let buffer = 0; buffer < model.buffers.count; buffer++) {
      const memory = model.memory(buffer, model.count);
      expect(memory === null).toBe(model.buffers.isSync(buffer));
    }
    expect(where(model, compile(model, ""))).toHaveLength(model.count);
    expect([model.spans.count, model.edges.count, model.blocks.count]).toEqual([0, 0, 0]);
    expect(model.clocks).toBeNull();
  });
});
