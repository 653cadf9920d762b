/** The part of anywidget's model that is used. */

import type { Json } from "../ui/store";

export interface WidgetModel {
  get(name: string): Json;
  set(name: string, value: Json): void;
  save_changes(): void;
  send(content: Json, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  on(event: string, handler: (...args: Json[]) => void): void;
  off(event: string, handler: (...args: Json[]) => void): void;
}
