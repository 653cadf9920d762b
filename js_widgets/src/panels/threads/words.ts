/** Lanes, bars and events in words. */

import { regionText } from "../../model/regions";
import { grouped, plural } from "../../model/text";
import type { Model } from "../../model/trace";
import { isBarrier } from "../../model/values";
import { Kind } from "../../schema.gen";
import { SPAN } from "./lanes";
import type { ThreadsView } from "./view";

/** What a wait is for: `full[1] phase 2`, `tma 7`. */
export function waitText(model: Model, span: number): string {
  const { spans, events, buffers, threads } = model;
  const object = spans.object[span];
  if (object < 0) {
    const agent = -1 - object;
    return agent >= 0 && agent < threads.count ? threads.short(agent) : "";
  }
  const event = spans.start[span];
  const row = events.region[event];
  const part = row >= 0 ? regionText(model.region(row), buffers.shape(object)) : "";
  const unit = isBarrier(buffers.dtype(object)) ? "phase" : "units";
  return `${buffers.name(object)}${part} ${unit} ${events.aux[event]}`;
}

const copies = new WeakMap<Model, Map<number, string>>();

/** What an asynchronous operation does: `a_gmem → a_smem`. */
export function flightText(model: Model, agent: number): string {
  const known = copies.get(model) ?? new Map<number, string>();
  copies.set(model, known);
  let found = known.get(agent);
  if (found === undefined) {
    found = describe(model, agent);
    known.set(agent, found);
  }
  return found;
}

function describe(model: Model, agent: number): string {
  const { kind, object } = model.events;
  const from = new Set<string>();
  const to = new Set<string>();
  for (const event of model.eventsOfThread(agent)) {
    const buffer = model.bufferOf(event);
    if (buffer < 0 || object[event] < 0) continue;
    const name = model.buffers.name(buffer);
    if (kind[event] === Kind.READ) from.add(name);
    else if (kind[event] === Kind.WRITE) to.add(name);
    else if (kind[event] === Kind.UPDATE) to.add(name);
  }
  for (const name of to) from.delete(name);
  const [source, target] = [from, to].map((names) => [...names].join(", "));
  return source && target ? `${source} → ${target}` : source || target;
}

/** A bar in a few lines. */
export function spanWords(model: Model, span: number): string {
  const { spans, events, threads } = model;
  const [thread, start, end] = [spans.thread[span], spans.start[span], spans.end[span]];
  const last = Math.max(end - 1, start);
  const steps = `steps ${grouped(events.step[start])}–${grouped(events.step[last])}`;
  const name = threads.name(thread);
  switch (spans.kind[span]) {
    case SPAN.waits:
      return `${name}\nwaits for ${waitText(model, span)}\n${steps}`;
    case SPAN.flies: {
      const what = flightText(model, thread);
      return `${name}${what ? `\n${what}` : ""}\nin flight, ${steps}`;
    }
    default:
      return `${name}\nruns, ${plural(end - start, "event")}, ${steps}`;
  }
}

/** An event in a few lines. */
export function eventWords(model: Model, event: number): string {
  const place = model.place(event);
  const thread = model.threads.name(model.events.thread[event]);
  const where = place ? ` · ${place}` : "";
  return `#${grouped(event)} ${model.what(event)}\n${thread}${where}\nstep ${grouped(model.events.step[event])}, tick ${model.tickOf(event)}`;
}

/** The picture in words. */
export function label(view: ThreadsView): string {
  const { app, model } = view;
  const launch = model.launches[app.launch.value];
  const workers = view.crew.value.workers.length;
  const now = app.event;
  const by = now >= 0 ? model.threads.name(model.events.thread[now]) : "";
  const here = now >= 0 ? ` Current event: ${model.what(now)} by ${by}.` : "";
  return `${plural(workers, "thread")} of ${launch.name} by ${view.settings.value.axis}.${here} Plus and minus zoom, up and down select a thread, Enter jumps to its next event.`;
}
