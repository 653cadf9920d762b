import { afterEach, describe, expect, it } from "vitest";
import { ghosts, positionOf } from "../../src/panels/source/places";
import { compact, cuts, rowsOf, wrap } from "../../src/panels/source/rows";
import { openNotes, toggleNote } from "../../src/panels/source/state";
import { type Page, pageOf } from "../app";
import { modelOf } from "../golden";

let page: Page | undefined;
afterEach(() => {
  page?.dispose();
  page = undefined;
});

describe("the source", () => {
  it("marks the line of the focus thread, and follows the cursor", async () => {
    page = await pageOf("past_the_end", { cursor: 12 });
    for (const cursor of [12, 20, 30]) {
      page.app.moveTo(cursor);
      await page.settle();
      const { model } = page.app;
      const last = model.lastOfThread(page.app.thread.value, cursor);
      const row = page.root.querySelector(".pd-line.pd-current .pd-number");
      expect(row?.textContent).toBe(String(model.lineOf(last)));
    }
  });

  it("sets and removes a breakpoint in the gutter", async () => {
    page = await pageOf("past_the_end", { cursor: 12 });
    await page.click(".pd-current .pd-dot");
    expect(page.app.breakpoints.value).toHaveLength(1);
    expect(page.app.breakpoints.value[0].where).toMatch(/^line=/);
    expect(page.root.querySelector(".pd-current .pd-dot.pd-set")).not.toBeNull();
    await page.click(".pd-current .pd-dot");
    expect(page.app.breakpoints.value).toHaveLength(0);
  });

  it("runs to a line", async () => {
    page = await pageOf("elementwise");
    await page.press("ArrowDown");
    const line = page.app.model.lineOf(page.app.event);
    page.app.moveTo(0);
    await page.settle();
    const number = [...page.root.querySelectorAll<HTMLElement>("button.pd-number")].find(
      (one) => one.textContent === String(line),
    );
    number?.click();
    await page.settle();
    expect(page.app.model.lineOf(page.app.event)).toBe(line);
  });

  it("shows the listing in step", async () => {
    page = await pageOf("past_the_end", { cursor: 20 });
    await page.press("l");
    const instr =
      page.app.model.events.instr[page.app.model.lastOfThread(page.app.thread.value, 20)];
    expect(page.text(".pd-instr.pd-current .pd-number")).toBe(String(instr));
  });

  it("writes findings below their line, wrapped", async () => {
    const model = await modelOf("past_the_end");
    const [finding] = model.findings;
    const { rows } = rowsOf(model, finding.source, 40);
    const notes = rows.filter((row) => row.finding === 0);
    expect(notes.filter((row) => row.head)).toHaveLength(1);
    expect(notes.every((row) => row.text.length <= 40 || !row.text.includes(" "))).toBe(true);
    const at = rows.indexOf(notes[0]);
    expect(rows[at - 1]).toMatchObject({ line: finding.line, finding: -1 });
    const plain = finding.message.replaceAll("`", "");
    expect(notes.map((row) => row.text).join(" ")).toContain(plain);
  });

  it("folds findings to a line each where room is scarce, and opens them again", async () => {
    page = await pageOf("past_the_end");
    page.app.jump(page.app.model.findings[0].events[0]);
    await page.settle();
    const { model } = page.app;
    const isOpen = openNotes(page.app, 480);
    expect(openNotes(page.app, 900)).toBeNull();
    expect(model.findings.map((_, i) => isOpen?.(i))).toEqual(model.findings.map((_, i) => !i));
    const { rows } = rowsOf(model, model.findings[0].source, 40, 80, () => false);
    expect(rows.filter((row) => row.finding === 0)).toMatchObject([{ head: true, folded: true }]);
    toggleNote(page.app, 0, false);
    expect(openNotes(page.app, 480)?.(0)).toBe(false);
    toggleNote(page.app, 0, true);
    expect(openNotes(page.app, 480)?.(0)).toBe(true);
  });

  it("shows the calls around a helper's line, and looks at one that is clicked", async () => {
    page = await pageOf("helpers");
    const { app } = page;
    const event = Array.from({ length: app.model.count }, (_, e) => e).find(
      (e) => app.model.callsOf(e).length > 0,
    );
    app.jump(event ?? -1);
    await page.settle();
    const [call] = app.model.callsOf(app.event);
    await page.click(".pd-calls .pd-link");
    const asked = page.root.querySelector(".pd-line.pd-asked");
    expect(asked?.querySelector(".pd-number")?.textContent).toBe(String(call.line));
    expect(asked?.querySelector(".pd-caller")).not.toBeNull();
    const at = app.cursor.value;
    await page.click(".pd-asked .pd-dot");
    await page.press("Home");
    await page.press("c");
    expect(app.cursor.value).toBe(at);
    expect(app.model.lineOf(app.event)).not.toBe(call.line);
  });

  it("shows a long line whole, in rows of its own", async () => {
    const model = await modelOf("past_the_end");
    const [finding] = model.findings;
    const { start, tokens } = model.sources[finding.source];
    const { rows, ofLine } = rowsOf(model, finding.source, 60, 24);
    const index = finding.line - start;
    const whole = tokens[index].map(([text]) => text).join("");
    const parts = rows.filter((row) => row.line === finding.line && row.finding < 0);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.map((row) => whole.slice(row.from, row.to)).join("")).toBe(whole);
    expect(rows[ofLine[index]]).toBe(parts[0]);
    expect(parts.map((row) => row.head)).toEqual(parts.map((_, i) => i === 0));
  });

  it("counts the other threads on their lines", async () => {
    const model = await modelOf("hopper_matmul");
    const cursor = 100;
    const thread = model.events.thread[cursor - 1];
    const at = { cursor, thread, launch: 0, block: model.threads.block[thread] };
    const places = ghosts(model, positionOf(model, thread, cursor)?.source ?? 0, at);
    expect([...places.values()].some(({ marks, others }) => marks.length + others > 0)).toBe(true);
  });
});

describe("small texts", () => {
  it("wraps at spaces", () => {
    expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrap("a_word_that_is_long", 5)).toEqual(["a_word_that_is_long"]);
  });

  it("cuts code into parts that fit, later ones with room to be moved in", () => {
    expect(cuts("short", 20)).toEqual([5]);
    const text = `    first_name[START:STOP] = second_name[START:STOP] * ${"x".repeat(40)}(1, 2)`;
    const ends = cuts(text, 30);
    expect(ends.at(-1)).toBe(text.length);
    const parts = ends.map((end, i) => text.slice(i ? ends[i - 1] : 0, end));
    expect(parts.join("")).toBe(text);
    expect(parts[0].length).toBeLessThanOrEqual(30);
    expect(parts.slice(1).every((part) => part.length > 0 && part.length <= 22)).toBe(true);
    expect(parts[0].endsWith(" ")).toBe(true);
    expect(cuts(`${" ".repeat(60)}x`, 24).at(-1)).toBe(61);
  });

  it("writes counts in four characters", () => {
    expect([0, 7, 999, 1000, 1234, 16384, 2_500_000].map(compact)).toEqual([
      "",
      "7",
      "999",
      "1k",
      "1.2k",
      "16k",
      "2.5M",
    ]);
  });
});
