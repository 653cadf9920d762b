import { render } from "preact";
import { afterEach, describe, expect, it } from "vitest";
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
