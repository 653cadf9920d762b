/** Entry of the notebook widget: anywidget's `render`. */

import { liveHost } from "./host/anywidget";
import type { WidgetModel } from "./host/model";
import { runsOf } from "./host/runs";
import { mount } from "./main";

function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  const host = liveHost(model);
  const runs = runsOf(host);
  const state = () => model.get("view_state") ?? {};
  const dispose = mount(el, () => runs.bundleOf(0), state, host);
  void dispose.ready.then((app) => {
    if (!app) return;
    host.listen(
      (value) => app.adopt(value),
      (content) => void runs.hear(app, content),
      () => app.leave(),
    );
  });
  return () => {
    host.dispose();
    dispose();
  };
}

export default { render };
