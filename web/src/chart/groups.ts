/** Bars in groups, with intervals, and beside each bar a mark for a value to compare it with. */

import { formatUnit, type Unit } from '../format';
import { type Axis, base, frame, tooltip } from './base';
import type { Option } from './echarts';
import { lineColour, type Theme } from './theme';

export interface GroupedBar {
  value: number;
  low: number | null;
  high: number | null;
  /** The value beside it. */
  mark: number | null;
}

export interface GroupsSpec {
  /** Its names are those of the groups. */
  x: Axis & { categories: string[] };
  y: Axis;
  unit: Unit;
  /** A bar in each group, or null if it is missing there. A hidden series keeps no room. */
  series: { name: string; style: number; bars: (GroupedBar | null)[] }[];
  /** The name and the style of marks; left out, there are none. */
  marks?: { name: string; style: number } | undefined;
}

/** The share of a group's room that its bars take, and the share of a bar's room that the bar takes beside a mark. */
const FILLED = 0.84;
const BESIDE_MARK = 0.68;
/** Pixels: half the length of the end of an interval, at most, and half the size of a mark. */
const END_MAX = 4;
const MARK_MIN = 3;
const MARK_MAX = 5;

type Api = {
  value: (n: number) => number;
  coord: (at: [number, number]) => [number, number];
};

export function groups(spec: GroupsSpec, theme: Theme): Option {
  const { series, marks } = spec;
  const places = series.map((_, place) => span(place, series.length));
  return {
    ...base(theme),
    ...frame(spec.x, { ...spec.y, top: top(spec) }, theme),
    tooltip: tooltip(theme, (params) => hover(params as Hover, spec), 'item'),
    series: [
      ...series.map(({ name, style, bars }, n) => ({
        type: 'custom',
        name,
        data: bars.flatMap((bar, group) =>
          bar ? [[group, bar.value, bar.low ?? NaN, bar.high ?? NaN]] : [],
        ),
        encode: { x: 0, y: [1, 2, 3] },
        itemStyle: { color: lineColour(theme, style) },
        clip: true,
        renderItem: (_: unknown, api: Api) => {
          const [from, to] = places[n] ?? [0, 0];
          return drawBar(api, from, marks ? from + BESIDE_MARK * (to - from) : to, {
            fill: lineColour(theme, style),
            stroke: theme.ink,
          });
        },
      })),
      ...(marks
        ? [
            {
              type: 'custom',
              name: marks.name,
              data: series.flatMap(({ bars }, n) =>
                bars.flatMap((bar, group) =>
                  bar?.mark == null ? [] : [[group, bar.mark, places[n]?.[0], places[n]?.[1]]],
                ),
              ),
              encode: { x: 0, y: 1 },
              itemStyle: { color: lineColour(theme, marks.style) },
              z: 4,
              renderItem: (_: unknown, api: Api) =>
                drawMark(api, { fill: lineColour(theme, marks.style), stroke: theme.ground }),
            },
          ]
        : []),
    ],
  };
}

/** Where the bars of a series begin and end in each group, of which the middle is 0. */
export function span(place: number, count: number): [number, number] {
  const wide = FILLED / Math.max(1, count);
  const from = place * wide - FILLED / 2;
  return [from, from + wide];
}

interface Look {
  fill: string;
  stroke: string;
}

function drawBar(api: Api, from: number, to: number, { fill, stroke }: Look): Option {
  const [group, value, low, high] = [0, 1, 2, 3].map((n) => api.value(n)) as [
    number,
    number,
    number,
    number,
  ];
  const [left, end] = api.coord([group + from, value]);
  const [right, zero] = api.coord([group + to, 0]);
  const wide = right - left;
  // A gap between bars if there is room.
  const width = Math.max(1, wide > 5 ? wide - 1.5 : wide - 0.5);
  const y = Math.min(end, zero);
  const children: Option[] = [
    { type: 'rect', shape: { x: left, y, width, height: Math.abs(zero - end) }, style: { fill } },
  ];
  if (Number.isFinite(low) && Number.isFinite(high)) {
    const [, bottom] = api.coord([group, low]);
    const [, above] = api.coord([group, high]);
    const x = left + width / 2;
    const half = Math.min(END_MAX, width / 2);
    const line = (x1: number, y1: number, x2: number, y2: number) => ({
      type: 'line',
      shape: { x1, y1, x2, y2 },
      style: { stroke, lineWidth: 1.25 },
    });
    children.push(
      line(x, bottom, x, above),
      line(x - half, bottom, x + half, bottom),
      line(x - half, above, x + half, above),
    );
  }
  return { type: 'group', children };
}

/** A diamond right of the bar. */
function drawMark(api: Api, { fill, stroke }: Look): Option {
  const [group, value, from, to] = [0, 1, 2, 3].map((n) => api.value(n)) as [
    number,
    number,
    number,
    number,
  ];
  const [left, y] = api.coord([group + from + BESIDE_MARK * (to - from), value]);
  const [right] = api.coord([group + to, value]);
  const half = Math.min(MARK_MAX, Math.max(MARK_MIN, (right - left) / 2));
  const x = (left + right) / 2;
  const points = [
    [x, y - half],
    [x + half, y],
    [x, y + half],
    [x - half, y],
  ];
  return { type: 'polygon', shape: { points }, style: { fill, stroke, lineWidth: 0.75 } };
}

/** The largest value, interval or mark. */
function top(spec: GroupsSpec): number {
  const all = spec.series.flatMap(({ bars }) =>
    bars.flatMap((bar) => (bar ? [bar.value, bar.high ?? 0, bar.mark ?? 0] : [])),
  );
  return all.reduce((most, value) => Math.max(most, value), 0);
}

interface Hover {
  seriesName?: string;
  value?: number[];
}

function hover({ seriesName = '', value = [] }: Hover, spec: GroupsSpec): string {
  const [group = 0, mean = 0, low = NaN, high = NaN] = value;
  const place = `${spec.x.categories[group] ?? ''}\n${seriesName}  ${formatUnit(mean, spec.unit)}`;
  const isMark = seriesName === spec.marks?.name;
  return isMark || !Number.isFinite(low)
    ? place
    : `${place}\n${formatUnit(low, spec.unit)} to ${formatUnit(high, spec.unit)}`;
}
