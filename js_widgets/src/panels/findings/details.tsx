/** Everything that a finding knows beyond its message. */

import type { JSX } from "preact";
import type { Finding } from "../../model/rows";
import { fileName, plural } from "../../model/text";
import { copyPython } from "../../ui/clipboard";
import { Icon } from "../../ui/icons";
import { askForRun } from "../../ui/live";
import { showLine } from "../../ui/moves";
import type { App } from "../../ui/store";
import { CallLink } from "../source/calls";
import { callAt } from "../source/places";
import { Doc, inline } from "./doc";
import { factsOf } from "./facts";
import { isGraph, WaitGraph } from "./graph";
import { EventLink } from "./links";
import { isRace, Race } from "./race";

const MOST_EVENTS = 8;

interface Step {
  readonly event: number;
  readonly text: string;
  readonly file: string;
  readonly line: number;
  readonly source: string;
}

export function Details({ app, finding }: { app: App; finding: Finding }): JSX.Element {
  const { details } = finding;
  const path = details?.path as readonly Step[] | undefined;
  const race = isRace(details);
  return (
    <div class="pd-details">
      {finding.hint && (
        <p class="pd-try">
          <b>Try</b> {inline(finding.hint)}
        </p>
      )}
      {finding.calls?.length ? <CalledFrom app={app} finding={finding} /> : null}
      {race && <Race app={app} details={details} />}
      {isGraph(details?.graph) && <WaitGraph app={app} graph={details.graph} />}
      {path?.length ? <Path app={app} path={path} /> : null}
      {!race && !path?.length && finding.events.length > 0 && (
        <Evidence app={app} finding={finding} />
      )}
      <Facts facts={factsOf(details)} />
      <div class="pd-actions">
        {app.host && finding.events.length > 0 && <Replay app={app} finding={finding} />}
        <button
          type="button"
          class="pd-button"
          onClick={() => copyPython(app, `trace.events.where(finding="${finding.code}")`)}
        >
          <Icon name="copy" />
          Copy as Python
        </button>
      </div>
      {finding.doc && (
        <details>
          <summary>About {finding.code}</summary>
          <Doc text={finding.doc} />
        </details>
      )}
    </div>
  );
}

/** The calls around the line, the innermost first. */
function CalledFrom({ app, finding }: { app: App; finding: Finding }) {
  return (
    <p class="pd-muted">
      Called from{" "}
      {(finding.calls ?? []).map((loc, i) => (
        <span key={i}>
          {i > 0 && ", from "}
          <CallLink app={app} call={callAt(app.model, loc)} />
        </span>
      ))}
    </p>
  );
}

function Evidence({ app, finding }: { app: App; finding: Finding }) {
  const { model } = app;
  const shown = finding.events.slice(0, MOST_EVENTS);
  return (
    <ul class="pd-evidence">
      {shown.map((event) => (
        <li key={event}>
          <EventLink app={app} event={event} />{" "}
          <span class="pd-muted">
            {model.threads.name(model.events.thread[event])}
            {model.lineOf(event) > 0 && `, ${model.lineSaid(event)}`}
          </span>
        </li>
      ))}
      {finding.events.length > shown.length && (
        <li class="pd-muted">and {plural(finding.events.length - shown.length, "more event")}</li>
      )}
    </ul>
  );
}

/** The way of a value, each step a place to go to. */
function Path({ app, path }: { app: App; path: readonly Step[] }) {
  const go = (step: Step) => {
    if (step.event >= 0) app.jump(step.event);
    else {
      showLine(app, app.model.sourceNamed(step.file), step.line);
    }
  };
  return (
    <ol class="pd-path">
      {path.map((step, i) => (
        <li
          key={i}
          class={step.event >= 0 && app.cursor.value === step.event + 1 ? "pd-step-current" : ""}
        >
          <button type="button" class="pd-link" onClick={() => go(step)}>
            {step.text}
          </button>
          <span class="pd-muted">
            {step.event >= 0 && ` #${step.event}`}
            {step.line > 0 && ` ${fileName(step.file)}:${step.line}`}
          </span>
          {step.source && <code>{step.source}</code>}
        </li>
      ))}
    </ol>
  );
}

/** What is left of the details, in words. */
function Facts({ facts }: { facts: readonly (readonly [string, string])[] }) {
  if (!facts.length) return null;
  return (
    <dl class="pd-facts">
      {facts.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd title={text}>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

function Replay({ app, finding }: { app: App; finding: Finding }) {
  const args = { finding: app.model.findings.indexOf(finding) };
  return (
    <button type="button" class="pd-button" onClick={() => askForRun(app, "replay", args)}>
      <Icon name="replay" />
      Replay its schedule
    </button>
  );
}
