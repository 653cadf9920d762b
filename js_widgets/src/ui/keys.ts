/** Keys as people write them (`Shift+T`, `Ctrl+Home`) and the registry that finds commands. */

import type { JSX } from "preact";

export interface Command<A> {
  readonly id: string;
  readonly title: string;
  /** Keys that run it; the first one is shown. */
  readonly keys?: readonly string[];
  readonly icon?: JSX.Element;
  readonly group?: string;
  /** Whether it needs a kernel; without one it is not offered. */
  readonly live?: boolean;
  /** False where it cannot do anything now; its button is dimmed. */
  readonly enabled?: (app: A) => boolean;
  // biome-ignore lint/suspicious/noExplicitAny: each command knows its arguments
  readonly run: (app: A, args?: any) => void;
}

/** `Shift+T`, `ArrowRight`, `?`: the name of a key event. */
export function keyName(event: KeyboardEvent): string {
  const single = event.key.length === 1;
  const letter = single && event.key.toLowerCase() !== event.key.toUpperCase();
  const parts: string[] = [];
  if (event.ctrlKey || event.metaKey) parts.push("Ctrl");
  if (event.altKey) parts.push("Alt");
  if (event.shiftKey && (!single || letter)) parts.push("Shift");
  return [...parts, letter ? event.key.toUpperCase() : event.key].join("+");
}

const SHOWN: Record<string, string> = {
  ArrowRight: "→",
  ArrowLeft: "←",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
};

/** The same for people: `⇧T`, `→`. */
export function keyText(key: string): string {
  return key
    .split("+")
    .map((part) => SHOWN[part] ?? (part === "Shift" ? "⇧" : part))
    .join("")
    .replace("Ctrl", "Ctrl ");
}

/** Whether a key event belongs to a field that the user types into. */
export function isTyping(event: Event): boolean {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  if ((target as HTMLInputElement).type === "checkbox") return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

export class Registry<A> {
  private readonly byId = new Map<string, Command<A>>();
  private readonly byKey = new Map<string, Command<A>>();

  /** Two commands with one id or one key are a mistake of ours. */
  add(commands: readonly Command<A>[]): void {
    for (const command of commands) {
      if (this.byId.has(command.id)) throw new Error(`two commands ${command.id}`);
      this.byId.set(command.id, command);
      for (const key of command.keys ?? []) {
        const other = this.byKey.get(key);
        if (other) throw new Error(`${key} belongs to ${other.id} and ${command.id}`);
        this.byKey.set(key, command);
      }
    }
  }

  get all(): readonly Command<A>[] {
    return [...this.byId.values()];
  }

  find(id: string): Command<A> {
    const found = this.byId.get(id);
    if (!found) throw new Error(`no command ${id}`);
    return found;
  }

  ofKey(event: KeyboardEvent): Command<A> | undefined {
    return this.byKey.get(keyName(event));
  }
}
