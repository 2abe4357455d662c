/** A figure's numbers: chart, table and CSV use the same columns. */

import { formatUnit, type Unit } from './format';

export type Cell = number | string | null;

export interface Column {
  name: string;
  unit: Unit;
  values: Cell[];
  /** Which values are lower bounds. */
  bounds?: boolean[];
  /** What else there is to know of each value, shown as a tooltip. */
  notes?: (string | null)[];
  /** Texts that are figures, which are aligned like numbers. */
  areFigures?: boolean;
  /** Which values are bad. */
  areBad?: boolean[];
  /** A narrow window leaves it out. */
  isExtra?: boolean;
  /** A picture of each value, which stands for it; the value is its text for those who cannot see it. */
  picture?: (row: number) => Node | null;
}

export type Frame = Column[];

export function column(name: string, unit: Unit, values: Cell[]): Column {
  return { name, unit, values };
}

/** A column with one value of each item. */
export function each<T>(
  all: readonly T[],
  name: string,
  unit: Unit,
  cell: (one: T, place: number) => Cell,
): Column {
  return column(name, unit, all.map(cell));
}

/** The same, of which some values are only lower bounds. */
export function eachBound<T>(
  all: readonly T[],
  name: string,
  unit: Unit,
  cell: (one: T, place: number) => Cell,
  isBound: (one: T) => boolean | undefined,
): Column {
  return { ...each(all, name, unit, cell), bounds: all.map((one) => isBound(one) ?? false) };
}

/** Two percentiles of response times, each perhaps only a lower bound. */
interface Percentiles {
  readonly p50_ns: number | null;
  readonly p50_is_bound?: boolean;
  readonly p99_ns: number | null;
  readonly p99_is_bound?: boolean;
}

/** A column for each of the two percentiles. */
export function percentiles(all: readonly Percentiles[]): readonly Column[] {
  return [
    eachBound(
      all,
      'p50',
      'ns',
      (one) => one.p50_ns,
      (one) => one.p50_is_bound,
    ),
    eachBound(
      all,
      'p99',
      'ns',
      (one) => one.p99_ns,
      (one) => one.p99_is_bound,
    ),
  ];
}

export function rows(frame: Frame): number {
  return Math.max(0, ...frame.map((one) => one.values.length));
}

/** A cell as text. */
export function shown(cell: Cell | undefined, unit: Unit): string {
  if (cell === null || cell === undefined) return '–';
  return typeof cell === 'number' ? formatUnit(cell, unit) : cell;
}

/** The cell of a row as text. */
export function shownAt(one: Column, row: number): string {
  return (one.bounds?.[row] ? '≥ ' : '') + shown(one.values[row], one.unit);
}

/** RFC 4180, with base units in the header: `time (s),p99 (ns)`. */
export function csv(frame: Frame): string {
  const lines = [frame.map((one) => field(one.unit ? `${one.name} (${one.unit})` : one.name))];
  for (let row = 0; row < rows(frame); row += 1) {
    lines.push(frame.map((one) => field(one.values[row] ?? '')));
  }
  return `${lines.map((line) => line.join(',')).join('\r\n')}\r\n`;
}

function field(value: number | string): string {
  if (typeof value === 'number') return String(value);
  // A leading apostrophe keeps spreadsheets from running a text as a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
