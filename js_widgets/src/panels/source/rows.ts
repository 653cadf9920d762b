/** The rows of the source view: code lines, and what findings say below theirs. */

import type { Finding, LineCounts } from "../../model/rows";
import type { Model } from "../../model/trace";

export interface CodeRow {
  readonly line: number;
  /** Which part of the line's text, where it is too long for one row. */
  readonly from: number;
  readonly to: number;
  /** How far a later part is moved in, in characters. */
  readonly hang: number;
  /** -1 for code; else the finding whose text this is. */
  readonly finding: number;
  readonly text: string;
  /** First row of a line, or of a finding's text, which carries its mark. */
  readonly head: boolean;
  /** Whether it says what to do. */
  readonly hint: boolean;
  /** Whether it stands for a finding whose text is folded away. */
  readonly folded: boolean;
}

export interface Rows {
  readonly rows: readonly CodeRow[];
  /** Row of each line, by `line - start`. */
  readonly ofLine: Int32Array;
}

/** Which mark a finding has: its severity, or `abort` where JAX itself would refuse and stop. */
export function markOf(finding: Finding): string {
  return finding.refusal && finding.severity !== "info" ? "abort" : finding.severity;
}

/** Lines of at most `columns` characters, broken at spaces. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = word;
    } else line = line ? `${line} ${word}` : word;
  }
  if (line) lines.push(line);
  return lines;
}

/** How far the later parts of a line of code are moved in. */
function hanging(text: string, columns: number): number {
  return Math.min(text.search(/\S|$/) + 4, columns >> 1);
}

/** Where the parts of a line of code end, so that each fits into `columns`. */
export function cuts(text: string, columns: number): number[] {
  const hang = hanging(text, columns);
  const found: number[] = [];
  let at = 0;
  let room = columns;
  while (text.length - at > room) {
    const part = text.slice(at, at + room);
    const nice = Math.max(...[" ", ",", "(", "["].map((one) => part.lastIndexOf(one))) + 1;
    at += nice > room / 3 && part.slice(0, nice).trim() ? nice : room;
    found.push(at);
    room = columns - hang;
  }
  return [...found, text.length];
}

export function rowsOf(
  model: Model,
  source: number,
  columns: number,
  characters = Number.POSITIVE_INFINITY,
  isOpen: (finding: number) => boolean = () => true,
): Rows {
  const { start, tokens } = model.sources[source];
  const notes = new Map<number, number[]>();
  for (const [i, one] of model.findings.entries()) {
    if (one.source === source) notes.set(one.line, [...(notes.get(one.line) ?? []), i]);
  }
  const rows: CodeRow[] = [];
  const ofLine = new Int32Array(tokens.length);
  for (const [i, pieces] of tokens.entries()) {
    ofLine[i] = rows.length;
    const text = pieces.map(([piece]) => piece).join("");
    let from = 0;
    for (const to of cuts(text, characters)) {
      const hang = from ? hanging(text, characters) : 0;
      rows.push({ ...CODE, line: start + i, from, to, hang, head: !from });
      from = to;
    }
    const here = notes.get(start + i) ?? [];
    for (const number of here.sort((a, b) => rank(model, a) - rank(model, b) || a - b))
      rows.push(...noteRows(model, number, isOpen(number) ? columns : 0));
  }
  return { rows, ofLine };
}

/** Errors stand before what follows from them, and before what is merely good to know. */
function rank({ findings }: Model, number: number): number {
  const { cause = -1, severity } = findings[number];
  return ["error", "warning", "info"].indexOf(severity) + (findings[cause] ? 0.5 : 0);
}

const CODE = {
  from: 0,
  to: 0,
  hang: 0,
  finding: -1,
  text: "",
  head: false,
  hint: false,
  folded: false,
};

/** The text of a finding in lines of at most `columns` characters; folded in one for 0. */
function noteRows(model: Model, number: number, columns: number): CodeRow[] {
  const finding = model.findings[number];
  const refused = finding.refusal ? `JAX ${model.jaxVersion} refuses this: ` : "";
  const plain = (text: string) => text.replaceAll("`", "");
  const text = plain(`${finding.code} ${finding.name}: ${refused}${finding.message}`);
  if (!columns)
    return [{ ...CODE, line: finding.line, finding: number, text, head: true, folded: true }];
  const said = wrap(text, columns);
  const hint = finding.hint ? wrap(plain(`Try: ${finding.hint}`), columns) : [];
  return [...said, ...hint].map((text, i) => ({
    ...CODE,
    line: finding.line,
    finding: number,
    text,
    head: i === 0,
    hint: i >= said.length,
  }));
}

/** Counts per line of one source in one launch, and the largest number of executions. */
export function countsOf(
  model: Model,
  source: number,
  launch: number,
): [Map<number, LineCounts>, number] {
  const found = new Map<number, LineCounts>();
  let most = 1;
  for (const one of model.lineCounts) {
    if (one.source !== source || one.launch !== launch) continue;
    found.set(one.line, one);
    most = Math.max(most, one.executions);
  }
  return [found, most];
}

/** 950, 1.2k, 34M: at most four characters. */
export function compact(number: number): string {
  if (!number) return "";
  const units = ["", "k", "M", "G", "T"];
  let value = number;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit && value < 10 ? value.toFixed(1).replace(/\.0$/, "") : Math.floor(value)}${units[unit]}`;
}
