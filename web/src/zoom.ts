/** The part of an axis that figures show. Figures with one axis show the same part of it. */

/** From, to, in units of the axis. */
export type Window = [number, number];

/** An axis that several figures share. */
export interface Zoom {
  /** Its name in the page. */
  axis: string;
  /** All of it. */
  whole: Window;
  log?: boolean;
  /** The shortest window that is useful: its length, or on a logarithmic axis its ratio. */
  least: number;
  /** A place on it as text. */
  shown: (at: number) => string;
}

type Step = 'in' | 'out' | 'earlier' | 'later';

/** By axis; an axis that is shown as a whole has none. */
const windows = new Map<string, Window>();
const listeners: ((axis: string) => void)[] = [];

export function windowOf(zoom: Zoom | undefined): Window | undefined {
  return zoom && windows.get(zoom.axis);
}

/** Shows a part of an axis in all its figures; `undefined` shows all of it. */
export function show(zoom: Zoom, wanted: Window | undefined): void {
  const window = wanted && fitted(zoom, wanted);
  if (window) windows.set(zoom.axis, window);
  else windows.delete(zoom.axis);
  for (const listener of listeners) listener(zoom.axis);
}

/** Shows all of every axis. */
export function showAll(): void {
  const axes = [...windows.keys()];
  windows.clear();
  for (const axis of axes) for (const listener of listeners) listener(axis);
}

export function isZoomed(): boolean {
  return windows.size > 0;
}

export function onZoom(listener: (axis: string) => void): void {
  listeners.push(listener);
}

/** A window within its axis and not too short; `undefined` if it is the whole axis. */
export function fitted(zoom: Zoom, wanted: Window): Window | undefined {
  const [first, last] = scaled(zoom, zoom.whole);
  const [a, b] = scaled(zoom, wanted);
  const least = Math.min(zoom.log ? Math.log(zoom.least) : zoom.least, last - first);
  const middle = (a + b) / 2;
  const length = Math.max(Math.abs(b - a), least);
  if (!Number.isFinite(middle) || length >= last - first) return undefined;
  const from = Math.min(Math.max(middle - length / 2, first), last - length);
  return unscaled(zoom, [from, from + length]);
}

/** The window after a step: half or twice as long, or moved by a third of its length. */
export function stepped(zoom: Zoom, now: Window | undefined, step: Step): Window {
  const [from, to] = scaled(zoom, now ?? zoom.whole);
  const length = to - from;
  const moved = (by: number): Window => unscaled(zoom, [from + by * length, to + by * length]);
  switch (step) {
    case 'in':
      return unscaled(zoom, [from + length / 4, to - length / 4]);
    case 'out':
      return unscaled(zoom, [from - length / 2, to + length / 2]);
    case 'earlier':
      return moved(-1 / 3);
    case 'later':
      return moved(1 / 3);
  }
}

function scaled({ log }: Zoom, [from, to]: Window): Window {
  return log ? [Math.log(from), Math.log(to)] : [from, to];
}

function unscaled({ log }: Zoom, [from, to]: Window): Window {
  return log ? [Math.exp(from), Math.exp(to)] : [from, to];
}

/** The points within a window, and one more at each end, so that lines reach its edges. */
export function within<T extends readonly [number, ...unknown[]]>(
  points: T[],
  [from, to]: Window,
): T[] {
  const isIn = (point: T | undefined) => !!point && from <= point[0] && point[0] <= to;
  const inside = points.filter(
    (point, n) => isIn(point) || isIn(points[n - 1]) || isIn(points[n + 1]),
  );
  if (inside.length > 0) return inside;
  // Both ends lie outside, and the line between them does not.
  const after = points.findIndex(([at]) => at > to);
  return after > 0 ? points.slice(after - 1, after + 1) : [];
}
