/** Polygons: an axis for each input, a shape for each run. */

import { formatUnit, type Unit } from '../format';
import { base, tooltip } from './base';
import type { Option } from './echarts';
import { lineColour, lineDash, type Theme } from './theme';

export interface RadarSpec {
  axes: string[];
  /** The end of all axes. */
  max: number;
  unit: Unit;
  shapes: { name: string; style: number; values: (number | null)[] }[];
}

export function radar(spec: RadarSpec, theme: Theme): Option {
  return {
    ...base(theme),
    grid: undefined,
    radar: {
      indicator: spec.axes.map((name) => ({ name, max: spec.max })),
      radius: '70%',
      center: ['50%', '52%'],
      splitNumber: 4,
      axisName: { color: theme.ink, fontSize: 12, overflow: 'truncate', width: 150 },
      splitLine: { lineStyle: { color: theme.rule } },
      axisLine: { lineStyle: { color: theme.rule } },
      splitArea: { show: false },
    },
    tooltip: tooltip(
      theme,
      (params) => {
        const { name, value } = params as { name: string; value: number[] };
        const lines = spec.axes.map(
          (axis, n) => `${axis}  ${formatUnit(value[n] ?? 0, spec.unit)}`,
        );
        return [name, ...lines].join('\n');
      },
      'item',
    ),
    series: [
      {
        type: 'radar',
        symbolSize: 6,
        data: spec.shapes.map((shape) => ({
          name: shape.name,
          value: shape.values.map((value) => value ?? 0),
          lineStyle: {
            color: lineColour(theme, shape.style),
            width: 2,
            type: lineDash(shape.style),
          },
          itemStyle: { color: lineColour(theme, shape.style) },
          areaStyle: { color: lineColour(theme, shape.style), opacity: 0.08 },
        })),
        emphasis: { disabled: true },
      },
    ],
  };
}
