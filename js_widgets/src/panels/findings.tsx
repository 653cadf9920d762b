/** What the checks found, by severity; a click leads everything to the evidence. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Finding } from "../model/rows";
import { fileName, grouped } from "../model/text";
import { SeverityMark } from "../ui/icons";
import type { App } from "../ui/store";
import { Details } from "./findings/details";
import { inline } from "./findings/doc";
import { selected, showFinding, stepFinding } from "./findings/select";
import type { Panel } from "./panel";
import { markOf } from "./source/rows";

const ORDER = ["error", "abort", "warning", "info"];
const TITLES: Record<string, string> = {
  error: "Errors",
  abort: "Refused by JAX",
  warning: "Warnings",
  info: "Good to know",
};

function Findings({ app }: { app: App }): JSX.Element {
  const { findings } = app.model;
  if (!findings.length) {
    const checked = app.model.header.view?.has_report !== false && app.model.hasView;
    return (
      <div class="pd-empty">
        <strong>{checked ? "No findings" : "Not checked"}</strong>
        <span>
          {checked
            ? "No check has anything to say about this run."
            : "This trace came without a report of the checks."}
        </span>
      </div>
    );
  }
  const groups = ORDER.map((kind) => ({
    kind,
    members: [...findings.entries()].filter(
      ([, one]) => markOf(one) === kind && !findings[one.cause ?? -1],
    ),
  })).filter((group) => group.members.length);
  return (
    <div class="pd-scroll pd-findings">
      {groups.map(({ kind, members }) => (
        <section key={kind} aria-label={TITLES[kind]}>
          <h3 class={`pd-${kind}`}>
            {titleOf(app, kind)} <span class="pd-muted">{members.length}</span>
          </h3>
          {members.flatMap(([number]) =>
            [number, ...followers(findings, number)].map((row) => (
              <Entry key={row} app={app} number={row} />
            )),
          )}
        </section>
      ))}
    </div>
  );
}

function titleOf(app: App, kind: string): string {
  return kind === "abort" ? `JAX ${app.model.jaxVersion} would refuse this` : TITLES[kind];
}

/** Rows of the findings that follow from one, each before those that follow from it. */
function followers(findings: readonly Finding[], root: number): number[] {
  const next = [...findings.keys()].filter((row) => findings[row].cause === root && row !== root);
  return next.flatMap((row) => [row, ...followers(findings, row)]);
}

function Entry({ app, number }: { app: App; number: number }): JSX.Element {
  const finding = app.model.findings[number];
  const follows = Boolean(app.model.findings[finding.cause ?? -1]);
  const open = selected(app).value.selected === number;
  const here = finding.events.includes(app.event);
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    if (open) element.current?.scrollIntoView?.({ block: "nearest" });
  }, [open]);
  const click = () => {
    if (open) selected(app).value = { selected: -1 };
    else showFinding(app, number);
  };
  return (
    <article
      class={`pd-finding ${open ? "pd-open" : ""} ${here ? "pd-here-now" : ""} ${follows ? "pd-follows" : ""}`}
      ref={element}
    >
      <button type="button" class="pd-finding-head" aria-expanded={open} onClick={click}>
        <SeverityMark kind={markOf(finding)} />
        <span class="pd-finding-text">
          <span class="pd-finding-name">
            {follows && <span class="pd-muted">so also </span>}
            <b>{finding.code}</b> {finding.name}
            {finding.count > 1 && <span class="pd-chip">×{grouped(finding.count)}</span>}
            {finding.loc && (
              <span class="pd-mono pd-muted pd-finding-place">
                {fileName(finding.loc.file)}:{finding.loc.line}
              </span>
            )}
          </span>
          <span class={open ? "" : "pd-clamp"}>{inline(finding.message)}</span>
        </span>
      </button>
      {open && <Details app={app} finding={finding} />}
    </article>
  );
}

export const panel: Panel = {
  id: "findings",
  title: "Findings",
  Component: Findings,
  commands: [
    {
      id: "prev_finding",
      title: "Previous finding",
      group: "Findings",
      keys: ["Shift+F"],
      enabled: (app) => app.model.findings.length > 0,
      run: (app) => stepFinding(app, -1),
    },
    {
      id: "next_finding",
      title: "Next finding",
      group: "Findings",
      keys: ["F"],
      enabled: (app) => app.model.findings.length > 0,
      run: (app) => stepFinding(app, 1),
    },
  ],
  badge: (app) => (app.model.findings.length ? String(app.model.findings.length) : ""),
};
