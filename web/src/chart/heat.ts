/** Counts by time and latency, as rectangles on the axes of lines. */

import { count, duration, span } from '../format';
import { type Axis, base, frame, tooltip } from './base';
import type { Option } from './echarts';
import { highlights, type Mark, phases, shownMarks } from './labels';
import type { Theme } from './theme';

export interface HeatSpec {
  x: Axis;
  /** Left, right, lower, upper edge, count. */
  cells: [number, number, number, number, number][];
  y: Axis;
  /** Named ranges of the horizontal axis. */
  marks?: Mark[];
  /** Ranges of it that stand out. */
  highlights?: Mark[];
}

type Api = {
  value: (n: number) => number;
  coord: (at: [number, number]) => [number, number];
  style: (s: Option) => Option;
};

export function heat(spec: HeatSpec, theme: Theme): Option {
  const most = Math.max(1, ...spec.cells.map((cell) => cell[4]));
  const marks = shownMarks(spec.marks, spec.x);
  const bands = shownMarks(spec.highlights, spec.x);
  return {
    ...base(theme),
    ...frame(spec.x, spec.y, theme, Number(marks.length > 0) + Number(bands.length > 0)),
    tooltip: tooltip(theme, (params) => hover(params as { value: number[] }), 'item'),
    series: [
      {
        type: 'custom',
        data: spec.cells.filter(
          ([from, to]) => from < (spec.x.max ?? Infinity) && to > (spec.x.min ?? -Infinity),
        ),
        encode: { x: [0, 1], y: [2, 3] },
        clip: true,
        // Draw thousands of cells at once, not progressively.
        progressive: 0,
        renderItem: (_: unknown, api: Api) => {
          const [left, top] = api.coord([api.value(0), api.value(3)]);
          const [right, bottom] = api.coord([api.value(1), api.value(2)]);
          return {
            type: 'rect',
            // Half a pixel more, so that neighbours touch.
            shape: { x: left, y: top, width: right - left + 0.5, height: bottom - top + 0.5 },
            style: { fill: shade(api.value(4), most, theme) },
          };
        },
      },
      ...(marks.length > 0 ? [phases(marks, theme, false)] : []),
      ...(bands.length > 0 ? [highlights(bands, theme, marks.length > 0)] : []),
    ],
  };
}

/** Counts span decades, so the colour scale is logarithmic. */
export function shade(n: number, most: number, theme: Theme): string {
  const last = theme.heat.length - 1;
  const place = most > 1 ? (Math.log(n) / Math.log(most)) * last : last;
  return theme.heat[Math.max(0, Math.min(last, Math.round(place)))] ?? theme.ink;
}

function hover(params: { value: number[] }): string {
  const [from = 0, to = 0, low = 0, high = 0, n = 0] = params.value;
  return `${span(from)} to ${span(to)}\n${duration(low)} to ${duration(high)}\n${count(n)} operations`;
}
