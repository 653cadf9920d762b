/**
 * Panels that follow the position, so that no step is one long piece of work.
 *
 * A step shows at once where the cursor is, and its source; the other panels follow in order, in
 * the same picture as far as there is time, else in the next ones. Steps that come meanwhile skip
 * what nobody would see. A panel that moves the cursor itself follows at once.
 */

import { batch, computed, effect, type Signal, signal } from "@preact/signals";
import type { App } from "./store";

/**
 * Milliseconds of script in one picture; panels that would take more wait for the next one. Styles,
 * layout and paint take the browser two or three times as long again, of the 16 that it has.
 */
const ENOUGH = 2;
/** How much of what a panel took counts at its next step. */
const FORGETTING = 0.9;
const POSITION = ["run", "cursor", "thread", "block", "buffer", "launch", "element"] as const;
/** What moves the position. */
const MOVES = ["moveTo", "jump", "focus", "adopt", "addRun", "showRun", "leave"] as const;

/** Reads what was followed last, writes what is followed. */
class Followed<T> {
  constructor(
    private readonly real: Signal<T>,
    private readonly seen: Signal<T>,
    private readonly caught: () => void,
  ) {}
  get value(): T {
    return this.seen.value;
  }
  set value(value: T) {
    batch(() => {
      this.real.value = value;
      this.caught();
    });
  }
  peek(): T {
    return this.seen.peek();
  }
  subscribe(tell: (value: T) => void): () => void {
    return this.seen.subscribe(tell);
  }
}

/** An app as a panel sees it that follows. */
class Follower {
  readonly app: App;
  /** Milliseconds that it may take to follow. */
  cost = 0;
  private readonly seen: Signal<unknown>[];

  constructor(private readonly real: App) {
    this.seen = POSITION.map((name) => signal<unknown>(real[name].peek()));
    const own = Object.create(real);
    const define = (name: string, value: unknown) => Object.defineProperty(own, name, { value });
    POSITION.forEach((name, i) => {
      define(name, new Followed<unknown>(real[name], this.seen[i], () => this.catchUp()));
    });
    for (const name of MOVES) {
      const move = real[name] as (...args: unknown[]) => void;
      define(name, (...args: unknown[]) =>
        batch(() => {
          move.apply(real, args);
          this.catchUp();
        }),
      );
    }
    define(
      "currentModel",
      computed(() => real.modelOf(own.run.value)),
    );
    this.app = own;
  }

  catchUp(): void {
    batch(() => {
      POSITION.forEach((name, i) => {
        this.seen[i].value = this.real[name].peek();
      });
    });
  }
}

/** The apps of panels that follow one app, in order. */
export class Followers {
  private readonly all: Follower[];
  private readonly waiting: Follower[] = [];
  private frame = 0;
  private isBusy = false;
  private readonly stop: () => void;

  constructor(
    private readonly app: App,
    count: number,
  ) {
    this.all = Array.from({ length: count }, () => new Follower(app));
    let first = true;
    this.stop = effect(() => {
      for (const name of POSITION) void app[name].value;
      if (!first) this.moved();
      first = false;
    });
  }

  /** The app of the follower number `i`. */
  of(i: number): App {
    return this.all[i].app;
  }

  private moved(): void {
    for (const one of this.all) if (!this.waiting.includes(one)) this.waiting.push(one);
    this.app.isBehind.value = true;
    if (!this.isBusy) void this.catchUp();
  }

  private async catchUp(): Promise<void> {
    this.isBusy = true;
    let start = performance.now();
    // What has changed is rendered in a microtask: first the panels that do not follow.
    await null;
    for (let next = this.waiting[0]; next; next = this.waiting[0]) {
      if (performance.now() - start + next.cost > ENOUGH) {
        await new Promise((resolve) => {
          this.frame = requestAnimationFrame(resolve);
        });
        start = performance.now();
      }
      this.waiting.shift();
      const before = performance.now();
      next.catchUp();
      await null;
      next.cost = Math.max(performance.now() - before, next.cost * FORGETTING);
    }
    this.isBusy = false;
    this.app.isBehind.value = false;
  }

  dispose(): void {
    this.stop();
    this.waiting.length = 0;
    cancelAnimationFrame(this.frame);
  }
}
