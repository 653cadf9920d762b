/** A panel that throws shows an error; everything else goes on. */

import { expect, it, vi } from "vitest";
import { pageOf } from "../app";

let broken = true;
vi.mock("../../src/panels/events", () => ({
  panel: {
    id: "events",
    title: "Events",
    Component: () => {
      if (broken) throw new Error("no such column");
      return <p>fine again</p>;
    },
  },
}));

it("keeps the fault to the panel", async () => {
  const page = await pageOf("elementwise");
  await page.click('[data-pd-tab="events"]');
  expect(page.text('[role="alert"]')).toContain("Events cannot be shown");
  expect(page.text('[role="alert"]')).toContain("no such column");
  await page.press("ArrowRight");
  expect(page.app.cursor.value).toBe(1);
  expect(page.text('[data-pd="now"]')).toContain(page.app.model.what(0));
  broken = false;
  await page.click('[role="alert"] button');
  expect(page.root.textContent).toContain("fine again");
  page.dispose();
});
