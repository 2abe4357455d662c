/** Lines over a common axis, with bands from min to max, phases and limits. */

import { formatUnit, type Unit } from '../format';
import { within } from '../zoom';
import { type Axis, base, frame, roundEnds, tooltip } from './base';
import type { Option } from './echarts';
import { highlights, type Mark, phases, shownMarks, type Vertical, verticals } from './labels';
import { lineColour, lineDash, type Theme } from './theme';

export interface Line {
  name: string;
  unit: Unit;
  /** Points; a null breaks the line. */
  points: [number, number | null][];
  /** Min and max at the same positions, drawn as a band. */
  band?: [number, number | null, number | null][] | undefined;
  /** The index of its colour and dashes; its position in the list if left out. */
  style?: number;
  /** Keeps its value until the next point. */
  step?: boolean;
  /** Shows its points on the line. */
  marked?: boolean;
  /** Points without a line between them. */
  dots?: boolean;
  /** One of many lines in the background, without tooltips. */
  thin?: boolean;
  /** Intervals at the positions of points. */
  intervals?: [number, number | null, number | null][];
}

export interface LinesSpec {
  x: Axis;
  y: Axis;
  lines: Line[];
  /** Named ranges of the horizontal axis. */
  marks?: Mark[];
  /** Ranges of it that are highlighted: pauses of arrivals, faults. */
  highlights?: Mark[];
  /** Horizontal lines with a name. */
  limits?: { at: number; name: string }[];
  /** Vertical ones. */
  verticals?: Vertical[];
}

type Api = {
  value: (n: number) => number;
  coord: (at: [number, number]) => [number, number];
};

export function lines(whole: LinesSpec, theme: Theme): Option {
  const spec = cut(whole);
  const values = drawn(spec);
  const ends = range(spec, values);
  const series: Option[] = [];
  spec.lines.forEach((line, place) => {
    const style = line.style ?? place;
    const colour = lineColour(theme, style);
    if (line.band?.some(([, low, high]) => low !== high)) series.push(band(line, colour));
    if (line.intervals) series.push(intervals(line, colour));
    series.push({
      type: line.dots ? 'scatter' : 'line',
      name: line.name,
      data: onLog(line.points, spec.y.log),
      symbol: line.dots ? MARKS[style % MARKS.length] : 'circle',
      symbolSize: line.dots ? 7 : 5,
      showSymbol: line.marked === true || line.points.length === 1,
      ...(line.step ? { step: 'end' } : {}),
      lineStyle: line.thin
        ? { width: 1, color: colour, opacity: 0.45 }
        : { width: 1.75, color: colour, type: lineDash(style) },
      silent: line.thin === true,
      itemStyle: { color: colour, opacity: 1 },
      emphasis: { disabled: true },
      z: 3,
    });
  });
  series.push({
    type: 'line',
    data: [],
    silent: true,
    markLine: limits(spec, middle(spec, values, ends), theme),
  });
  if (spec.marks?.length) series.push(phases(spec.marks, theme));
  const hasLabels = [spec.marks, spec.verticals].some((all) => all && all.length > 0);
  const bands = spec.highlights ?? [];
  if (bands.length > 0) series.push(highlights(bands, theme, hasLabels));
  if (spec.verticals?.length) series.push(verticals(spec.verticals, theme));
  const rows = Number(hasLabels) + Number(bands.length > 0);
  return {
    ...base(theme),
    ...frame(spec.x, { ...spec.y, ...ends, top: top(values) }, theme, rows),
    tooltip: tooltip(
      theme,
      (params) => hover(params as Hover[], spec),
      spec.x.categories ? 'item' : 'axis',
    ),
    series,
  };
}

/** Only what the axis shows, so that the vertical axis fits it. */
function cut(spec: LinesSpec): LinesSpec {
  const { min, max } = spec.x;
  if (min === undefined || max === undefined) return spec;
  return {
    ...spec,
    lines: spec.lines.map((line) => ({
      ...line,
      points: within(line.points, [min, max]),
      band: line.band && within(line.band, [min, max]),
      ...(line.intervals ? { intervals: within(line.intervals, [min, max]) } : {}),
    })),
    marks: shownMarks(spec.marks, spec.x),
    highlights: shownMarks(spec.highlights, spec.x),
    verticals: (spec.verticals ?? []).filter(({ at }) => min <= at && at <= max),
  };
}

/** The values that are drawn, with those of bands and intervals. */
function drawn(spec: LinesSpec): number[] {
  return spec.lines.flatMap((line) => [
    ...line.points.map((point) => point[1] ?? 0),
    ...(line.band ?? []).flatMap(([, low, high]) => [low ?? 0, high ?? 0]),
    ...(line.intervals ?? []).flatMap(([, low, high]) => [low ?? 0, high ?? 0]),
  ]);
}

interface Ends {
  min?: number | undefined;
  max?: number | undefined;
}

/** A logarithmic axis ends at round numbers around what is drawn. */
function range(spec: LinesSpec, values: number[]): Ends {
  if (!spec.y.log) return {};
  const positive = values.filter((value) => value > 0);
  const low = positive.reduce((least, value) => Math.min(least, value), Infinity);
  const high = top(positive);
  if (high === 0) return {};
  const [from, to] = roundEnds(low, high);
  return { min: spec.y.min ?? from, max: spec.y.max ?? to };
}

function top(values: number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

/** About the middle of the vertical axis. */
function middle(spec: LinesSpec, values: number[], { min, max }: Ends): number {
  if (min !== undefined && max !== undefined) return Math.sqrt(min * max);
  const bottom = values.reduce((least, value) => Math.min(least, value), 0);
  return ((spec.y.min ?? bottom) + (spec.y.max ?? top(values))) / 2;
}

const MARKS = ['circle', 'diamond', 'triangle', 'rect', 'pin', 'arrow'];

/** A logarithmic axis cannot show values of zero and below. */
function onLog<T extends [number, number | null]>(points: T[], log: boolean | undefined): T[] {
  return log
    ? points.map((at) => (at[1] !== null && at[1] <= 0 ? ([at[0], null] as T) : at))
    : points;
}

function band(line: Line, colour: string): Option {
  const points = (line.band ?? []).filter(([, low, high]) => low !== null && high !== null);
  return {
    type: 'custom',
    name: `${line.name}, min to max`,
    silent: true,
    // One shape: its outline forth and back.
    data: [[0]],
    renderItem: (params: { dataIndex: number }, api: Api) => {
      if (params.dataIndex > 0) return;
      const up = points.map(([x, , high]) => api.coord([x, high as number]));
      const down = points.map(([x, low]) => api.coord([x, low as number])).reverse();
      return {
        type: 'polygon',
        shape: { points: [...up, ...down] },
        style: { fill: colour, opacity: 0.18 },
      };
    },
    clip: true,
    z: 2,
  };
}

function intervals(line: Line, colour: string): Option {
  return {
    type: 'custom',
    name: `${line.name}, interval`,
    silent: true,
    data: (line.intervals ?? []).filter(([, low, high]) => low !== null && high !== null),
    encode: { x: 0, y: [1, 2] },
    renderItem: (_: unknown, api: Api) => {
      const [x, low, high] = [api.value(0), api.value(1), api.value(2)];
      const [left, bottom] = api.coord([x, low]);
      const [, top] = api.coord([x, high]);
      const stroke = { stroke: colour, lineWidth: 1.5 };
      const bar = (x1: number, y1: number, x2: number, y2: number) => ({
        type: 'line',
        shape: { x1, y1, x2, y2 },
        style: stroke,
      });
      return {
        type: 'group',
        children: [
          bar(left, bottom, left, top),
          bar(left - 4, bottom, left + 4, bottom),
          bar(left - 4, top, left + 4, top),
        ],
      };
    },
    z: 4,
  };
}

/** Horizontal lines, whose names stand above them in the lower half of the plot and below them in the upper one. */
function limits(spec: LinesSpec, half: number, theme: Theme): Option {
  return {
    silent: true,
    symbol: 'none',
    lineStyle: { color: theme.bad, width: 1, type: [4, 3] },
    data: (spec.limits ?? []).map(({ at, name }) => ({
      yAxis: at,
      label: {
        formatter: () => name,
        color: theme.bad,
        fontSize: 11,
        // Within the plot: above it are the names of phases, and below it those of ticks.
        position: at > half ? 'insideEndBottom' : 'insideEndTop',
        // Lines do not cross the name.
        ...(name ? { backgroundColor: theme.ground, padding: [1, 3] } : {}),
      },
    })),
  };
}

export interface Hover {
  seriesName?: string;
  marker?: string;
  value?: unknown;
  axisValue?: number;
}

function hover(params: Hover[], spec: LinesSpec): string {
  const points = Array.isArray(params) ? params : [params];
  const units = new Map(
    spec.lines.filter((line) => !line.thin).map((line) => [line.name, line.unit]),
  );
  const lines = points.flatMap((point) => {
    const unit = units.get(point.seriesName ?? '');
    const value = (point.value as (number | null)[] | undefined)?.[1];
    if (unit === undefined || value === null || value === undefined) return [];
    return [`${point.marker ?? ''}${point.seriesName}  ${formatUnit(value, unit)}`];
  });
  const at = (points[0]?.value as number[] | undefined)?.[0];
  if (at === undefined || lines.length === 0) return '';
  const place = spec.x.categories?.[at] ?? formatUnit(at, spec.x.unit);
  return [place, ...lines].join('\n');
}
