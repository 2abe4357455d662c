/** Lines over the time of a run. */

import type { Mark } from '../chart/labels';
import { type Line, type LinesSpec, lines } from '../chart/lines';
import type { Course, MeasureCourse, Phase, RunDocument, Track } from '../document/run';
import { figure } from '../figure';
import { clock, type Unit } from '../format';
import { type Column, column } from '../frame';
import type { Zoom } from '../zoom';

/** Figures of this group share the pointer. */
export const TIME_GROUP = 'time';

/** The height of the first figures, in pixels. */
export const FIRST_HEIGHT = 210;

/** Values by slot. */
export type Numbers = Track['mean'];

/** One line of a figure over time. */
export interface Series {
  name: string;
  unit: Unit;
  at_s: number[];
  mean: Numbers;
  min?: Numbers | undefined;
  max?: Numbers | undefined;
  step?: boolean;
}

export interface TimelineSpec {
  title: string;
  id?: string;
  note?: string | undefined;
  unit: Unit;
  /** What the vertical axis shows. */
  yName: string;
  series: Series[];
  log?: boolean;
  limits?: { at: number; name: string }[];
  controls?: HTMLElement[];
  height?: number;
}

/** The start of each slot. */
export function slots(course: Course): number[] {
  return Array.from({ length: course.slots }, (_, slot) => slot * course.slot_s);
}

export function track(course: Course, name: string): Track | undefined {
  return course.seconds.find((one) => one.name === name);
}

/** A column of the seconds as a line; zeros if the document leaves it out. */
export function series(course: Course, name: string, words: string, unit: Unit): Series {
  const found = track(course, name);
  const zeros = () => new Array<number>(course.slots).fill(0);
  return {
    name: words,
    unit,
    at_s: slots(course),
    mean: found?.mean ?? zeros(),
    min: found?.min,
    max: found?.max,
  };
}

/** The steps with response times, of operations that succeeded or failed. */
export function measured(run: RunDocument): MeasureCourse[] {
  return run.course.measures.filter((one) => one.p50.some((time) => time !== null));
}

/** Phases as the background of figures. */
export function marks(phases: Phase[]): Mark[] {
  return phases.map(({ name, start_s, end_s }) => ({ from: start_s, to: end_s, name }));
}

/** Incidents, pauses of arrivals, and faults. */
export function highlighted(run: RunDocument): Mark[] {
  const end = run.phases.at(-1)?.end_s ?? run.run.ended_s;
  return run.highlights.map(({ from_s, to_s, name, kind }) => ({
    from: from_s,
    to: to_s ?? Math.max(from_s, Math.min(end, run.run.ended_s)),
    name,
    tone: kind === 'incident' ? 'bad' : 'done',
  }));
}

/** The time from the start to the end of the run. */
export function extent(run: RunDocument): [number, number] {
  const last = Math.max(run.course.slots * run.course.slot_s, run.run.ended_s);
  return [0, last];
}

/** A line of few points over the time of the run, as small charts draw it, and that time. */
export function linePoints(run: RunDocument, line: Numbers) {
  const [from, to] = extent(run);
  const points = line.map((value, n): [number, number | null] => [
    n * run.course.line_slot_s,
    value,
  ]);
  return { points, x: { from, to } };
}

/** The axis of all figures over the time of the run. */
export function timeAxis(run: RunDocument): Zoom {
  const slot_s = run.course.slot_s;
  return { axis: 'time', whole: extent(run), least: 3 * slot_s, shown: clock };
}

/** A figure over the time of the run. */
export function timeline(run: RunDocument, spec: TimelineSpec): HTMLElement {
  const [start, end] = extent(run);
  const times = spec.series.flatMap((one) => [one.at_s[0] ?? 0, one.at_s.at(-1) ?? 0]);
  const min = Math.min(start, ...times);
  const max = Math.max(end, ...times);
  return figure({
    title: spec.title,
    ...(spec.id ? { id: spec.id } : {}),
    ...(spec.controls ? { controls: spec.controls } : {}),
    ...(spec.height ? { height: spec.height } : {}),
    note: spec.note,
    group: TIME_GROUP,
    zoom: { ...timeAxis(run), whole: [min, max] },
    legend: spec.series.map((one, style) => ({ name: one.name, style })),
    frame: () => frame(spec.series),
    option: (theme, hidden, [from, to] = [min, max]) => {
      const chart: LinesSpec = {
        x: { unit: 's', name: 'time since the start', min: from, max: to },
        y: {
          unit: spec.unit,
          name: spec.yName,
          log: spec.log ?? false,
          min: spec.log ? undefined : 0,
        },
        lines: spec.series
          .map((one, style) => ({ one, style }))
          .filter(({ one }) => !hidden.has(one.name))
          .map(({ one, style }) => line(one, style)),
        marks: marks(run.phases),
        highlights: highlighted(run),
        limits: spec.limits ?? [],
      };
      return lines(chart, theme);
    },
  });
}

function line(one: Series, style: number): Line {
  const points = one.at_s.map((at, i): [number, number | null] => [at, one.mean[i] ?? null]);
  const { min, max } = one;
  const band =
    min && max
      ? one.at_s.map((at, i): [number, number | null, number | null] => [
          at,
          min[i] ?? null,
          max[i] ?? null,
        ])
      : undefined;
  return { name: one.name, unit: one.unit, points, band, style, step: one.step ?? false };
}

/** Lines of one figure as columns; different times are merged. */
export function frame(all: Series[]): Column[] {
  const first = all[0]?.at_s ?? [];
  const alike = all.every(
    (one) => one.at_s.length === first.length && one.at_s.every((at, i) => at === first[i]),
  );
  const times = alike ? first : [...new Set(all.flatMap((one) => one.at_s))].sort((a, b) => a - b);
  const columns = [column('time', 's', times)];
  for (const one of all) {
    const places = alike ? undefined : new Map(one.at_s.map((at, i) => [at, i]));
    const pick = (values: Numbers) =>
      places ? times.map((at) => values[places.get(at) ?? -1] ?? null) : values;
    columns.push(column(one.name, one.unit, pick(one.mean)));
    if (one.min) columns.push(column(`${one.name}, min`, one.unit, pick(one.min)));
    if (one.max) columns.push(column(`${one.name}, max`, one.unit, pick(one.max)));
  }
  return columns;
}
