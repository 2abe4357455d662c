/** Response times: over time, and as a distribution. */

import { bars } from '../../chart/bars';
import { type HeatSpec, heat } from '../../chart/heat';
import type { MeasureCourse, RunDocument } from '../../document/run';
import { type Child, el } from '../../dom';
import { type FigureSpec, figure } from '../../figure';
import { each } from '../../frame';
import { curveSpec, timesAxis } from '../curves';
import {
  extent,
  FIRST_HEIGHT,
  highlighted,
  marks,
  measured,
  type Series,
  slots,
  TIME_GROUP,
  timeAxis,
  timeline,
} from '../timeline';

/** Rows of a heat map per decade. */
const ROWS_PER_DECADE = 10;

/** The step that the user selected. */
let chosen: string | undefined;

/** The step whose response times are shown: what the user selected, else the one in focus. */
interface Shown {
  measures: MeasureCourse[];
  now: MeasureCourse;
}

function shown(doc: RunDocument): Shown | undefined {
  const measures = measured(doc);
  const named = (name: string | undefined) => measures.find((one) => one.name === name);
  const now = named(chosen) ?? named(doc.focus?.name) ?? mostMeasured(measures);
  return now && { measures, now };
}

/** Response times over time, and what selects their step. */
export function overTime(doc: RunDocument): { chooser: Child; figure: Child } {
  const all = shown(doc);
  if (!all) return { chooser: null, figure: null };
  const { measures, now } = all;
  // A figure with a known id is updated, not added.
  const choose = (name: string) => {
    chosen = name;
    const measure = measures.find((one) => one.name === name) ?? now;
    timeline(doc, percentiles(doc, measure));
    distribution(doc, measure);
  };
  return {
    chooser: measures.length > 1 && chooser(measures, now, choose),
    figure: timeline(doc, percentiles(doc, now)),
  };
}

export function latency(doc: RunDocument): Child[] {
  const all = shown(doc);
  if (!all) return [];
  const { measures, now } = all;
  const [map, bins] = distribution(doc, now);
  const left = doc.course.measures_left_out;
  const more =
    left > 0 &&
    el(
      'p',
      { class: 'note' },
      `The ${measures.length} steps with the most operations; ${left} more are in the table of steps.`,
    );
  return [
    more,
    map,
    el('div', { class: 'pair' }, bins, figure(ecdfSpec(measures))),
    figure(tailSpec(measures)),
  ];
}

function distribution(doc: RunDocument, measure: MeasureCourse): [HTMLElement, HTMLElement] {
  return [figure(heatSpec(doc, measure)), figure(binsSpec(measure))];
}

/** The step that users wait for most often: requests first, then connections, then pushed messages. */
function mostMeasured(measures: MeasureCourse[]): MeasureCourse | undefined {
  const order = ['request', 'transaction', 'message', 'handshake', 'connect'];
  const rank = (one: MeasureCourse) =>
    (order.indexOf(one.kind) + order.length + 1) % (order.length + 1);
  return [...measures].sort((a, b) => rank(a) - rank(b) || b.count - a.count)[0];
}

function chooser(
  measures: MeasureCourse[],
  now: MeasureCourse,
  choose: (name: string) => void,
): HTMLElement {
  const select = el(
    'select',
    { id: 'step', onchange: () => choose(select.value) },
    ...measures.map((one) => {
      const option = el('option', { value: one.name }, one.name);
      option.selected = one === now;
      return option;
    }),
  );
  return el('p', { class: 'choose' }, el('label', { for: 'step' }, 'Step '), select);
}

function percentiles(doc: RunDocument, measure: MeasureCourse) {
  const at_s = slots(doc.course);
  const line = (name: string, mean: Series['mean']): Series => ({ name, unit: 'ns', at_s, mean });
  return {
    title: 'Response over time',
    id: 'percentiles',
    note: `${measure.name}: from due to done, of all operations.`,
    unit: 'ns',
    yName: 'response',
    log: true,
    height: FIRST_HEIGHT,
    series: [
      line('p50', measure.p50),
      line('p95', measure.p95),
      line('p99', measure.p99),
      line('p99.9', measure.p999),
      line('max', measure.max),
    ],
  };
}

function heatSpec(doc: RunDocument, measure: MeasureCourse): FigureSpec {
  const { heat_slot_s } = doc.course;
  const [min, max] = extent(doc);
  const edge = (row: number) => 10 ** (row / ROWS_PER_DECADE);
  const cells = measure.heat.map(([col, row, n]): HeatSpec['cells'][number] => [
    col * heat_slot_s,
    (col + 1) * heat_slot_s,
    edge(row),
    edge(row + 1),
    n,
  ]);
  const rows = measure.heat.map(([, row]) => row);
  return {
    title: 'Latency heat map',
    id: 'heat',
    note: `${measure.name}: the darker a cell (the lighter on a dark page), the more operations of that response time completed at that time. The colour scale is logarithmic.`,
    group: TIME_GROUP,
    zoom: timeAxis(doc),
    height: 280,
    frame: () => [
      each(cells, 'from', 's', (cell) => cell[0]),
      each(cells, 'to', 's', (cell) => cell[1]),
      each(cells, 'response from', 'ns', (cell) => cell[2]),
      each(cells, 'response to', 'ns', (cell) => cell[3]),
      each(cells, 'operations', 'count', (cell) => cell[4]),
    ],
    option: (theme, _, [from, to] = [min, max]) =>
      heat(
        {
          x: { unit: 's', name: 'time since the start', min: from, max: to },
          y: {
            unit: 'ns',
            name: 'response',
            log: true,
            min: edge(Math.min(...rows)),
            max: edge(Math.max(...rows) + 1),
          },
          cells,
          marks: marks(doc.phases),
          highlights: highlighted(doc),
        },
        theme,
      ),
  };
}

function binsSpec(measure: MeasureCourse): FigureSpec {
  const { bins } = measure;
  const [min, max] = [bins[0]?.from_ns ?? 1, bins.at(-1)?.to_ns ?? 1];
  return {
    title: 'Histogram',
    zoom: timesAxis('response', [min, max]),
    note: `${measure.name}, complete run; both axes are logarithmic.`,
    frame: () => [
      each(bins, 'from', 'ns', (bin) => bin.from_ns),
      each(bins, 'to', 'ns', (bin) => bin.to_ns),
      each(bins, 'operations', 'count', (bin) => bin.count),
    ],
    option: (theme, _, [from, to] = [min, max]) =>
      bars(
        {
          x: { unit: 'ns', name: 'response', log: true, min: from, max: to },
          y: { unit: 'count', name: 'operations', log: true, min: 0.5 },
          bars: bins
            .filter((bin) => bin.from_ns < to && bin.to_ns > from)
            .map((bin) => [bin.from_ns, bin.to_ns, bin.count]),
          unit: 'count',
        },
        theme,
      ),
  };
}

function curves(measures: MeasureCourse[]) {
  return measures.map((one) => ({ name: one.name, shares: one.response }));
}

function ecdfSpec(measures: MeasureCourse[]): FigureSpec {
  return curveSpec(curves(measures), {
    title: 'Distribution',
    note: 'The share of operations that took at most this long, complete run.',
    tail: false,
    axis: 'response',
  });
}

function tailSpec(measures: MeasureCourse[]): FigureSpec {
  return curveSpec(curves(measures), {
    title: 'Tail',
    note: 'The share of operations that took longer, on a logarithmic axis.',
    tail: true,
    axis: 'response',
  });
}
