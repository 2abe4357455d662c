/** Bars with individual edges: histograms, and effects with intervals. */

import { formatUnit, type Unit } from '../format';
import { type Axis, base, frame, tooltip } from './base';
import type { Option } from './echarts';
import { type Vertical, verticals } from './labels';
import { lineColour, lineDash, type Theme } from './theme';

export interface BarsSpec {
  x: Axis;
  y: Axis;
  /** From, to, height. */
  bars: [number, number, number][];
  unit: Unit;
  /** The name of each bar, if the axis is not numeric. */
  names?: string[];
  /** The expected height of each bar, as a line through their centres. */
  over?: { name: string; style: number; values: number[] }[];
  /** Vertical lines with a name. */
  verticals?: Vertical[];
}

type Api = {
  value: (n: number) => number;
  coord: (at: [number, number]) => [number, number];
};

/** Bars between edges on the horizontal axis. */
export function bars(spec: BarsSpec, theme: Theme): Option {
  const colour = lineColour(theme, 0);
  return {
    ...base(theme),
    ...frame(spec.x, spec.y, theme, spec.verticals?.length ? 1 : 0),
    tooltip: tooltip(
      theme,
      (params) => {
        const { value, dataIndex } = params as { value: number[]; dataIndex: number };
        const [from = 0, to = 0, n = 0] = value;
        const stretch = () => `${formatUnit(from, spec.x.unit)} to ${formatUnit(to, spec.x.unit)}`;
        return `${spec.names?.[dataIndex] ?? stretch()}\n${formatUnit(n, spec.unit)}`;
      },
      'item',
    ),
    series: [
      {
        type: 'custom',
        data: spec.bars,
        encode: { x: [0, 1], y: 2 },
        clip: true,
        renderItem: (_: unknown, api: Api) => {
          const low = spec.y.log ? (spec.y.min ?? 0.5) : 0;
          const [left, top] = api.coord([api.value(0), api.value(2)]);
          const [right, bottom] = api.coord([api.value(1), low]);
          // A gap between bars if there is room, else none.
          const wide = right - left;
          const width = wide > 3 ? wide - 1 : wide + 0.5;
          return {
            type: 'rect',
            shape: { x: left, y: top, width, height: bottom - top },
            style: { fill: colour },
          };
        },
      },
      ...(spec.over ?? []).map((line) => ({
        type: 'line',
        name: line.name,
        data: line.values.map((value, n) => {
          const [from = 0, to = 0] = spec.bars[n] ?? [];
          return [(from + to) / 2, value];
        }),
        showSymbol: spec.bars.length === 1,
        silent: true,
        lineStyle: {
          width: 1.75,
          color: lineColour(theme, line.style),
          type: lineDash(line.style),
        },
        itemStyle: { color: lineColour(theme, line.style) },
        emphasis: { disabled: true },
        z: 3,
      })),
      ...(spec.verticals?.length ? [verticals(spec.verticals, theme)] : []),
    ],
  };
}
