/** The wait-for graph of a deadlock: who waits for whom, for what, and who could have acted. */

import type { JSX } from "preact";
import type { App } from "../../ui/store";

interface Node {
  readonly thread: number;
  readonly name: string;
  readonly state: string;
  readonly file?: string;
  readonly line: number;
  /** What it waits for, in words. */
  readonly object: string;
}

interface Edge {
  readonly from: number;
  readonly to: number;
  readonly object: string;
  /** Where the other thread would signal, 0 if unknown. */
  readonly line: number;
  readonly file?: string;
  readonly state: string;
}

export interface Graph {
  readonly nodes: readonly Node[];
  readonly edges: readonly Edge[];
}

export function isGraph(graph: unknown): graph is Graph {
  const { nodes, edges } = (graph ?? {}) as Partial<Graph>;
  return Array.isArray(nodes) && nodes.length > 0 && Array.isArray(edges);
}

const BOX = { width: 178, height: 42 };
const MOST = 8;

type Point = readonly [x: number, y: number];

const GAP = 128;
const LOOP = 30;

/** Threads on an ellipse, two of them side by side; room above for what waits for itself. */
function places(count: number, above: number): { size: Point; at: Point[] } {
  const columns = Math.min(count, 3);
  const width = columns * (BOX.width + GAP) - GAP + 4;
  const height = count <= 2 ? 84 : count <= 4 ? 190 : 280;
  const [rx, ry] = [(width - BOX.width) / 2 - 2, count > 2 ? (height - BOX.height) / 2 - 2 : 0];
  const at = Array.from({ length: count }, (_, i): Point => {
    const turn = Math.PI + (i * 2 * Math.PI) / count;
    return [width / 2 + rx * Math.cos(turn), above + height / 2 + ry * Math.sin(turn)];
  });
  return { size: [width, height + above], at };
}

/** Where the way from a box's middle to another point leaves the box. */
function border([x, y]: Point, [tx, ty]: Point): Point {
  const [dx, dy] = [tx - x, ty - y];
  const share = Math.min(
    (BOX.width / 2 + 3) / Math.max(Math.abs(dx), 1e-6),
    (BOX.height / 2 + 3) / Math.max(Math.abs(dy), 1e-6),
  );
  return [x + dx * share, y + dy * share];
}

/** A bent way between two boxes, so that there and back are two; its label stands beside it. */
function way(from: Point, to: Point): { path: string; label: Point } {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
  const side: Point = [(to[1] - from[1]) / length, (from[0] - to[0]) / length];
  const beside = ([x, y]: Point, by: number): Point => [x + side[0] * by, y + side[1] * by];
  const middle: Point = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
  const start = beside(border(from, to), 7);
  const end = beside(border(to, from), 7);
  const path = `M${start.map(short)}Q${beside(middle, 30).map(short)} ${end.map(short)}`;
  return { path, label: beside(middle, 28) };
}

/** The way of a thread that only itself could wake: over its box. */
function loop([x, y]: Point): { path: string; label: Point } {
  const top = y - BOX.height / 2;
  const [left, right] = [x - 40, x + 40];
  const path = `M${left} ${top - 2}C${left} ${top - LOOP} ${right} ${top - LOOP} ${right} ${top - 3}`;
  return { path, label: [x, top - LOOP + 2] };
}

const short = (value: number) => value.toFixed(1);

export function WaitGraph({ app, graph }: { app: App; graph: Graph }): JSX.Element {
  const nodes = graph.nodes.slice(0, MOST);
  const loops = graph.edges.some((edge) => edge.from === edge.to);
  const { size, at } = places(nodes.length, loops ? LOOP : 0);
  const where = new Map(nodes.map((node, i) => [node.thread, at[i]]));
  const edges = graph.edges.filter((edge) => where.has(edge.from) && where.has(edge.to));
  const hidden = graph.nodes.length - nodes.length;
  return (
    <div class="pd-graph">
      <svg
        viewBox={`0 0 ${size[0]} ${size[1]}`}
        width={size[0]}
        height={size[1]}
        role="group"
        aria-label="Who waits for whom"
      >
        <defs>
          <marker
            id="pd-arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto"
          >
            <path d="M0 0 8 4 0 8z" class="pd-arrow" />
          </marker>
        </defs>
        {edges.map((edge, i) => (
          <Way
            key={i}
            app={app}
            edge={edge}
            from={where.get(edge.from)!}
            to={where.get(edge.to)!}
          />
        ))}
        {nodes.map((node, i) => (
          <Box key={node.thread} app={app} node={node} at={at[i]} />
        ))}
      </svg>
      {hidden > 0 && <p class="pd-muted">and {hidden} more threads</p>}
      {!edges.length && <p class="pd-muted">No thread could have ended these waits.</p>}
    </div>
  );
}

/** Where it stands, after some words; nothing if that is unknown. */
function said(app: App, before: string, { file, line }: Node | Edge): string {
  return line ? before + app.model.said(file ?? "", line) : "";
}

function Way({ app, edge, from, to }: { app: App; edge: Edge; from: Point; to: Point }) {
  const { path, label } = edge.from === edge.to ? loop(from) : way(from, to);
  const text = edge.object + said(app, " · ", edge);
  return (
    <g class={`pd-way ${edge.state === "waits" ? "pd-way-stuck" : ""}`}>
      <title>
        waits for {edge.object}
        {said(app, ", which the other would signal at ", edge)}
      </title>
      <path d={path} marker-end="url(#pd-arrow)" />
      <text x={label[0]} y={label[1] + 4}>
        {clipped(text, 24)}
      </text>
    </g>
  );
}

function Box({ app, node, at }: { app: App; node: Node; at: Point }) {
  const stuck = node.state === "waits";
  const does = stuck ? `waits for ${node.object}${said(app, ", ", node)}` : "has ended";
  const go = () => {
    const last = app.model.lastOfThread(node.thread, app.model.count);
    if (last >= 0) app.jump(last);
  };
  return (
    <g
      class={`pd-node pd-node-${stuck ? "waits" : "ended"}`}
      transform={`translate(${short(at[0] - BOX.width / 2)} ${short(at[1] - BOX.height / 2)})`}
      role="button"
      tabIndex={0}
      aria-label={`${node.name} ${does}`}
      onClick={go}
      onKeyDown={(event) => {
        if (event.key === "Enter" || event.key === " ") go();
      }}
    >
      <title>
        {node.name} {does}
      </title>
      <rect width={BOX.width} height={BOX.height} rx={4} />
      <text x={10} y={17}>
        {stuck ? "◐ " : "■ "}
        {clipped(node.name, 24)}
      </text>
      <text x={10} y={33} class="pd-node-does">
        {clipped(does, 28)}
      </text>
    </g>
  );
}

function clipped(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
