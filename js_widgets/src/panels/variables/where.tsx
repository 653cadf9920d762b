/** Where the thread is: its block, its line, the scalars of the launch. */

import type { ComponentChildren } from "preact";
import { coordinates, tuple } from "../../model/tables";
import { fileName } from "../../model/text";
import type { App } from "../../ui/store";
import { CallLink } from "../source/calls";
import { callAt } from "../source/places";

/** The block's coordinates, the launch's scalars and where the thread stands. */
export function Where({ app, thread }: { app: App; thread: number }) {
  const { model } = app;
  const launch = model.launches[app.launch.value];
  const last = model.lastOfThread(thread, app.cursor.value);
  const loc = last >= 0 ? model.locOf(last) : null;
  const place = launch && coordinates(launch, app.block.value);
  const facts: [string, ComponentChildren][] = [
    ["thread", <ThreadChoice key="thread" app={app} thread={thread} />],
  ];
  if (place) {
    const named = launch.axisNames.some(Boolean) && launch.axisNames.length === place.length;
    const text = named
      ? place.map((at, d) => `${launch.axisNames[d] || d}=${at}`).join(", ")
      : tuple(place);
    facts.push(["block", `${text} of ${tuple(launch.blockShape)}`]);
  }
  if (loc)
    facts.push([
      "at",
      <span
        class="pd-mono"
        key="at"
      >{`${fileName(loc.file)}:${loc.line} in ${loc.function}`}</span>,
    ]);
  const calls = last >= 0 ? model.callsOf(last).map((one) => callAt(model, one)) : [];
  for (const [i, call] of calls.entries())
    facts.push([i ? "" : "called from", <CallLink key={i} app={app} call={call} />]);
  if (last >= 0) facts.push(["last event", `#${last} ${model.what(last)}`]);
  for (const [name, value] of Object.entries(launch?.scalars ?? {}))
    facts.push([name, JSON.stringify(value)]);
  return (
    <dl class="pd-where">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="pd-ellipsis">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const MOST_CHOICES = 64;

/** The thread's name, and where its block has others, a choice among them. */
function ThreadChoice({ app, thread }: { app: App; thread: number }) {
  const { model } = app;
  const others = model.threadsOfBlock(app.launch.value, app.block.value);
  if (others.length < 2 || others.length > MOST_CHOICES || !others.includes(thread)) {
    return <>{model.threads.name(thread)}</>;
  }
  return (
    <select
      class="pd-select"
      aria-label="Thread"
      value={String(thread)}
      onChange={(event) => app.focus({ thread: Number(event.currentTarget.value) })}
    >
      {[...others].map((other) => (
        <option key={other} value={String(other)}>
          {model.threads.name(other)}
        </option>
      ))}
    </select>
  );
}
