/** The user's code with syntax colours, the threads on their lines, breakpoints and findings. */

import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { fileAndLine, isFile } from "../../model/query";
import { lineQuery } from "../../model/stops";
import { bytesText, plural } from "../../model/text";
import { breakpointQuery, matchesNothing, toggleBreakpoint } from "../../ui/breakpoints";
import { runCommand, showPanel } from "../../ui/commands";
import { SeverityMark } from "../../ui/icons";
import type { App } from "../../ui/store";
import { VirtualList } from "../../ui/virtual";
import { showFinding } from "../findings/select";
import { ghosts, type Position } from "./places";
import { type CodeRow, compact, countsOf, markOf, rowsOf } from "./rows";
import { openNotes, toggleNote } from "./state";

const ROW = 20;
const CHARACTER = 7.42;
const NOTE_CHARACTER = 6.2;
const NOTE_INDENT = 72;
const GUTTER = 116;
const SCROLLBAR = 18;
const COUNTS_WIDTH = 164;

export interface CodeProps {
  readonly app: App;
  readonly source: number;
  readonly position: Position | null;
  readonly counts: boolean;
  readonly width: number;
}

export function Code({ app, source, position, counts, width }: CodeProps): JSX.Element {
  const shown = useSignal(source);
  shown.value = source;
  const columns = Math.max(Math.floor((width - NOTE_INDENT) / NOTE_CHARACTER), 30);
  const { model } = app;
  const room = width - GUTTER - SCROLLBAR - (counts ? COUNTS_WIDTH : 0);
  const characters = Math.max(Math.floor(room / CHARACTER), 24);
  const isOpen = openNotes(app, width);
  const opened = isOpen ? model.findings.map((_, number) => isOpen(number)).join() : "";
  const rows = useMemo(
    () => rowsOf(model, source, columns, characters, isOpen ?? undefined),
    [model, source, columns, characters, opened],
  );
  const lines = useComputed(() => {
    const { cursor, thread, launch, block } = app;
    const at = {
      cursor: cursor.value,
      thread: thread.value,
      launch: launch.value,
      block: block.value,
    };
    return ghosts(app.model, shown.value, at);
  });
  const tally = useComputed(() => countsOf(app.model, shown.value, app.launch.value));
  const breaks = useComputed(() => breakLines(app, shown.value));
  const { start } = app.model.sources[source];
  const here = position?.source === source ? position.line : 0;
  const { value: wanted } = app.reveal;
  const isAsked = wanted?.panel === "source" && wanted.cursor === app.cursor.value;
  const asked = isAsked ? wanted.at : 0;
  const callers = new Set(position?.calls.filter((o) => o.source === source).map((o) => o.line));
  const reveal = asked || here ? (rows.ofLine[(asked || here) - start] ?? -1) : -1;
  const render = (row: number) => {
    const one = rows.rows[row];
    if (!one) return null;
    if (one.finding >= 0) return <Note app={app} row={one} folds={isOpen !== null} />;
    return (
      <Line
        app={app}
        source={source}
        row={one}
        current={one.line === here}
        caller={callers.has(one.line)}
        asked={one.line === asked && asked !== here}
        ghost={lines.value.get(one.line)}
        breakpoint={breaks.value.get(one.line)}
        counts={counts ? tally.value : null}
      />
    );
  };
  return (
    <div class="pd-code">
      <VirtualList
        count={rows.rows.length}
        rowHeight={ROW}
        render={render}
        reveal={reveal}
        revealKey={wanted}
        below={5}
        label={`Source of ${app.model.sources[source].name}. Columns: breakpoint, line, threads, code${counts ? ", executions, bytes read, bytes written, waits" : ""}`}
        header={counts ? <CountsHeader /> : undefined}
      />
    </div>
  );
}

const COUNTS = [
  ["runs", "executions"],
  ["read", "bytes read"],
  ["write", "bytes written"],
  ["waits", "times that a thread waited"],
] as const;

function CountsHeader() {
  return (
    <div class="pd-line pd-line-head">
      <span class="pd-grow" />
      <span class="pd-counts">
        {COUNTS.map(([name, title]) => (
          <span key={name} title={title}>
            {name}
          </span>
        ))}
      </span>
    </div>
  );
}

interface LineProps {
  readonly app: App;
  readonly source: number;
  readonly row: CodeRow;
  readonly current: boolean;
  /** Whether the focus thread is in a function that is called here. */
  readonly caller: boolean;
  /** Brought into view by a finding or a step of a path. */
  readonly asked: boolean;
  readonly ghost: { marks: string[]; others: number; names: string[] } | undefined;
  readonly breakpoint: Break | undefined;
  readonly counts: ReturnType<typeof countsOf> | null;
}

function Line({
  app,
  source,
  row,
  current,
  caller,
  asked,
  ghost,
  breakpoint,
  counts,
}: LineProps): JSX.Element {
  const { start, tokens } = app.model.sources[source];
  const { line } = row;
  const where = lineQuery(app.model, source, line);
  const on = breakpoint !== undefined;
  return (
    <div
      class={`pd-line ${current ? "pd-current" : ""} ${asked ? "pd-asked" : ""}`}
      aria-current={current ? "step" : undefined}
    >
      {row.head ? (
        <span class="pd-gutter">
          <button
            type="button"
            class={`pd-dot ${on ? "pd-set" : ""} ${on && breakpoint !== "on" ? "pd-off" : ""}`}
            tabIndex={-1}
            aria-label={`Breakpoint on line ${line}${breakpoint === "silent" ? ": no recorded event on this line" : ""}`}
            title={breakpoint === "silent" ? "No recorded event on this line" : undefined}
            aria-pressed={on}
            onClick={() => toggleBreakpoint(app, where, `line ${line}`)}
          />
          <button
            type="button"
            class="pd-number"
            tabIndex={-1}
            title={`Run to line ${line}`}
            onClick={() => runCommand(app, "run_to_line", { source, line })}
          >
            {line}
          </button>
          <span class="pd-here">
            {current && (
              <span class="pd-pointer">
                {app.thread.value >= 0 ? app.model.threads.mark(app.thread.value) : "▸"}
              </span>
            )}
            {caller && !current && (
              <span class="pd-pointer pd-caller" title="It is in a function that is called here">
                {app.model.threads.mark(app.thread.value)}
              </span>
            )}
            {ghost && <Ghosts ghost={ghost} room={current ? 1 : 2} />}
          </span>
        </span>
      ) : (
        <span class="pd-gutter pd-more">↳</span>
      )}
      <Text tokens={tokens[line - start]} row={row} />
      {counts && <Counts line={row.head ? line : -1} counts={counts} />}
    </div>
  );
}

/** The part of a line of code that stands in a row. */
function Text({ tokens, row }: { tokens: readonly (readonly string[])[]; row: CodeRow }) {
  let at = 0;
  return (
    <code style={{ paddingLeft: `${row.hang}ch` }}>
      {tokens.map(([text, cls], i) => {
        const part = text.slice(Math.max(row.from - at, 0), Math.max(row.to - at, 0));
        at += text.length;
        if (!part) return null;
        return cls ? (
          <span key={i} class={cls}>
            {part}
          </span>
        ) : (
          part
        );
      })}
    </code>
  );
}

function Ghosts({ ghost, room }: { ghost: NonNullable<LineProps["ghost"]>; room: number }) {
  const { marks, others, names } = ghost;
  const total = marks.length + others;
  const title = names.join("\n") + (total > names.length ? `\n… ${total} in all` : "");
  const shown = others || marks.length > room ? [`×${total}`] : marks;
  return (
    <span class="pd-ghosts" title={title}>
      {shown.map((mark, i) => (
        <span key={i} class="pd-ghost">
          {mark}
        </span>
      ))}
    </span>
  );
}

function Counts({
  line,
  counts: [found, most],
}: {
  line: number;
  counts: ReturnType<typeof countsOf>;
}) {
  const one = found.get(line);
  if (!one) return <span class="pd-counts" title="" />;
  const title = `${plural(one.executions, "execution")}, ${bytesText(one.read)} read, ${bytesText(one.written)} written, ${plural(one.waits, "wait")}`;
  const share = Math.log1p(one.executions) / Math.log1p(most);
  return (
    <span class="pd-counts" title={title}>
      <span style={{ "--share": `${Math.round(share * 100)}%` }} class="pd-heat">
        {compact(one.executions)}
      </span>
      <span>{compact(one.read)}</span>
      <span>{compact(one.written)}</span>
      <span class={one.waits ? "pd-warning" : ""}>{compact(one.waits)}</span>
    </span>
  );
}

interface NoteProps {
  readonly app: App;
  readonly row: CodeRow;
  /** Whether its first row opens and folds the text, for want of room. */
  readonly folds: boolean;
}

function Note({ app, row, folds }: NoteProps): JSX.Element {
  const finding = app.model.findings[row.finding];
  const kind = markOf(finding);
  const toggles = folds && row.head;
  const click = () => {
    if (toggles) toggleNote(app, row.finding, row.folded);
    else {
      showFinding(app, row.finding);
      showPanel(app, "findings");
    }
  };
  return (
    <button
      type="button"
      class={`pd-note pd-note-${kind}`}
      tabIndex={row.head ? 0 : -1}
      aria-expanded={toggles ? !row.folded : undefined}
      title={row.folded ? row.text : undefined}
      onClick={click}
    >
      <span class="pd-note-mark">{row.head && <SeverityMark kind={kind} />}</span>
      <span class={`pd-ellipsis ${row.hint ? "pd-muted" : ""}`}>{row.text}</span>
      {toggles && (
        <span class="pd-note-fold" aria-hidden="true">
          {row.folded ? "▸" : "▾"}
        </span>
      )}
    </button>
  );
}

type Break = "on" | "off" | "silent";

/** Lines of a source with a breakpoint: whether one is enabled, and can stop anywhere. */
function breakLines(app: App, source: number): Map<number, Break> {
  const found = new Map<number, Break>();
  const { file } = app.model.sources[source];
  for (const one of app.breakpoints.value) {
    const condition = breakpointQuery(app, one)?.conditions.find(([name]) => name === "line");
    const [of, line] = condition ? fileAndLine(condition[1]) : ["", 0];
    if (!line || !isFile(of, file) || found.get(line) === "on") continue;
    found.set(line, !one.enabled ? "off" : matchesNothing(app, one) ? "silent" : "on");
  }
  return found;
}
