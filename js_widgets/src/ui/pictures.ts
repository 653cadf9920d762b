/**
 * Work that is spread over pictures, so that none of them comes late: one costly piece in each.
 *
 * Pieces are done in order, in the same picture as far as there is time, else in the next ones.
 * What a piece takes is measured: its script, and what it draws at the beginning of the next
 * picture. A picture that has drawn much does nothing else.
 */

import { createContext } from "preact";

/**
 * Milliseconds of script in one picture; pieces that would take more wait for the next one. Styles,
 * layout and paint take the browser two or three times as long again, of the 16 that it has.
 */
export const ENOUGH = 3;
/** The same of the picture in which the work begins: it shows what does not wait, too. */
export const FIRST = 2;
/** Milliseconds of drawing after which a picture does nothing else. */
const MUCH = 4;
/** How much of what a piece took counts the next time. */
const FORGETTING = 0.8;

export class Piece {
  /** Milliseconds that it may take. */
  cost = 0;
  /** Milliseconds that what it draws may take, at the beginning of the next picture. */
  draw = 0;

  constructor(
    readonly run: () => void,
    /** Whether it changes nothing that is seen, and goes after all that does. */
    readonly isUnseen = false,
  ) {}
}

/** When the next picture begins to draw what is asked for from now on; 0 before. */
function nextDrawing(): { at: number } {
  const found = { at: 0 };
  requestAnimationFrame(() => {
    found.at = performance.now();
  });
  return found;
}

export class Pictures {
  private readonly waiting: Piece[] = [];
  private frame = 0;
  private isBusy = false;

  /** Calls back whenever a piece has been done and rendered. */
  constructor(private readonly done: () => void = () => {}) {}

  /** Whether something that is seen has yet to change. */
  get isBehind(): boolean {
    return this.waiting.some((one) => !one.isUnseen);
  }

  /** Does a piece as soon as there is time; one that waits already is done once. */
  add(piece: Piece): void {
    if (this.waiting.includes(piece)) return;
    const unseen = this.waiting.findIndex((one) => one.isUnseen);
    if (piece.isUnseen || unseen < 0) this.waiting.push(piece);
    else this.waiting.splice(unseen, 0, piece);
    if (!this.isBusy) void this.work();
  }

  remove(piece: Piece): void {
    const at = this.waiting.indexOf(piece);
    if (at >= 0) this.waiting.splice(at, 1);
  }

  private async work(): Promise<void> {
    this.isBusy = true;
    let isFirst = true;
    let isInFrame = false;
    let mayWait = true;
    let hasWaited = false;
    /** Spent on this picture before its frame began. */
    let before = 0;
    let start = performance.now();
    let drawing = nextDrawing();
    // What has changed is rendered in a microtask: first what does not wait.
    await null;
    for (let next = this.waiting[0]; next; next = this.waiting[0]) {
      const spent = before + performance.now() - start;
      // What is asked for before the frame is drawn in this picture, too.
      const needed = next.cost + (isInFrame ? 0 : next.draw);
      if (!mayWait || spent + needed <= (isFirst ? FIRST : ENOUGH)) {
        this.waiting.shift();
        await this.measured(next);
        mayWait = true;
        hasWaited = false;
        this.done();
        continue;
      }
      await new Promise((resolve) => {
        this.frame = requestAnimationFrame(resolve);
      });
      isFirst = !isInFrame;
      isInFrame = true;
      before = isFirst ? spent : 0;
      start = drawing.at || performance.now();
      drawing = nextDrawing();
      // One piece is done in each picture, unless drawing took much of it: then in the next.
      mayWait = isFirst || (!hasWaited && performance.now() - start > MUCH);
      hasWaited = !isFirst && mayWait;
    }
    this.isBusy = false;
  }

  private async measured(piece: Piece): Promise<void> {
    const drawing = nextDrawing();
    const before = performance.now();
    piece.run();
    await null;
    piece.cost = Math.max(performance.now() - before, piece.cost * FORGETTING);
    requestAnimationFrame(() => {
      piece.draw = Math.max(performance.now() - drawing.at, piece.draw * FORGETTING);
    });
  }

  dispose(): void {
    this.waiting.length = 0;
    cancelAnimationFrame(this.frame);
  }
}

/** The pictures of the viewer that something is part of. */
export const PICTURES = createContext(new Pictures());
