/** Draws the maps of the memory spaces: who lives when, how much that is, what the chip has. */

import { bytesText, grouped } from "../../model/text";
import type { Model } from "../../model/trace";
import type { Theme } from "../../ui/theme";
import { box, frame, hatch } from "../drawing/patterns";
import { fitted, fittedInside, measurer } from "../drawing/text";
import type { Axis } from "../threads/axis";
import { type Allocation, bytesAt, type SpaceMap } from "./usage";

type Context = CanvasRenderingContext2D;

/** One map with its place; bytes grow upward from the bottom. */
export interface Band {
  readonly map: SpaceMap;
  readonly top: number;
  readonly height: number;
  /** Bytes at the top of the band. */
  readonly scale: number;
}

export const TITLE = 20;
export const FOOT = 18;
const LEAST = 34;
const SIDE = 10;

/** Stacks the maps; each is high enough to be read, so the picture may be higher than its box. */
export function bandsOf(maps: readonly SpaceMap[], height: number): Band[] {
  const each = Math.max((height - FOOT) / Math.max(maps.length, 1) - TITLE, LEAST);
  return maps.map((map, i) => ({
    map,
    top: i * (each + TITLE) + TITLE,
    height: each - 6,
    scale: scaleOf(map),
  }));
}

/** The chip's limit is shown where the use comes near it; else the use fills the band. */
function scaleOf(map: SpaceMap): number {
  const most = Math.max(map.top, 1);
  return map.limit > 0 && most > map.limit * 0.3 ? Math.max(most, map.limit) * 1.04 : most * 1.04;
}

export interface Across {
  readonly axis: Axis;
  readonly low: number;
  readonly high: number;
  readonly width: number;
}

export function xOf(across: Across, event: number): number {
  const { axis, low, high, width } = across;
  const part = (axis.at(event) - low) / Math.max(high - low, 1);
  return SIDE + Math.min(Math.max(part, 0), 1) * (width - 2 * SIDE);
}

export function paintBand(
  context: Context,
  model: Model,
  band: Band,
  across: Across,
  cursor: number,
  selected: number,
  theme: Theme,
): void {
  const { map } = band;
  paintTitle(context, band, across, cursor, theme);
  box(context, theme.surface, SIDE, band.top, across.width - 2 * SIDE, band.height);
  if (map.allocations.length > 0) {
    map.allocations.forEach((one, i) => {
      paintAllocation(context, model, band, across, one, theme, i);
    });
  } else paintLevels(context, band, across, theme);
  const mine = map.allocations.find((one) => one.buffer === selected);
  if (mine) {
    const { x, y, width, height } = rectangle(band, across, mine);
    frame(context, theme.accent, 2, x - 1, y - 1, Math.max(width, 3) + 2, Math.max(height, 2) + 2);
  }
  paintLimit(context, band, across, theme);
  box(
    context,
    theme.accent,
    Math.round(xOf(across, Math.max(cursor - 1, 0))),
    band.top - 2,
    1.5,
    band.height + 4,
  );
}

export function rectangle(band: Band, across: Across, one: Allocation) {
  const x = xOf(across, one.from);
  const bottom = band.top + band.height;
  const high = (one.bytes / band.scale) * band.height;
  const y = bottom - (one.low / band.scale) * band.height - high;
  return { x, y, width: Math.max(xOf(across, one.to) - x, 1), height: Math.max(high, 1) };
}

function paintAllocation(
  context: Context,
  model: Model,
  band: Band,
  across: Across,
  one: Allocation,
  theme: Theme,
  number: number,
): void {
  const { x, y, width, height } = rectangle(band, across, one);
  context.globalAlpha = 0.5;
  box(context, theme.series[number % 7], x, y, width, height);
  context.globalAlpha = 1;
  if (number % 2 === 1 && height > 5) {
    context.globalAlpha = 0.35;
    box(context, hatch(context, "dots", theme.background), x, y, width, height);
    context.globalAlpha = 1;
  }
  if (height > 2.5) frame(context, theme.background, 0.75, x, y, width, height);
  if (height < 12 || width < 24) return;
  context.font = `10px ${theme.sans}`;
  context.textBaseline = "middle";
  const measure = measurer(context);
  const name = model.buffers.name(one.buffer);
  const long = `${name}  ${model.buffers.type(one.buffer)}  ${bytesText(one.bytes)}`;
  const text = measure(long) <= width - 8 ? long : fittedInside(name, width - 8, measure);
  context.fillStyle = theme.text;
  context.fillText(text, x + 4, y + height / 2 + 0.5);
}

/** The sum alone, where there are too many to tell apart. */
function paintLevels(context: Context, band: Band, across: Across, theme: Theme): void {
  const { levels } = band.map;
  context.globalAlpha = 0.55;
  levels.forEach((level, i) => {
    const x = xOf(across, level.event);
    const end = i + 1 < levels.length ? xOf(across, levels[i + 1].event) : across.width - SIDE;
    const high = (level.bytes / band.scale) * band.height;
    if (end - x > 0.05)
      box(context, theme.series[0], x, band.top + band.height - high, Math.max(end - x, 1), high);
  });
  context.globalAlpha = 1;
}

function paintLimit(context: Context, band: Band, across: Across, theme: Theme): void {
  const { limit } = band.map;
  if (limit <= 0 || limit > band.scale) return;
  const y = Math.round(band.top + band.height - (limit / band.scale) * band.height) + 0.5;
  context.strokeStyle = theme.error;
  context.lineWidth = 1.5;
  context.setLineDash([6, 3]);
  context.beginPath();
  context.moveTo(SIDE, y);
  context.lineTo(across.width - SIDE, y);
  context.stroke();
  context.setLineDash([]);
}

/** `smem   24 KiB now · peak 40 KiB at step 12 (acc, a_smem) · 18 % of 227 KiB`. */
function paintTitle(
  context: Context,
  band: Band,
  across: Across,
  cursor: number,
  theme: Theme,
): void {
  const { map } = band;
  const y = band.top - TITLE / 2 + 1;
  context.textBaseline = "middle";
  context.font = `600 11px ${theme.sans}`;
  context.fillStyle = theme.text;
  context.fillText(map.name, SIDE, y);
  let x = SIDE + context.measureText(map.name).width + 10;
  context.font = `11px ${theme.sans}`;
  const measure = measurer(context);
  context.fillStyle = map.limit > 0 && map.peak > map.limit ? theme.error : theme.muted;
  const text = fitted(titleText(map, across.axis, cursor), across.width - SIDE - x, measure);
  context.fillText(text, x, y);
  x += measure(text) + 10;
  if (map.limit <= 0 || x + 60 > across.width - SIDE) return;
  const width = Math.min(120, across.width - SIDE - x);
  box(context, theme.surface, x, y - 4, width, 8);
  const part = Math.min(map.peak / map.limit, 1);
  box(context, part >= 1 ? theme.error : theme.series[0], x, y - 4, width * part, 8);
  frame(context, theme.muted, 0.75, x, y - 4, width, 8);
}

export function titleText(map: SpaceMap, axis: Axis, cursor: number): string {
  const parts = [`${bytesText(bytesAt(map, cursor))} now`];
  if (map.peakEvent >= 0)
    parts.push(`peak ${bytesText(map.peak)} at step ${grouped(axis.at(map.peakEvent))}`);
  if (map.worst > map.peak) parts.push(`${bytesText(map.worst)} in another block`);
  if (map.limit > 0) parts.push(`${percent(map.peak / map.limit)} of ${bytesText(map.limit)}`);
  return parts.join(" · ");
}

function percent(part: number): string {
  const value = part * 100;
  return `${value > 0 && value < 1 ? "< 1" : value.toFixed(0)} %`;
}
