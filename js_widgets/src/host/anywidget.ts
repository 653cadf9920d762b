/** A live kernel behind an anywidget model: requests as custom messages, the state as one trait. */

import type { Json, ViewState } from "../ui/store";
import type { WidgetModel } from "./model";

type Answer = { content: Json; buffers: DataView[] };
type Pending = { resolve: (answer: Answer) => void; reject: (error: Error) => void };

/** How long to wait for answers, in ms: what follows each step soon gives way to the trace. */
const PATIENCE: Record<string, number> = { variables: 8_000 };

let sessions = 0;

export type LiveHost = ReturnType<typeof liveHost>;

export function liveHost(model: WidgetModel, patience = 120_000) {
  // Two views of one model see each other's answers: ids tell them apart.
  const mine = `${Date.now().toString(36)}-${sessions++}`;
  const pending = new Map<string, Pending>();
  let next = 0;
  let published = "";
  let onState: (state: Partial<ViewState>) => void = () => {};
  let onMessage: (content: Json) => void = () => {};

  const receive = (content: Json, buffers: DataView[] = []) => {
    const waiting = pending.get(content?.id);
    if (!waiting) {
      if (!content?.id) onMessage(content);
      return;
    }
    pending.delete(content.id);
    if (!content.error) waiting.resolve({ content, buffers });
    else waiting.reject(Object.assign(new Error(content.error), { hint: content.hint }));
  };
  const changed = () => {
    const value = model.get("view_state") ?? {};
    if (JSON.stringify(value) !== published) onState(value);
  };
  model.on("msg:custom", receive);
  model.on("change:view_state", changed);

  return {
    /** False where a kernel only keeps the state and nobody answers. */
    live: true,
    request(type: string, args: Json = {}): Promise<Answer> {
      const id = `${mine}-${next++}`;
      return new Promise((resolve, reject) => {
        pending.set(id, { resolve, reject });
        const give = (error: Error) => pending.delete(id) && reject(error);
        setTimeout(
          () => give(new Error("no answer from the kernel")),
          Math.min(PATIENCE[type] ?? patience, patience),
        );
        try {
          model.send({ ...args, id, type });
        } catch (error) {
          give(error as Error);
        }
      });
    },
    publish(value: ViewState): void {
      published = JSON.stringify(value);
      model.set("view_state", value);
      model.save_changes();
    },
    /** Called with the view state when the kernel changed it, and with a new run's message. */
    listen(state: typeof onState, message: typeof onMessage): void {
      onState = state;
      onMessage = message;
    },
    dispose(): void {
      model.off("msg:custom", receive);
      model.off("change:view_state", changed);
      pending.clear();
    },
  };
}
