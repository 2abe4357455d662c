/** What charts name along their horizontal axis: phases, highlighted times and single moments, with labels above the plot. */

import { FONT, LABELS } from './base';
import type { Option } from './echarts';
import { lineColour, type Theme } from './theme';

/** A named range of the horizontal axis. */
export interface Mark {
  from: number;
  to: number;
  name: string;
  /** Its colour, if it stands out: something bad, or something that was done. */
  tone?: 'bad' | 'done';
}

/** A named place on it. */
export interface Vertical {
  at: number;
  name: string;
}

/** The parts of ranges that an axis shows. */
export function shownMarks(
  marks: Mark[] = [],
  { min = -Infinity, max = Infinity }: { min?: number | undefined; max?: number | undefined },
): Mark[] {
  return marks
    .filter((mark) => mark.from < max && mark.to > min)
    .map((mark) => ({ ...mark, from: Math.max(mark.from, min), to: Math.min(mark.to, max) }));
}

/** Pixels between two labels, and from the labels to the plot. */
const GAP = 8;
const RISE = 4;
/** A narrower range has no label. */
const LABEL_MIN = 20;
const SIZE = 11;
/** The colour of ranges in which something was done: pauses, faults. */
const DONE = 4;

type Api = { coord: (at: [number, number]) => [number, number] };
type Params = { coordSys: { x: number; y: number; width: number; height: number } };

/** About as wide as the text is drawn: a digit is 0.6 of the size, an average letter less. */
export function textWidth(text: string, size = SIZE): number {
  return 0.6 * size * text.length + 2;
}

/**
 * The left edges of labels side by side, each as near to its place as the others let it, all between two ends.
 * Labels that do not fit are left out, the last first. Places must ascend.
 */
export function spread(
  labels: { at: number; width: number }[],
  from: number,
  to: number,
): number[] {
  const widths = labels.map(({ width }) => width);
  const total = (n: number) =>
    widths.slice(0, n).reduce((sum, width) => sum + width, 0) + GAP * Math.max(0, n - 1);
  let fitting = labels.length;
  while (fitting > 0 && total(fitting) > to - from) fitting -= 1;
  // Without the widths before it, an edge may not be left of the one before: isotonic regression.
  const before = (n: number) => total(n) + (n > 0 ? GAP : 0);
  const pools: { sum: number; count: number }[] = [];
  for (const [n, { at, width }] of labels.slice(0, fitting).entries()) {
    let pool = { sum: at - width / 2 - before(n), count: 1 };
    for (let last = pools.at(-1); last; last = pools.at(-1)) {
      if (last.sum / last.count <= pool.sum / pool.count) break;
      pool = { sum: pool.sum + last.sum, count: pool.count + last.count };
      pools.pop();
    }
    pools.push(pool);
  }
  const last = to - total(fitting);
  return pools
    .flatMap(({ sum, count }) => Array.from({ length: count }, () => sum / count))
    .map((edge, n) => Math.min(Math.max(edge, from), last) + before(n));
}

/** Shapes that are drawn as one item. */
function shapes(
  at: number,
  z: number,
  draw: (x: (at: number) => number, plot: Params['coordSys']) => Option[],
): Option {
  return {
    type: 'custom',
    silent: true,
    data: [[at]],
    encode: { x: 0 },
    z,
    renderItem: (params: Params, api: Api) => ({
      type: 'group',
      children: draw((to) => api.coord([to, NaN])[0], params.coordSys),
    }),
  };
}

function text(words: string, x: number, y: number, fill: string, width?: number): Option {
  const cut = width === undefined ? {} : { width, overflow: 'truncate', ellipsis: '…' };
  const font = `${SIZE}px ${FONT}`;
  return {
    type: 'text',
    style: { text: words, x, y, fill, font, verticalAlign: 'bottom', ...cut },
  };
}

/** Ranges as a background, shaded in turn unless that has a meaning, with their names above as far as there is room. */
export function phases(marks: Mark[], theme: Theme, isShaded = true): Option {
  return shapes(marks[0]?.from ?? 0, -1, (x, plot) =>
    marks.flatMap(({ from, to, name }, n) => {
      const [left, width] = [x(from), x(to) - x(from)];
      const shape = { x: left, y: plot.y, width, height: plot.height };
      const at = Math.round(left) + 0.5;
      const edge = { x1: at, x2: at, y1: plot.y - RISE - SIZE, y2: plot.y };
      return [
        ...(isShaded && n % 2 === 0 ? [{ type: 'rect', shape, style: { fill: theme.shade } }] : []),
        ...(n > 0 ? [{ type: 'line', shape: edge, style: { stroke: theme.rule } }] : []),
        ...(width >= LABEL_MIN
          ? [text(name, left + 3, plot.y - RISE, theme.faint, width - 6)]
          : []),
      ];
    }),
  );
}

/**
 * Ranges that stand out. Their names stand above the plot, and above those of phases if there are some: within it, they
 * would be cut to narrow ranges, and lines would cross them.
 */
export function highlights(marks: Mark[], theme: Theme, areAbovePhases: boolean): Option {
  const ordered = [...marks].sort((a, b) => a.from + a.to - b.from - b.to);
  return shapes(ordered[0]?.from ?? 0, 1, (x, plot) => {
    const labels = ordered.map(({ from, to, name }) => ({
      at: (x(from) + x(to)) / 2,
      width: Math.min(textWidth(name), plot.width),
    }));
    const edges = spread(labels, plot.x, plot.x + plot.width);
    const bottom = plot.y - RISE - (areAbovePhases ? LABELS : 0);
    return ordered.flatMap(({ from, to, name, tone }, n) => {
      const shape = { x: x(from), y: plot.y, width: x(to) - x(from), height: plot.height };
      const colour = tone === 'done' ? lineColour(theme, DONE) : theme.bad;
      const style = { fill: colour, stroke: colour, fillOpacity: 0.12, strokeOpacity: 0.4 };
      const edge = edges[n];
      return [
        { type: 'rect', shape, style },
        ...(edge === undefined ? [] : [text(name, edge, bottom, colour, labels[n]?.width)]),
      ];
    });
  });
}

/** Dashed lines, with their names side by side above the plot. */
export function verticals(all: Vertical[], theme: Theme): Option {
  const ordered = [...all].sort((a, b) => a.at - b.at);
  return shapes(ordered[0]?.at ?? 0, 5, (x, plot) => {
    const labels = ordered.map(({ at, name }) => ({ at: x(at), width: textWidth(name) }));
    const edges = spread(labels, plot.x, plot.x + plot.width);
    return ordered.flatMap(({ name }, n) => {
      // In the middle of a pixel a thin line has its full colour.
      const at = Math.round(labels[n]?.at ?? 0) + 0.5;
      const shape = { x1: at, x2: at, y1: plot.y - 2, y2: plot.y + plot.height };
      const style = { stroke: theme.bad, lineDash: [4, 3] };
      const edge = edges[n];
      return [
        { type: 'line', shape, style },
        ...(edge === undefined ? [] : [text(name, edge, plot.y - RISE, theme.bad)]),
      ];
    });
  });
}
