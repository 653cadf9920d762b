// @vitest-environment node

import { beforeAll, describe, expect, it } from "vitest";
import { literalText, parseArguments, QueryError } from "../../src/model/literals";
import { MOVES, toBreakpoint } from "../../src/model/navigation";
import { compile, extents, parseBox, where } from "../../src/model/query";
import type { Model } from "../../src/model/trace";
import { modelOf } from "../golden";

describe("threads", () => {
  it("are found by the names under which they are shown", async () => {
    const model = await modelOf("hopper_matmul");
    const { threads } = model;
    for (let t = 0; t < threads.count; t++) {
      const [found] = where(model, compile(model, `thread="${threads.name(t)}"`));
      expect(found ?? -1).toBe(model.eventsOfThread(t)[0] ?? -1);
    }
    const all = where(model, compile(model, 'thread="warpgroup 0"'));
    expect([...where(model, compile(model, 'thread="wg 0"'))]).toEqual([...all]);
    expect(all.length).toBeGreaterThan(0);
    expect(() => compile(model, 'thread="warpgroup 99"')).toThrow("thread");
  });
});

describe("literals", () => {
  it("are Python's", () => {
    expect(
      parseArguments(`kind=("write", 'update'), block=(0, 1,), n=-1_000, ok=True, no=None,`),
    ).toEqual([
      ["kind", ["write", "update"]],
      ["block", [0, 1]],
      ["n", -1000],
      ["ok", true],
      ["no", null],
    ]);
    expect(parseArguments("block=(3), other=(3,)")).toEqual([
      ["block", 3],
      ["other", [3]],
    ]);
    expect(parseArguments(String.raw`a="say \"hi\"\n"`)).toEqual([["a", 'say "hi"\n']]);
    expect(parseArguments("")).toEqual([]);
  });

  it("are written as Python writes them", () => {
    expect(literalText(["a", 1, true, [2]])).toBe('("a", 1, True, (2,))');
  });

  it.each([
    ["kind", /expected a condition/],
    ["kind=", /a value is missing/],
    ["kind=write", /write is no value; write "write"/],
    ['kind="a" "b"', /expected a comma/],
    ["a=(1 2)", /expected \)/],
    ["a=1, a=2", /given twice/],
  ])("%s is refused with the reason", (text, message) => {
    expect(() => parseArguments(text)).toThrow(message);
    expect(() => parseArguments(text)).toThrow(QueryError);
  });
});

describe("boxes", () => {
  it("are subscripts; what is not named is whole, negative counts from the end", () => {
    expect(parseBox("[0:4, 2]")).toEqual([[0, 4], 2]);
    expect(extents(parseBox("[-2:, -1]"), [8, 4, 3])).toEqual([
      [6, 8],
      [3, 4],
      [0, 3],
    ]);
    expect(extents(parseBox("[0, 0]"), [8])).toBeNull();
    expect(extents(parseBox("[]"), [])).toEqual([]);
    expect(extents(parseBox("[..., -1]"), [8, 4, 3])).toEqual([
      [0, 8],
      [0, 4],
      [2, 3],
    ]);
    expect(extents(parseBox("[0, ..., 1:]"), [8, 4])).toEqual([
      [0, 1],
      [1, 4],
    ]);
    expect(extents(parseBox("[0, ..., 0]"), [8])).toBeNull();
    expect(() => parseBox("[..., ...]")).toThrow(/region is a subscript/);
    expect(() => parseBox("[0:4:2]")).toThrow(/region is a subscript/);
  });
});

describe("conditions", () => {
  let model: Model;
  beforeAll(async () => {
    model = await modelOf("past_the_end");
  });
  const events = (text: string) => [...where(model, compile(model, text))];

  it("know the findings by code, by name and all of them", () => {
    const all = [...new Set(model.findings.flatMap((one) => [...one.events]))].sort(
      (a, b) => a - b,
    );
    expect(all.length).toBeGreaterThan(0);
    expect(events("finding=True")).toEqual(all);
    expect(events(`finding="${model.findings[0].code}"`)).toEqual(all);
    expect(events(`finding="${model.findings[0].name}"`)).toEqual(all);
    expect(() => compile(model, 'finding="PD999"')).toThrow(/no finding "PD999"; there are PD101/);
  });

  it("complement each other", () => {
    expect(events("nan=True").length + events("nan=False").length).toBe(model.count);
  });

  it("name what would be accepted", () => {
    expect(() => compile(model, 'buffer="nothing"')).toThrow(/no buffer "nothing"; there are/);
    expect(() => compile(model, "block=(9, 9, 9)")).toThrow(/the grid is/);
    expect(() => compile(model, 'line="x"')).toThrow(/file\.py:41/);
  });

  it("find findings and breakpoints in both directions", () => {
    const focus = { cursor: 0, thread: 0, block: -1, launch: 0, buffer: -1 };
    const [first] = events("finding=True");
    expect(MOVES.finding(model, focus, 1)).toBe(first + 1);
    expect(MOVES.finding(model, { ...focus, cursor: first + 1 }, -1)).toBeNull();
    const writes = compile(model, 'kind="write"').matches;
    const [write] = events('kind="write"');
    expect(toBreakpoint(model, 0, 1, [writes])).toBe(write + 1);
    expect(toBreakpoint(model, write + 1, -1, [writes])).toBe(0);
    expect(toBreakpoint(model, 0, -1, [writes])).toBeNull();
    expect(toBreakpoint(model, model.count, 1, [])).toBeNull();
  });
});
