/** Events as links: a click moves everything there. */

import type { JSX } from "preact";
import type { App } from "../../ui/store";

export function EventLink({
  app,
  event,
  short,
}: {
  app: App;
  event: number;
  short?: boolean;
}): JSX.Element {
  const { model } = app;
  if (event < 0 || event >= model.count) return <span>#{event}</span>;
  const current = app.cursor.value === event + 1;
  return (
    <button
      type="button"
      class={`pd-link ${current ? "pd-link-current" : ""}`}
      aria-current={current ? "true" : undefined}
      title={`${model.what(event)}, ${model.threads.name(model.events.thread[event])}`}
      onClick={() => app.jump(event)}
    >
      #{event}
      {short ? "" : ` ${model.what(event)}`}
    </button>
  );
}
