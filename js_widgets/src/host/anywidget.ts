/** A live kernel behind an anywidget model: requests as custom messages, the state as one trait. */

import type { Json, ViewState } from "../ui/store";
import type { WidgetModel } from "./model";
import { questions } from "./questions";

export type LiveHost = ReturnType<typeof liveHost>;

export function liveHost(model: WidgetModel, patience = 120_000) {
  const { ask, take, end } = questions((content) => model.send(content), patience);
  let published = "";
  let onState: (state: Partial<ViewState>) => void = () => {};
  let onEnd: () => void = () => {};
  const missed: Json[] = [];
  let onMessage: (content: Json) => void = (content) => missed.push(content);

  const receive = (content: Json, buffers: DataView[] = []) => {
    if (content?.id) take(content, buffers);
    else onMessage(content);
  };
  const changed = () => {
    const value = model.get("view_state") ?? {};
    if (JSON.stringify(value) !== published) onState(value);
  };
  const ended = () => {
    end("the kernel has ended");
    onEnd();
  };
  // The connection was lost or is back: whoever answers, if only by a refusal, is there.
  const probe = () =>
    ask("state", { view_state: {} }).catch((error) => {
      if (!error.answered) ended();
    });
  const heard: [string, (...args: Json[]) => void][] = [
    ["msg:custom", receive],
    ["change:view_state", changed],
    ["comm:close", ended],
    ["comm_live_update", probe],
  ];
  for (const [event, handler] of heard) model.on(event, handler);

  return {
    /** False where a kernel only keeps the state and nobody answers. */
    live: true,
    request: ask,
    publish(value: ViewState): void {
      published = JSON.stringify(value);
      model.set("view_state", value);
      model.save_changes();
    },
    /** Called with the view state when the kernel changed it, with what it says, and at its end. */
    listen(state: typeof onState, message: typeof onMessage, atEnd = () => {}): void {
      onState = state;
      onMessage = message;
      onEnd = atEnd;
      for (const content of missed.splice(0)) message(content);
    },
    dispose(): void {
      for (const [event, handler] of heard) model.off(event, handler);
      end("this view is gone");
    },
  };
}
