import { render } from "preact";
import { afterEach, describe, expect, it } from "vitest";
import type { Finding } from "../../src/model/rows";
import { factsOf, slices } from "../../src/panels/findings/facts";
import { WaitGraph } from "../../src/panels/findings/graph";
import { isRace, Race } from "../../src/panels/findings/race";
import { type Page, pageOf } from "../app";

let page: Page | undefined;
afterEach(() => {
  page?.dispose();
  page = undefined;
});

describe("findings", () => {
  it("lead everything to their evidence", async () => {
    page = await pageOf("past_the_end");
    const [finding] = page.app.model.findings;
    expect(page.text(".pd-finding")).toContain(finding.code);
    await page.click(".pd-finding-head");
    expect(finding.events).toContain(page.app.event);
    expect(page.app.model.lineOf(page.app.event)).toBe(finding.line);
    expect(page.text(".pd-details")).toContain(finding.hint.slice(0, 20).replaceAll("`", ""));
    expect(page.root.querySelector(".pd-line.pd-current")?.textContent).toContain(
      String(finding.line),
    );
    await page.click(".pd-finding-head");
    expect(page.root.querySelector(".pd-details")).toBeNull();
  });

  it("are all reached by keys, also those that share an event or have none", async () => {
    page = await pageOf("past_the_end");
    const { findings } = page.app.model;
    const [one] = findings;
    (findings as (typeof one)[]).push(
      { ...one, code: "PD901", events: [one.events[0]] },
      { ...one, code: "PD902", events: [] },
    );
    const open = () => page!.app.viewState.findings.selected;
    const seen: number[] = [];
    for (let i = 0; i < 20; i++) {
      await page.press("f");
      if (seen.at(-1) !== open()) seen.push(open());
    }
    expect(new Set(seen)).toEqual(new Set([0, 1, 2]));
    expect(seen.at(-1)).toBe(2);
    expect(page.text('[data-pd="notice"]')).toBe("No later finding.");
    for (let i = 0; i < 20; i++) await page.press("F", { shiftKey: true });
    expect(open()).toBe(0);
    expect(page.app.event).toBe(Math.min(...one.events));
    expect(page.text(".pd-open")).toContain(one.code);
  });

  it("are reached after those that they follow from at the same event", async () => {
    page = await pageOf("past_the_end");
    const findings = page.app.model.findings as Finding[];
    const one = { ...findings[0], events: [findings[0].events[0]] };
    findings.splice(0, findings.length, ...[2, -1, 1].map((cause) => ({ ...one, cause })));
    const visited = async (key: string, shiftKey: boolean) => {
      const seen: number[] = [];
      for (let i = 0; i < 3; i++) {
        await page!.press(key, { shiftKey });
        seen.push(page!.app.viewState.findings.selected);
      }
      return seen;
    };
    page.app.moveTo(0);
    expect(await visited("f", false)).toEqual([1, 2, 0]);
    page.app.moveTo(page.app.model.count);
    expect(await visited("F", true)).toEqual([0, 2, 1]);
  });

  it("let the source follow another thread that is looked at", async () => {
    page = await pageOf("past_the_end");
    await page.click(".pd-finding-head");
    expect(page.app.reveal.value?.at).toBe(page.app.model.findings[0].line);
    await page.press("]");
    expect(page.app.reveal.value).toBeNull();
  });

  it("say what they know in words, and no bare numbers", () => {
    expect(
      slices([
        [1, 1, 1],
        [-8, 8, 1],
        [0, 4, 2],
      ]),
    ).toBe("[1, -8:0, 0:8:2]");
    expect(
      slices([
        [6, 8],
        [0, 128],
      ]),
    ).toBe("[6:8, 0:128]");
    expect(slices([1, 2])).toBe("");
    expect(factsOf({ output: "o_ref", output_elements: [[6, 8]], turn: 0, needed: 1 })).toEqual([
      ["reaches", "o_ref[6:8]"],
    ]);
    expect(
      factsOf({
        elements: [
          [
            [0, 4],
            [12, 16],
          ],
          [[0, 2]],
        ],
      }),
    ).toEqual([["elements", "[0:4 and 12:16, 0:2]"]]);
    expect(factsOf({ arrivals: { seen: 1, needed: 2 } })).toEqual([
      ["arrivals", "1 of the 2 needed"],
    ]);
    expect(factsOf(null)).toEqual([]);
  });

  it("draw who waits for whom in a deadlock", async () => {
    page = await pageOf("deadlock");
    await page.click(".pd-finding-head");
    const { graph } = page.app.model.findings[0].details;
    const nodes = [...page.root.querySelectorAll(".pd-node")];
    const says = nodes.map((one) => one.getAttribute("aria-label") ?? "");
    expect(says).toHaveLength(graph.nodes.length);
    for (const [i, { name, object, state }] of graph.nodes.entries()) {
      expect(says[i]).toContain(name);
      expect(says[i]).toContain(state === "waits" ? `waits for ${object}` : "has ended");
    }
    expect(page.root.querySelectorAll(".pd-way")).toHaveLength(graph.edges.length);
    nodes[0].dispatchEvent(new MouseEvent("click", { bubbles: true }));
    await page.settle();
    expect(page.app.thread.value).toBe(graph.nodes[0].thread);
  });

  it.each([
    ["deadlock", "line 7", "line 9"],
    ["hopper_matmul", "a.py:7", "b.py:9"],
  ])("%s: a wait-for graph names the file where there are several", async (name, mine, its) => {
    page = await pageOf(name);
    const node = {
      thread: 0,
      name: "w",
      state: "waits",
      file: "src/a.py",
      line: 7,
      object: "full",
    };
    const edge = { from: 0, to: 0, object: "full", file: "src/b.py", line: 9, state: "waits" };
    const box = document.createElement("div");
    render(<WaitGraph app={page.app} graph={{ nodes: [node], edges: [edge] }} />, box);
    expect(box.querySelector(".pd-node")?.getAttribute("aria-label")).toBe(
      `w waits for full, ${mine}`,
    );
    expect(box.querySelector(".pd-way")?.textContent).toContain(`would signal at ${its}`);
    expect(box.querySelector(".pd-way text")?.textContent).toBe(`full · ${its}`);
  });

  it("say so where nothing was checked, and where nothing was found", async () => {
    page = await pageOf("elementwise");
    expect(page.text(".pd-empty")).toContain("Not checked");
  });

  it("show both clocks of a race and the gap between them", async () => {
    page = await pageOf("ring");
    const access = {
      thread: 0,
      name: "core 0",
      kind: "write",
      line: 3,
      region: "[0:4]",
      event: 2,
      tick: 5,
    };
    const details = {
      accesses: [access, { ...access, thread: 1, name: "core 1", event: 4, tick: 7 }] as const,
      clocks: [{ 0: 5 }, { 0: 2, 1: 7 }] as Record<string, number>[],
    };
    expect(isRace(details)).toBe(true);
    expect(isRace({ accesses: [access] })).toBe(false);
    const box = document.createElement("div");
    render(<Race app={page.app} details={details} />, box);
    const gaps = [...box.querySelectorAll(".pd-gap")].map((one) => one.textContent);
    expect(gaps).toEqual(["2", "–"].sort());
    expect(box.textContent).toContain("B knows tick 2 of core 0, whose access is tick 5");
  });
});
