/** The runs of a live host: their bundles, and what a recording that goes on adds to them. */

import { type Bundle, openBundle } from "../bundle";
import { Model } from "../model/trace";
import type { App, Json } from "../ui/store";
import type { LiveHost } from "./anywidget";

export type Runs = ReturnType<typeof runsOf>;

export function runsOf(host: LiveHost) {
  const held = new Map<number, { bundle: Bundle; number: number }>();

  /** A run's bundle: only what it adds to the one that is here, or to the recording's. */
  async function bundleOf(run: number): Promise<Bundle> {
    const base = held.get(run) ?? held.get(0);
    const { content, buffers } = await host.request("bundle", { run, have: base?.number ?? 0 });
    if (content.live === false) host.live = false;
    const sent = await openBundle(buffers[0]);
    const bundle = base && content.base === base.number ? base.bundle.followedBy(sent) : sent;
    held.set(run, { bundle, number: content.bundle ?? 0 });
    return bundle;
  }

  async function show(app: App, number: number, label: string): Promise<void> {
    try {
      app.addRun({ number, label, model: new Model(await bundleOf(number)) });
    } catch (error) {
      app.notice.value = `Run ${number} cannot be shown: ${(error as Error).message}`;
    }
  }

  return {
    bundleOf,
    /** What the kernel says without having been asked. */
    async hear(app: App, content: Json): Promise<void> {
      if (content?.type === "run") await show(app, content.number, content.label);
      if (content?.type === "recording") {
        app.recording.value = content.error ? null : `${content.done} of ${content.of} grid points`;
        if (content.error) app.notice.value = content.error;
      }
      if (content?.type === "grown") {
        const before = app.runs.value.find((one) => one.number === content.run);
        await show(app, content.run, before?.label ?? "recording");
        app.recording.value = null;
      }
    },
  };
}
