// @vitest-environment node

/** Law 7: the fold, the queries and the navigation of TypeScript answer as Python's do. */

import { beforeAll, describe, expect, it } from "vitest";
import { type Direction, lastWrite, MOVES } from "../../src/model/navigation";
import { compile, where } from "../../src/model/query";
import { stopping } from "../../src/model/stops";
import type { Loc } from "../../src/model/tables";
import { fileName } from "../../src/model/text";
import type { Model } from "../../src/model/trace";
import { answersOf, CASES, modelOf, sampled } from "../golden";

const COMMANDS: Record<string, readonly [keyof typeof MOVES, Direction]> = {
  step: ["step", 1],
  back: ["step", -1],
  next_thread: ["thread", 1],
  prev_thread: ["thread", -1],
  next_block: ["block", 1],
  prev_block: ["block", -1],
  next_buffer: ["buffer", 1],
  prev_buffer: ["buffer", -1],
  next_line: ["line", 1],
  prev_line: ["line", -1],
  over: ["over", 1],
  over_back: ["over", -1],
  out: ["out", 1],
  out_back: ["out", -1],
};

describe.each(CASES)("%s", (name) => {
  const answers = answersOf(name);
  let model: Model;
  beforeAll(async () => {
    model = await modelOf(name);
  });

  it("says what happened in the same words", () => {
    expect(model.count).toBe(answers.events);
    for (const { event, what, place, thread, op } of answers.what) {
      const said = {
        what: model.what(event),
        place: model.place(event),
        thread: model.threads.name(model.events.thread[event]),
        op: model.opOf(event),
      };
      expect(said, `event ${event}`).toEqual({ what, place, thread, op });
    }
  });

  it("folds memory to the same values, in any order", () => {
    const rows = [...answers.fold, ...[...answers.fold].reverse()];
    for (const { buffer, at, values, initialized, recorded } of rows) {
      const memory = model.memory(buffer, at);
      const flags = (mask: Uint8Array, { every }: { every: number }) =>
        sampled(mask, every).map(Boolean);
      expect(memory, `buffer ${buffer}`).not.toBeNull();
      if (!memory) continue;
      const said = `buffer ${buffer} at ${at}`;
      expect(flags(memory.initialized, initialized), said).toEqual(initialized.of);
      const known = flags(memory.recorded, recorded);
      expect(known, said).toEqual(recorded.of);
      const numbers = sampled(memory.values, values.every);
      const shown = memory.dtype === "bool" ? numbers.map(Boolean) : numbers;
      expect(shown, said).toEqual(values.of);
    }
  });

  it("decodes values to the same numbers", () => {
    for (const { payload, every, of } of answers.values) {
      const value = model.payload(payload);
      expect(value, `payload ${payload}`).not.toBeNull();
      const found = sampled(value?.values ?? [], every);
      expect(value?.dtype === "bool" ? found.map(Boolean) : found, `payload ${payload}`).toEqual(
        of,
      );
    }
  });

  it("answers queries with the same events", () => {
    for (const { where: text, events, error } of answers.queries) {
      if (error) expect(() => compile(model, text), text).toThrow();
      else expect([...where(model, compile(model, text))], text).toEqual(events);
    }
  });

  it("goes where Python goes", () => {
    for (const row of answers.navigation) {
      if (!row.to) {
        const { cursor, buffer, element } = row;
        const found = lastWrite(model, buffer, element, cursor);
        expect(found < 0 ? null : found + 1, JSON.stringify(row)).toEqual(row.last_write);
        continue;
      }
      const { cursor, thread, block, buffer, launch } = row;
      for (const [command, [move, direction]] of Object.entries(COMMANDS)) {
        const focus = { cursor, thread, block, buffer, launch };
        const said = `${command} at ${cursor}`;
        expect(MOVES[move](model, focus, direction), said).toEqual(row.to[command]);
      }
    }
  });

  it("knows the calls around an event", () => {
    const words = (loc: Loc) => `${loc.function}, ${fileName(loc.file)}:${loc.line}`;
    for (const { event, callers, calls } of answers.calls) {
      const { locs } = model.kernelOf(event);
      const said = {
        callers: model.callersOf(event).map((row) => words(locs[row])),
        calls: model.callsOf(event).map(words),
      };
      expect(said, `event ${event}`).toEqual({ callers, calls });
    }
  });

  it("stops where Python stops", () => {
    for (const { where: text, events, within } of answers.stops) {
      const query = compile(model, text);
      const test = stopping(model, query);
      const found = Array.from({ length: model.count }, (_, event) => event).filter(test);
      expect(found, text).toEqual(events);
      const inside = compile(model, text.replace("line=", "within="));
      expect([...where(model, inside)], text).toEqual(within);
    }
  });

  it("looks vector clocks up to the same numbers", () => {
    for (const { event, clock } of answers.clocks) {
      const found = [...(model.clocks?.at(event) ?? [])].sort(([a], [b]) => a - b);
      expect(found, `event ${event}`).toEqual(clock);
    }
  });
});
