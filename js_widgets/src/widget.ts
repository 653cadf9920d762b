/** Entry of the notebook widget: anywidget's `render`. */

import { type LiveHost, liveHost } from "./host/anywidget";
import type { WidgetModel } from "./host/model";
import { addRun, mount } from "./main";

async function bundleOf(host: LiveHost, run: number): Promise<DataView> {
  const { content, buffers } = await host.request("bundle", { run });
  if (content.live === false) host.live = false;
  return buffers[0];
}

function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  const host = liveHost(model);
  const state = model.get("view_state") ?? {};
  const dispose = mount(el, bundleOf(host, 0), state, host);
  void dispose.ready.then((app) => {
    if (!app) return;
    host.listen(
      (value) => app.adopt(value),
      async (content) => {
        if (content?.type !== "run") return;
        try {
          await addRun(app, await bundleOf(host, content.number), content.number, content.label);
        } catch (error) {
          app.notice.value = `Run ${content.number} cannot be shown: ${(error as Error).message}`;
        }
      },
    );
  });
  return () => {
    host.dispose();
    dispose();
  };
}

export default { render };
