/** A live kernel behind an anywidget model: requests as custom messages, the state as one trait. */

import type { Host, Json, ViewState } from "../ui/store";

/** The part of anywidget's model that is used. */
export interface WidgetModel {
  get(name: string): Json;
  set(name: string, value: Json): void;
  save_changes(): void;
  send(content: Json, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  on(event: string, handler: (...args: Json[]) => void): void;
  off(event: string, handler: (...args: Json[]) => void): void;
}

export interface LiveHost extends Host {
  live: boolean;
  /** Called with the view state when the kernel changed it. */
  onState(handler: (state: Partial<ViewState>) => void): void;
  /** Called with messages that answer no request: a new run. */
  onMessage(handler: (content: Json, buffers: DataView[]) => void): void;
  dispose(): void;
}

type Pending = {
  resolve: (answer: { content: Json; buffers: DataView[] }) => void;
  reject: (e: Error) => void;
};

let sessions = 0;

/** How long to wait for answers, in ms: what follows each step soon gives way to the trace. */
const PATIENCE: Record<string, number> = { variables: 8_000 };

export function liveHost(model: WidgetModel, patience = 120_000): LiveHost {
  // Two views of one model see each other's answers: ids tell them apart.
  const mine = `${Date.now().toString(36)}-${sessions++}`;
  const pending = new Map<string, Pending>();
  let next = 0;
  let published = "";
  let state: (state: Partial<ViewState>) => void = () => {};
  let message: (content: Json, buffers: DataView[]) => void = () => {};

  const receive = (content: Json, buffers: DataView[] = []) => {
    const waiting = pending.get(content?.id);
    if (!waiting) {
      if (!content?.id) message(content, buffers);
      return;
    }
    pending.delete(content.id);
    if (content.error)
      waiting.reject(Object.assign(new Error(content.error), { hint: content.hint }));
    else waiting.resolve({ content, buffers });
  };
  const changed = () => {
    const value = model.get("view_state") ?? {};
    if (JSON.stringify(value) !== published) state(value);
  };
  model.on("msg:custom", receive);
  model.on("change:view_state", changed);

  return {
    live: true,
    request(type, args = {}) {
      const id = `${mine}-${next++}`;
      return new Promise((resolve, reject) => {
        pending.set(id, { resolve, reject });
        try {
          model.send({ ...args, id, type });
        } catch (error) {
          pending.delete(id);
          reject(error as Error);
          return;
        }
        setTimeout(
          () => {
            if (pending.delete(id)) reject(new Error("no answer from the kernel"));
          },
          Math.min(PATIENCE[type] ?? patience, patience),
        );
      });
    },
    publish(value) {
      published = JSON.stringify(value);
      model.set("view_state", value);
      model.save_changes();
    },
    onState: (handler) => {
      state = handler;
    },
    onMessage: (handler) => {
      message = handler;
    },
    dispose() {
      model.off("msg:custom", receive);
      model.off("change:view_state", changed);
      pending.clear();
    },
  };
}
