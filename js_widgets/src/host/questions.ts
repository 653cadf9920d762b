/** Requests as messages with ids, and the answers that come back in any order. */

import type { Json } from "../ui/store";

export type Answer = { content: Json; buffers: DataView[] };
type Pending = { resolve: (answer: Answer) => void; reject: (error: Error) => void };

/** How long to wait for answers, in ms: what follows each step soon gives way to the trace. */
const PATIENCE: Record<string, number> = { variables: 8_000, state: 4_000 };

let sessions = 0;

export function questions(send: (content: Json) => void, patience: number) {
  // Two views of one model see each other's answers: ids tell them apart.
  const mine = `${Date.now().toString(36)}-${sessions++}`;
  const pending = new Map<string, Pending>();
  let next = 0;
  return {
    ask(type: string, args: Json = {}): Promise<Answer> {
      const id = `${mine}-${next++}`;
      return new Promise((resolve, reject) => {
        pending.set(id, { resolve, reject });
        const give = (error: Error) => pending.delete(id) && reject(error);
        setTimeout(
          () => give(new Error("no answer from the kernel")),
          Math.min(PATIENCE[type] ?? patience, patience),
        );
        try {
          send({ ...args, id, type });
        } catch (error) {
          give(error as Error);
        }
      });
    },
    /** Takes an answer; a refused one is an error that was `answered`, with a hint. */
    take(content: Json, buffers: DataView[]): void {
      const waiting = pending.get(content.id);
      pending.delete(content.id);
      const said = { hint: content.hint, answered: true };
      if (content.error) waiting?.reject(Object.assign(new Error(content.error), said));
      else waiting?.resolve({ content, buffers });
    },
    /** Nobody will answer any more. */
    end(reason: string): void {
      for (const { reject } of pending.values()) reject(new Error(reason));
      pending.clear();
    },
  };
}
