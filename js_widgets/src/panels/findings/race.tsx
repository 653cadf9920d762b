/** A race: both accesses side by side, both vector clocks, and the edge that is missing. */

import type { JSX } from "preact";
import type { App } from "../../ui/store";
import { EventLink } from "./links";

interface Access {
  readonly event: number;
  readonly thread: number;
  readonly name: string;
  readonly kind: string;
  readonly line: number;
  readonly region: string;
  readonly tick: number;
}

export interface RaceDetails {
  readonly accesses: readonly [Access, Access];
  readonly clocks: readonly Readonly<Record<string, number>>[];
  readonly missing?: string;
  readonly add?: string;
}

export function isRace(details: unknown): details is RaceDetails {
  const { accesses, clocks } = (details ?? {}) as Partial<RaceDetails>;
  return (
    Array.isArray(accesses) &&
    accesses.length === 2 &&
    Array.isArray(clocks) &&
    "tick" in accesses[0]
  );
}

export function Race({ app, details }: { app: App; details: RaceDetails }): JSX.Element {
  const { accesses, clocks } = details;
  const threads = [...new Set(clocks.flatMap((clock) => Object.keys(clock)))]
    .map(Number)
    .sort((a, b) => a - b);
  const own = accesses.map((access) => access.thread);
  const shown = [...new Set([...own, ...threads])].slice(0, 12);
  return (
    <div class="pd-race">
      <div class="pd-race-sides">
        {accesses.map((access, i) => (
          <div key={i} class={`pd-race-side pd-side-${i}`}>
            <div>
              <b>{i ? "B" : "A"}</b> {access.name}
            </div>
            <div class="pd-mono">
              {access.kind} {access.region || "…"}
            </div>
            <div class="pd-muted">
              <EventLink app={app} event={access.event} short /> ·{" "}
              {app.model.lineSaid(access.event) || `line ${access.line}`} · tick {access.tick}
            </div>
          </div>
        ))}
        <div class="pd-race-edge" title={details.missing}>
          no order
        </div>
      </div>
      <table class="pd-clocks">
        <caption class="pd-sr">Vector clocks of both accesses</caption>
        <thead>
          <tr>
            <th scope="col">last tick known of</th>
            <th scope="col">at A</th>
            <th scope="col">at B</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((thread) => (
            <tr key={thread}>
              <th scope="row">{app.model.threads.name(thread)}</th>
              {clocks.map((clock, i) => (
                <td key={i} class={gap(accesses, i, thread, clock) ? "pd-gap" : ""}>
                  {clock[thread] ?? "–"}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="pd-muted">{explain(accesses, clocks)}</p>
    </div>
  );
}

/** Whether this cell shows that one side does not know of the other's access. */
function gap(
  accesses: RaceDetails["accesses"],
  at: number,
  thread: number,
  clock: Readonly<Record<string, number>>,
) {
  const other = accesses[1 - at];
  return thread === other.thread && (clock[thread] ?? -1) < other.tick;
}

function explain(accesses: RaceDetails["accesses"], clocks: RaceDetails["clocks"]): string {
  const say = (at: number) => {
    const other = accesses[1 - at];
    const known = clocks[at]?.[other.thread];
    const until = known === undefined ? "nothing" : `tick ${known}`;
    return `${at ? "B" : "A"} knows ${until} of ${other.name}, whose access is tick ${other.tick}`;
  };
  return `${say(0)}; ${say(1)}. Neither comes before the other.`;
}
