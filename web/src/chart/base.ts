/** Common parts of charts with two axes: margins, axes, tooltips. */

import { clock, tick, formatUnit, type Unit } from '../format';
import type { Option } from './echarts';
import type { Theme } from './theme';

/** Margins in pixels, the same for all figures over time, so that their axes are aligned. */
export const GRID = { left: 66, right: 18, top: 28, bottom: 44 };

export interface Axis {
  unit: Unit;
  name: string;
  log?: boolean;
  /** The axis need not begin at zero. */
  free?: boolean;
  /** Ticks at integers only, as those of counts are. */
  whole?: boolean;
  min?: number | undefined;
  max?: number | undefined;
  /** The largest value, if the ticks depend on it. */
  top?: number | undefined;
  /** Names instead of numbers. */
  categories?: string[] | undefined;
  /** The names are in an order that a reader knows, as times are: some may be left out. */
  ordered?: boolean;
}

/** Pixels above a plot for a row of labels of what is named there. */
export const LABELS = 15;
/** The widest name of a category, and the angle at which names are drawn that have no room side by side. */
const NAME_WIDTH = 120;
const ANGLED_WIDTH = 170;
const ANGLE = 40;
/** Pixels between two names. */
const GAP = 8;

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

/** Both axes and their margins, with room for this number of rows of labels above the plot. */
export function frame(x: Axis, y: Axis, theme: Theme, rows = 0): Option {
  const above = rows * LABELS;
  const below = slope(x, theme);
  const [xAxis, yAxis] = [axis(x, theme, true), axis(y, theme, false)];
  return {
    grid: { ...GRID, top: GRID.top + above, bottom: GRID.bottom + below },
    xAxis: { ...xAxis, nameGap: (xAxis.nameGap as number) + below },
    yAxis: { ...yAxis, nameGap: (yAxis.nameGap as number) + above },
  };
}

/** Pixels that each name has along a horizontal axis. */
function room(categories: string[], theme: Theme): number {
  return (theme.width - GRID.left - GRID.right) / Math.max(1, categories.length);
}

/** Pixels that names need below the axis if they are drawn at an angle; 0 if they have room side by side. */
function slope({ categories, ordered }: Axis, theme: Theme): number {
  if (!categories || ordered) return 0;
  const widest = Math.min(NAME_WIDTH, 7 * Math.max(0, ...categories.map((name) => name.length)));
  const each = room(categories, theme);
  // Of more names than lines of text fit, some are left out.
  if (widest + GAP <= each || each < 16) return 0;
  const long = Math.min(ANGLED_WIDTH, 7 * Math.max(...categories.map((name) => name.length)));
  return Math.round(Math.sin((ANGLE * Math.PI) / 180) * long);
}

export function axis(spec: Axis, theme: Theme, isX: boolean): Option {
  const ticks: Option = { show: isX, lineStyle: { color: theme.faint } };
  const common: Option = {
    name: spec.name,
    nameTextStyle: { color: theme.faint, fontSize: 12, align: isX ? 'center' : 'left' },
    nameLocation: isX ? 'middle' : 'end',
    nameGap: isX ? 27 : 12,
    // Axes are at the edges, wherever zero is.
    axisLine: { show: isX, onZero: false, lineStyle: { color: theme.faint } },
    axisTick: ticks,
    splitLine: { show: !isX, lineStyle: { color: theme.rule } },
    min: spec.min,
    max: spec.max,
  };
  const label: Option = { color: theme.faint, fontSize: 12, hideOverlap: true };
  if (spec.categories) {
    // Positions on a number line, which points, bars and intervals share.
    const { categories } = spec;
    return {
      ...common,
      type: 'value',
      min: -0.5,
      max: categories.length - 0.5,
      axisTick: { show: false },
      axisLabel: {
        ...label,
        customValues: categories.map((_, place) => place),
        width:
          isX && !spec.ordered
            ? Math.max(NAME_WIDTH, Math.floor(room(categories, theme)) - GAP)
            : NAME_WIDTH,
        ...(isX && slope(spec, theme) > 0 ? { rotate: ANGLE, width: ANGLED_WIDTH } : {}),
        overflow: 'truncate',
        formatter: (place: number) => categories[place] ?? '',
      },
    };
  }
  const bytesStep = spec.unit.startsWith('B') ? binaryStep(spec.top ?? 0) : undefined;
  const step = isX && spec.unit === 's' ? timeStep(spec) : undefined;
  const isWhole = spec.whole || spec.unit === 'count';
  const marks = spec.log ? logMarks(spec) : undefined;
  // The ends of an axis are not round numbers, and get no label.
  const isRound = (value: number) =>
    (!step || value % step === 0) &&
    (!isWhole || Number.isInteger(value)) &&
    (!spec.log ||
      marks !== undefined ||
      Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-6);
  return {
    ...common,
    type: spec.log ? 'log' : 'value',
    ...(step ? { interval: step } : {}),
    ...(isWhole ? { minInterval: 1 } : {}),
    ...(spec.free ? { scale: true } : {}),
    ...(bytesStep
      ? { interval: bytesStep, max: bytesStep * Math.ceil((spec.top ?? 0) / bytesStep) }
      : {}),
    ...(marks ? { axisTick: { ...ticks, customValues: marks } } : {}),
    axisLabel: {
      ...label,
      ...(marks ? { customValues: marks } : {}),
      // The first label stays clear of those of the other axis, and the last within the figure.
      ...(isX && spec.free ? { alignMinLabel: 'left', alignMaxLabel: 'right' } : {}),
      formatter: (value: number) => (isRound(value) ? tick(value, spec.unit) : ''),
    },
    axisPointer: {
      label: {
        formatter: (at: { value: number }) =>
          spec.unit === 's' ? clock(at.value) : formatUnit(at.value, spec.unit),
      },
    },
  };
}

/** Ticks of a time axis are at whole seconds, minutes and hours. */
function timeStep(spec: Axis): number | undefined {
  if (spec.max === undefined || spec.min === undefined) return undefined;
  const wanted = (spec.max - spec.min) / 8;
  const steps = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400,
  ];
  return steps.find((step) => step >= wanted) ?? Math.ceil(wanted / 86400) * 86400;
}

/** A logarithmic axis shorter than two decades needs more ticks than powers of ten. */
export function logMarks(spec: Pick<Axis, 'min' | 'max'>): number[] | undefined {
  const { min, max } = spec;
  if (min === undefined || max === undefined || min <= 0 || max >= 100 * min) return undefined;
  const from = Math.floor(Math.log10(min));
  const isWithin = (mark: number) => min <= mark && mark <= max;
  const powers = [0, 1, 2].map((more) => 10 ** (from + more));
  const marks = powers.flatMap((power) => [1, 2, 5].map((times) => times * power));
  const shown = marks.filter(isWithin);
  if (shown.length > 2) return shown;
  // Shorter than a decade: evenly apart, by a round step.
  const wanted = (max - min) / 4;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = power * ([1, 2, 5].find((times) => times * power >= wanted) ?? 10);
  const first = Math.ceil(min / step);
  const all = Array.from({ length: 12 }, (_, n) => Number(((first + n) * step).toPrecision(12)));
  return all.filter(isWithin);
}

/** The numbers 1, 2 and 5 times a power of ten around a range. */
export function roundEnds(low: number, high: number): [number, number] {
  const ends = (value: number) => {
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 5, 10].map((times) => Number((times * power).toPrecision(12)));
  };
  const from =
    ends(low)
      .filter((end) => end <= low * (1 + 1e-9))
      .at(-1) ?? low;
  const to = ends(high).find((end) => end >= high * (1 - 1e-9)) ?? high;
  return from < to ? [from, to] : [from / 2, to * 2];
}

/** Ticks of bytes are at powers of two: at most five steps. */
function binaryStep(top: number): number | undefined {
  return top > 0 ? 2 ** Math.ceil(Math.log2(top / 5)) : undefined;
}

export function tooltip(
  theme: Theme,
  formatter: (params: never) => string,
  trigger = 'axis',
): Option {
  return {
    trigger,
    // Drawn into the figure: names are never parsed as markup.
    renderMode: 'richText',
    confine: true,
    transitionDuration: 0,
    backgroundColor: theme.ground,
    borderColor: theme.rule,
    textStyle: { color: theme.ink, fontSize: 12, fontFamily: FONT },
    axisPointer: { type: 'line', lineStyle: { color: theme.faint } },
    formatter,
  };
}

export function base(theme: Theme): Option {
  return {
    animation: false,
    backgroundColor: 'transparent',
    textStyle: { fontFamily: FONT, color: theme.ink },
    grid: GRID,
  };
}
