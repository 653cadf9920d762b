/** The vector clock of a thread, as numbers per thread. */

import type { App } from "../../ui/store";
import { Section } from "./section";

const MOST_CLOCKS = 64;

/** The vector clock of the thread's last event, as numbers per thread. */
export function Clock({ app, thread }: { app: App; thread: number }) {
  const { model } = app;
  const last = model.lastOfThread(thread, app.cursor.value);
  if (!model.clocks || last < 0) return null;
  const clock = [...model.clocks.at(last)].sort(([a], [b]) =>
    a === thread ? -1 : b === thread ? 1 : a - b,
  );
  return (
    <Section title="Vector clock: last tick known of each thread">
      <div
        class="pd-clock"
        title="A tick counts a thread's own events. What another thread did up to its tick here has happened before this event; what it did later may be concurrent."
      >
        {clock.slice(0, MOST_CLOCKS).map(([other, tick]) => (
          <button
            type="button"
            key={other}
            class={`pd-tick ${other === thread ? "pd-own" : ""}`}
            title={`${model.threads.name(other)}: knows its event ${tick}`}
            onClick={() => app.jump(model.eventsOfThread(other)[tick] ?? last)}
          >
            <span class="pd-ellipsis">{model.threads.name(other)}</span>
            <b>{tick}</b>
          </button>
        ))}
      </div>
      {clock.length > MOST_CLOCKS && (
        <p class="pd-muted">and {clock.length - MOST_CLOCKS} more threads</p>
      )}
    </Section>
  );
}
