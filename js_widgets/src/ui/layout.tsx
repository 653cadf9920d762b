/** Docks of tabs with movable borders: four where there is room, two stacked where not. */

import { useSignal } from "@preact/signals";
import { Component, type ComponentChildren, type JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { PANELS } from "../panels";
import type { Panel } from "../panels/panel";
import { showPanel } from "./commands";
import { leaveTo } from "./focus";
import { Followers } from "./follow";
import { Icon } from "./icons";
import { afterPaint, whileIdle } from "./later";
import { PICTURES } from "./pictures";
import { type App, clamp } from "./store";

const NARROW = 820;
/** More events than can be prepared before the first picture. */
const LONG = 100_000;
/** Too low for two docks, without the frame around them. */
const LOW = 304;
const CORNERS: readonly (readonly string[])[] = [
  ["source"],
  ["grid", "threads"],
  ["findings", "variables", "events"],
  ["memory"],
];
const STACKED: readonly (readonly string[])[] = [
  ["source"],
  ["findings", "variables", "grid", "threads", "memory", "events"],
];
const SIZES = { x: 0.5, left: 0.54, right: 0.54, stack: 0.5 };
type Border = keyof typeof SIZES;

function panelsOf(ids: readonly string[]): Panel[] {
  const known = ids.map((id) => PANELS.find((panel) => panel.id === id));
  return known.filter((panel): panel is Panel => Boolean(panel));
}

export function Layout({ app }: { app: App }): JSX.Element {
  const body = useRef<HTMLDivElement>(null);
  const narrow = useSignal(false);
  const low = useSignal(false);
  useLayoutEffect(() => {
    const measure = () => {
      narrow.value = (body.current?.clientWidth || NARROW) < NARROW;
      low.value = (body.current?.clientHeight || LOW) < LOW;
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(body.current!);
    return () => observer.disconnect();
  }, []);
  const { zoomed, sizes } = app.panel.value;
  const at = (border: Border): number => sizes?.[border] ?? SIZES[border];
  const split = (border: Border, vertical: boolean) => (
    <Split app={app} border={border} vertical={vertical} at={at(border)} />
  );
  const docks = narrow.value ? STACKED : CORNERS;
  const followers = useMemo(() => new Followers(app, CORNERS.length - 1), [app]);
  useEffect(() => () => followers.dispose(), [followers]);
  // A long recording shows its source first.
  const late = useSignal(app.model.count > LONG);
  useEffect(() => {
    if (app.model.count <= LONG) return;
    if (!late.value) return whileIdle(app.model.ahead());
    return afterPaint(() => {
      late.value = false;
    });
  }, [late.value, app.model]);
  const dock = (i: number, share: number) => (
    <Dock
      key={i}
      app={app}
      shown={i > 0 ? followers.of(i - 1) : app}
      ids={docks[i]}
      share={share}
      empty={i > 0 && late.value}
    />
  );
  let content: ComponentChildren;
  if (zoomed || low.value)
    content = <Dock app={app} shown={app} ids={PANELS.map((panel) => panel.id)} share={1} />;
  else if (narrow.value)
    content = column([dock(0, at("stack")), split("stack", false), dock(1, 1 - at("stack"))], 1);
  else {
    content = [
      column([dock(0, at("left")), split("left", false), dock(2, 1 - at("left"))], at("x")),
      split("x", true),
      column([dock(1, at("right")), split("right", false), dock(3, 1 - at("right"))], 1 - at("x")),
    ];
  }
  return (
    <div class="pd-body" ref={body}>
      <PICTURES.Provider value={followers.pictures}>{content}</PICTURES.Provider>
    </div>
  );
}

function column(children: ComponentChildren, share: number): JSX.Element {
  return (
    <div class="pd-column" style={{ flex: `${share} 1 0` }}>
      {children}
    </div>
  );
}

function Split(props: { app: App; border: Border; vertical: boolean; at: number }): JSX.Element {
  const { app, border, vertical, at } = props;
  const place = (share: number) => {
    const sizes = { ...SIZES, ...app.panel.value.sizes, [border]: clamp(share, 0.12, 0.88) };
    app.panel.value = { ...app.panel.value, sizes };
  };
  const move = (event: PointerEvent) => {
    const self = event.currentTarget as HTMLElement;
    if (!self.hasPointerCapture(event.pointerId)) return;
    const box = self.parentElement!.getBoundingClientRect();
    place(
      vertical ? (event.clientX - box.left) / box.width : (event.clientY - box.top) / box.height,
    );
  };
  const key = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!by) return;
    place(at + by * 0.02);
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="pd-split"
      role="separator"
      tabIndex={0}
      aria-orientation={vertical ? "vertical" : "horizontal"}
      aria-label="Border between panels"
      aria-valuenow={Math.round(at * 100)}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={move}
      onDblClick={() => place(SIZES[border])}
      onKeyDown={key}
    />
  );
}

/** What a dock shows until something is chosen: one block has no grid worth looking at. */
function firstOf(app: App, ids: readonly string[]): string {
  const { blocks } = app.model.launches[app.launch.value] ?? { blocks: 0 };
  return ids[0] === "grid" && blocks <= 1 ? ids[1] : ids[0];
}

function Dock({
  app,
  shown,
  ids,
  share,
  empty = false,
}: {
  app: App;
  /** The app as its panel sees it. */
  shown: App;
  ids: readonly string[];
  share: number;
  empty?: boolean;
}): JSX.Element {
  const panels = panelsOf(ids);
  const order = (app.panel.value.order ?? []) as string[];
  const front = order.find((id) => ids.includes(id)) ?? firstOf(app, ids);
  const panel = panels.find((one) => one.id === front) ?? panels[0];
  const zoomed = Boolean(app.panel.value.zoomed);
  const zoom = () => {
    showPanel(app, panel.id);
    app.panel.value = { ...app.panel.value, zoomed: zoomed ? null : panel.id };
  };
  const key = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    const next = panels[(panels.indexOf(panel) + by + panels.length) % panels.length];
    showPanel(app, next.id);
    const list = event.currentTarget as HTMLElement;
    queueMicrotask(() => list.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section class="pd-dock" style={{ flex: `${share} 1 0` }} aria-label={panel.title}>
      <div class="pd-tabs">
        <div class="pd-tablist" role="tablist" onKeyDown={key}>
          {panels.map((one) => (
            <Tab key={one.id} app={app} panel={one} selected={one === panel} onZoom={zoom} />
          ))}
        </div>
        <button
          type="button"
          class="pd-tool pd-small"
          aria-label={zoomed ? "Show all panels" : `Enlarge ${panel.title}`}
          aria-pressed={zoomed}
          title={zoomed ? "Show all panels (Z)" : "Enlarge (double-click the tab)"}
          onClick={zoom}
        >
          <Icon name={zoomed ? "unzoom" : "zoom"} />
        </button>
      </div>
      {empty ? (
        <div class="pd-panel" aria-busy="true" />
      ) : (
        <Guard key={panel.id} title={panel.title}>
          <panel.Component app={shown} />
        </Guard>
      )}
    </section>
  );
}

function Tab(props: {
  app: App;
  panel: Panel;
  selected: boolean;
  onZoom: () => void;
}): JSX.Element {
  const { app, panel, selected, onZoom } = props;
  const badge = panel.badge?.(app);
  return (
    <button
      type="button"
      class="pd-tab"
      role="tab"
      data-pd-tab={panel.id}
      aria-selected={selected}
      tabIndex={selected ? 0 : -1}
      onClick={(event) => {
        showPanel(app, panel.id);
        if (event.detail) leaveTo(event);
      }}
      onDblClick={onZoom}
    >
      {panel.title}
      {badge && <span class="pd-chip">{badge}</span>}
    </button>
  );
}

/** A panel that throws shows an error; the others go on. */
class Guard extends Component<
  { title: string; children: ComponentChildren },
  { error: Error | null }
> {
  override state: { error: Error | null } = { error: null };

  static override getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render(): ComponentChildren {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div class="pd-scroll">
        <div class="pd-card" role="alert">
          <h2>{this.props.title} cannot be shown</h2>
          <p>{String(error.message || error)}</p>
          <p class="pd-muted">
            This is a fault of the viewer; the trace and the other panels are fine.
          </p>
          <button type="button" class="pd-button" onClick={() => this.setState({ error: null })}>
            Try again
          </button>
        </div>
      </div>
    );
  }
}
