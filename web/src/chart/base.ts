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
  /** Ticks at integers only. */
  whole?: boolean;
  min?: number | undefined;
  max?: number | undefined;
  /** The largest value, if the ticks depend on it. */
  top?: number | undefined;
  /** Names instead of numbers. */
  categories?: string[] | undefined;
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

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
        width: 120,
        overflow: 'truncate',
        formatter: (place: number) => categories[place] ?? '',
      },
    };
  }
  const bytesStep = spec.unit.startsWith('B') ? binaryStep(spec.top ?? 0) : undefined;
  const step = isX && spec.unit === 's' ? timeStep(spec) : undefined;
  const marks = spec.log ? logMarks(spec) : undefined;
  // The ends of an axis are not round numbers, and get no label.
  const isRound = (value: number) =>
    (!step || value % step === 0) &&
    (!spec.log ||
      marks !== undefined ||
      Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-6);
  return {
    ...common,
    type: spec.log ? 'log' : 'value',
    ...(step ? { interval: step } : {}),
    ...(spec.whole ? { minInterval: 1 } : {}),
    ...(spec.free ? { scale: true } : {}),
    ...(bytesStep
      ? { interval: bytesStep, max: bytesStep * Math.ceil((spec.top ?? 0) / bytesStep) }
      : {}),
    ...(marks ? { axisTick: { ...ticks, customValues: marks } } : {}),
    axisLabel: {
      ...label,
      ...(marks ? { customValues: marks } : {}),
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
function logMarks(spec: Axis): number[] | undefined {
  const { min, max } = spec;
  if (min === undefined || max === undefined || min <= 0 || max >= 100 * min) return undefined;
  const from = Math.floor(Math.log10(min));
  const powers = [0, 1, 2].map((more) => 10 ** (from + more));
  const marks = powers.flatMap((power) => [1, 2, 5].map((times) => times * power));
  return marks.filter((mark) => min <= mark && mark <= max);
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
