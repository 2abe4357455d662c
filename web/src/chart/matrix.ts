/** Shares by row and column, as cells; darker means larger. */

import { formatUnit } from '../format';
import { base, frame, GRID, tooltip } from './base';
import type { Option } from './echarts';
import type { Theme } from './theme';

export interface MatrixSpec {
  rows: string[];
  columns: string[];
  rowName: string;
  columnName: string;
  /** Row, column, share of 0..1. */
  cells: [number, number, number][];
}

/** Pixels for the names of the rows. */
const LEFT = 130;

type Api = {
  value: (n: number) => number;
  coord: (at: [number, number]) => [number, number];
};

export function matrix(spec: MatrixSpec, theme: Theme): Option {
  const axes = frame(
    { unit: '', name: spec.columnName, categories: spec.columns },
    { unit: '', name: spec.rowName, categories: spec.rows },
    { ...theme, width: theme.width - (LEFT - GRID.left) },
  );
  return {
    ...base(theme),
    ...axes,
    grid: { ...(axes.grid as object), left: LEFT },
    // The first row is at the top, as in a table.
    yAxis: {
      ...(axes.yAxis as object),
      inverse: true,
      splitLine: { show: false },
      nameLocation: 'start',
    },
    tooltip: tooltip(
      theme,
      (params) => {
        const [column = 0, row = 0, share = 0] = (params as { value: number[] }).value;
        return `${spec.rows[row]} → ${spec.columns[column]}\n${formatUnit(share, 'share')}`;
      },
      'item',
    ),
    series: [
      {
        type: 'custom',
        data: spec.cells.map(([row, column, share]) => [column, row, share]),
        encode: { x: 0, y: 1 },
        renderItem: (_: unknown, api: Api) => {
          const [column, row] = [api.value(0), api.value(1)];
          const [left, top] = api.coord([column - 0.5, row - 0.5]);
          const [right, bottom] = api.coord([column + 0.5, row + 0.5]);
          return {
            type: 'rect',
            shape: { x: left, y: top, width: right - left - 1, height: bottom - top - 1 },
            style: { fill: shade(api.value(2), theme) },
          };
        },
      },
    ],
  };
}

function shade(share: number, theme: Theme): string {
  const last = theme.heat.length - 1;
  return theme.heat[Math.max(0, Math.min(last, Math.round(share * last)))] ?? theme.ink;
}
