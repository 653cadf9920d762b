/**
 * Panels that follow the position, so that no step is one long piece of work.
 *
 * A step shows at once where the cursor is, and its source; the other panels follow in order,
 * each as a piece of the pictures that come. Steps that come meanwhile skip what nobody would see.
 * A panel that moves the cursor itself follows at once.
 */

import { batch, computed, effect, type Signal, signal } from "@preact/signals";
import { useContext, useEffect, useMemo } from "preact/hooks";
import { PICTURES, Pictures, Piece } from "./pictures";
import type { App } from "./store";

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
  readonly piece = new Piece(() => this.catchUp());
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
  readonly pictures: Pictures;
  private readonly isOwner: boolean;
  private readonly all: Follower[];
  private readonly stop: () => void;

  constructor(
    private readonly app: App,
    count: number,
    /** Those of the app that this one follows. */
    given?: Pictures,
  ) {
    this.pictures = given ?? new Pictures(() => this.check());
    this.isOwner = !given;
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
    for (const { piece } of this.all) this.pictures.add(piece);
    this.app.isBehind.value = true;
  }

  private check(): void {
    this.app.isBehind.value = this.pictures.isBehind;
  }

  dispose(): void {
    this.stop();
    for (const { piece } of this.all) this.pictures.remove(piece);
    if (this.isOwner) this.pictures.dispose();
  }
}

/** The app of a part of a panel: it follows the panel. */
export function usePart(app: App): App {
  const pictures = useContext(PICTURES);
  const followers = useMemo(() => new Followers(app, 1, pictures), [app, pictures]);
  useEffect(() => () => followers.dispose(), [followers]);
  return followers.of(0);
}
