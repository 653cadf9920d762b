/** The virtual list: rows by scrolling and by revealing, exact also where a page has too few pixels. */

import { render } from "preact";
import { afterEach, describe, expect, it } from "vitest";
import { VirtualList } from "../../src/ui/virtual";
import "../app";

const HEIGHT = 600; // of every box in these tests
const ROW = 20;
const host = document.createElement("div");
document.body.append(host);
afterEach(() => render(null, host));

const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
const settle = async () => {
  await new Promise((resolve) => setTimeout(resolve, 0));
  await frame();
  await frame();
};

const rested = () => new Promise((resolve) => setTimeout(resolve, 500));

async function show(count: number, reveal: number): Promise<void> {
  const rows = (row: number) => <b>{row}</b>;
  render(<VirtualList count={count} rowHeight={ROW} reveal={reveal} render={rows} />, host);
  await settle();
}

/** Where a row is seen, -1 where it is not in the page. */
function placeOf(row: number): number {
  const box = host.querySelector<HTMLElement>(".pd-virtual")!;
  const found = [...box.querySelectorAll<HTMLElement>(".pd-vrow")].find(
    (one) => one.textContent === String(row),
  );
  if (!found) return -1;
  const moved = box.querySelector<HTMLElement>(".pd-vrows")!.style.transform;
  const shift = Number(/translateY\((-?[\d.]+)px\)/.exec(moved)?.[1] ?? 0);
  return Number.parseFloat(found.style.top) + shift - box.scrollTop;
}

describe("a virtual list", () => {
  it.each([1000, 5_000_000])("of %d rows reveals any of them", async (count) => {
    for (const row of [0, count >> 1, count - 1, 7]) {
      await show(count, row);
      expect(placeOf(row), `row ${row}`).toBeGreaterThanOrEqual(0);
      expect(placeOf(row), `row ${row}`).toBeLessThanOrEqual(HEIGHT - ROW);
    }
  });

  it.each([1000, 5_000_000])("of %d rows follows steps evenly", async (count) => {
    const start = count >> 1;
    await show(count, start);
    for (let row = start; row < start + 40; row++) await show(count, row);
    const last = placeOf(start + 39);
    await show(count, start + 40);
    expect(placeOf(start + 40)).toBe(last);
    expect(placeOf(start + 39)).toBe(last - ROW);
  });

  it("keeps rows of a short list that were seen, but not all of a long one", async () => {
    await show(300, 20);
    await show(300, 40);
    expect(placeOf(20)).not.toBe(-1);
    await show(300, 299);
    expect(placeOf(20)).toBe(-1);
    await show(5000, 20);
    await show(5000, 70);
    expect(placeOf(20)).toBe(-1);
  });

  it.each([300, 5000])("of %d rows changes those around the seen ones at rest", async (count) => {
    const place = count >> 1;
    const rows = (text: string) => (row: number) => <b>{`${row} ${text}`}</b>;
    const all = () => [...host.querySelectorAll(".pd-vrow")].map((one) => one.textContent ?? "");
    const list = (text: string) => (
      <VirtualList count={count} rowHeight={ROW} reveal={place} render={rows(text)} />
    );
    render(list("old"), host);
    await rested();
    const around = all().length;
    expect(around).toBeGreaterThan(HEIGHT / ROW + 2);
    render(list("new"), host);
    await settle();
    const isNew = (text: string) => text.endsWith("new");
    const seen = all().filter(isNew).length;
    expect(seen).toBeGreaterThanOrEqual(HEIGHT / ROW);
    expect(seen).toBeLessThanOrEqual(HEIGHT / ROW + 1);
    expect(all().length).toBe(around);
    await rested();
    expect(all().every(isNew)).toBe(true);
    expect(all().length).toBe(around);
  });

  it("shows what is scrolled to by hand", async () => {
    await show(5_000_000, 3_000_000);
    const box = host.querySelector<HTMLElement>(".pd-virtual")!;
    box.scrollTop = 0;
    await settle();
    expect(placeOf(0)).toBe(0);
  });
});
