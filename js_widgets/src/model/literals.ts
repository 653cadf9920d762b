/** The keyword arguments of `trace.events.where(...)` as text: a parser of Python literals. */

export type Literal = string | number | boolean | null | readonly Literal[];

/** A query that says nothing sensible: what is wrong, and where in the text. */
export class QueryError extends Error {
  constructor(
    message: string,
    readonly position = 0,
  ) {
    super(message);
    this.name = "QueryError";
  }
}

const SPACE = /\s*/y;
const NAME = /[A-Za-z_]\w*/y;
const NUMBER = /-?\d[\d_]*(\.\d+)?/y;
const STRING = /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'/y;
const WORDS: Record<string, Literal> = { True: true, False: false, None: null };

/** `kind="write", block=(0, 1)` as pairs, in order. */
export function parseArguments(text: string): [name: string, value: Literal][] {
  const reader = new Reader(text);
  const found: [string, Literal][] = [];
  while (!reader.atEnd) {
    const at = reader.position;
    const name = reader.match(NAME);
    if (!name || !reader.take("="))
      throw new QueryError(`expected a condition such as kind="write"`, at);
    if (found.some(([other]) => other === name)) throw new QueryError(`${name} is given twice`, at);
    found.push([name, reader.literal()]);
    if (!reader.atEnd && !reader.take(","))
      throw new QueryError("expected a comma", reader.position);
  }
  return found;
}

class Reader {
  position = 0;

  constructor(private readonly text: string) {
    this.skip();
  }

  get atEnd(): boolean {
    return this.position >= this.text.length;
  }

  match(pattern: RegExp): string {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.text);
    if (!found) return "";
    this.position = pattern.lastIndex;
    this.skip();
    return found[0];
  }

  take(symbol: string): boolean {
    if (!this.text.startsWith(symbol, this.position)) return false;
    this.position += symbol.length;
    this.skip();
    return true;
  }

  private skip(): void {
    SPACE.lastIndex = this.position;
    SPACE.exec(this.text);
    this.position = SPACE.lastIndex;
  }

  literal(): Literal {
    const at = this.position;
    if (this.take("(")) return this.sequence(")");
    if (this.take("[")) return this.sequence("]");
    const quoted = this.match(STRING);
    if (quoted) return unquoted(quoted);
    const digits = this.match(NUMBER);
    if (digits) return Number(digits.replaceAll("_", ""));
    const word = this.match(NAME);
    if (word && word in WORDS) return WORDS[word];
    if (word) throw new QueryError(`${word} is no value; write "${word}"`, at);
    throw new QueryError(at >= this.text.length ? "a value is missing" : "expected a value", at);
  }

  private sequence(close: string): Literal {
    const items: Literal[] = [];
    let comma = true;
    while (!this.take(close)) {
      if (this.atEnd || !comma) throw new QueryError(`expected ${close}`, this.position);
      items.push(this.literal());
      comma = this.take(",");
    }
    // Python: parentheses around one value are no tuple.
    return close === ")" && items.length === 1 && !comma ? items[0] : items;
  }
}

function unquoted(text: string): string {
  const escapes: Record<string, string> = { n: "\n", t: "\t", r: "\r" };
  return text.slice(1, -1).replace(/\\(.)/g, (_, char: string) => escapes[char] ?? char);
}

/** A literal as Python writes it. */
export function literalText(value: Literal): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null) return "None";
  if (typeof value === "number") return String(value);
  return value.length === 1
    ? `(${literalText(value[0])},)`
    : `(${value.map(literalText).join(", ")})`;
}
