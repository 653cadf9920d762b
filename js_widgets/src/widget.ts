/** Entry of the notebook widget: anywidget's `render`. */

import { liveHost, type WidgetModel } from "./host/anywidget";
import { addRun, mount } from "./main";

async function bundleOf(host: ReturnType<typeof liveHost>, run: number): Promise<DataView> {
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
    host.onState((value) => app.adopt(value));
    host.onMessage((content) => {
      if (content?.type !== "run") return;
      void bundleOf(host, content.number).then((data) =>
        addRun(app, data, content.number, content.label),
      );
    });
  });
  return () => {
    host.dispose();
    dispose();
  };
}

export default { render };
