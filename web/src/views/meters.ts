/** Meters: the published polygons beside the inputs of the normalised form. */

import { lines } from '../chart/lines';
import { radar } from '../chart/radar';
import type { MetersDocument, MeterValue } from '../document/meters';
import { type Child, el } from '../dom';
import { figure } from '../figure';
import { counted, significant } from '../format';
import { column, each } from '../frame';
import { page, type Section, terms } from '../shell';
import { table } from '../table';

/** Most runs in a figure; the tables have all. */
const SHAPES_MAX = 7;

export function meters(doc: MetersDocument): void {
  const names = doc.runs[0]?.meters.map((meter) => meter.name) ?? [];
  page(
    {
      title: 'Scalability meters',
      verdict: counted(doc.runs.length + doc.runs_left_out, 'run'),
      tone: 'plain',
      facts: [doc.runs.map((run) => run.name).join(', '), `normalised to ${doc.reference}`],
    },
    [
      { title: 'All meters', content: [normalised(doc, names), values(doc)] },
      ...names.map((name, place) => section(doc, name, place)),
      { title: 'Scalability and cost', content: scalability(doc) },
    ],
    doc.throng,
  );
}

/** The normalised values of all meters. */
function normalised(doc: MetersDocument, names: string[]): Child {
  const of = (run: number, meter: number) => doc.runs[run]?.meters[meter]?.normalised ?? null;
  const drawn = doc.runs.slice(0, SHAPES_MAX);
  return figure({
    title: 'Normalised meters',
    id: 'normalised',
    note: `Multiples of ${doc.reference}, more is better: the reference is 1.`,
    height: 280,
    legend: drawn.map((run, style) => ({ name: run.name, style, dots: true })),
    frame: () => [
      column('meter', '', names),
      ...doc.runs.map((run, n) => each(names, run.name, '', (_, meter) => of(n, meter))),
    ],
    option: (theme, hidden) =>
      lines(
        {
          x: { unit: '', name: 'meter', categories: names },
          y: { unit: '', name: 'times the reference', log: true },
          lines: drawn
            .map((run, n) => ({
              name: run.name,
              unit: '',
              style: n,
              dots: true,
              points: names.map((_, meter): [number, number | null] => [meter, of(n, meter)]),
            }))
            .filter((line) => !hidden.has(line.name)),
          limits: [{ at: 1, name: 'the reference' }],
        },
        theme,
      ),
  });
}

function values(doc: MetersDocument): HTMLElement {
  const all = doc.runs.flatMap((run) => run.meters.map((meter) => ({ run: run.name, meter })));
  return table({
    title: 'Meters',
    frame: [
      each(all, 'run', '', (one) => one.run),
      each(all, 'meter', '', (one) => one.meter.name),
      each(all, 'published, worst', '', (one) => one.meter.published.worst),
      each(all, 'mean', '', (one) => one.meter.published.mean),
      each(all, 'best', '', (one) => one.meter.published.best),
      each(all, 'min over orders', '', (one) => one.meter.orders[0]),
      each(all, 'max over orders', '', (one) => one.meter.orders[1]),
      each(all, 'mean over orders', '', (one) => one.meter.order_free),
      each(all, 'normalised', '', (one) => one.meter.normalised),
    ],
  });
}

function section(doc: MetersDocument, name: string, place: number): Section {
  const of = doc.runs.map((run) => run.meters[place]);
  const inputs = of[0]?.inputs.map((input) => input.name) ?? [];
  return {
    title: name,
    id: `meter-${place}`,
    content: [
      el(
        'div',
        { class: 'pair' },
        polygon(doc, of, inputs, {
          title: `${name} as published`,
          id: `published-${place}`,
          note: 'The area of the polygon of the inputs, all on one scale: a large input dominates the others.',
          value: (input) => input.radius.mean,
        }),
        polygon(doc, of, inputs, {
          title: `${name} normalised`,
          id: `normalised-${place}`,
          note: `Inputs as multiples of ${doc.reference}’s, more is better. The weighted geometric mean does not depend on their order.`,
          value: (input) => input.ratio,
        }),
      ),
      inputTable(doc, name, of),
    ],
  };
}

type Input = MeterValue['inputs'][number];

function polygon(
  doc: MetersDocument,
  of: (MeterValue | undefined)[],
  inputs: string[],
  words: { title: string; id: string; note: string; value: (input: Input) => number | null },
): HTMLElement {
  const value = (run: number, input: number) => {
    const found = of[run]?.inputs[input];
    return found ? words.value(found) : null;
  };
  const drawn = doc.runs.slice(0, SHAPES_MAX);
  const all = drawn.flatMap((_, run) => inputs.map((_, input) => value(run, input) ?? 0));
  const max = Number((Math.max(...all, Number.MIN_VALUE) * 1.05).toPrecision(3));
  return figure({
    title: words.title,
    id: words.id,
    note: `${words.note} The outermost ring is ${significant(max)}.`,
    height: 320,
    legend: drawn.map((run, style) => ({ name: run.name, style })),
    frame: () => [
      column('input', '', inputs),
      ...doc.runs.map((run, n) => each(inputs, run.name, '', (_, input) => value(n, input))),
    ],
    option: (theme, hidden) =>
      radar(
        {
          axes: inputs,
          max,
          unit: '',
          shapes: drawn
            .map((run, style) => ({
              name: run.name,
              style,
              values: inputs.map((_, input) => value(style, input)),
            }))
            .filter((shape) => !hidden.has(shape.name)),
        },
        theme,
      ),
  });
}

function inputTable(
  doc: MetersDocument,
  name: string,
  of: (MeterValue | undefined)[],
): HTMLElement {
  const all = of.flatMap((meter, n) =>
    (meter?.inputs ?? []).map((input) => ({ run: doc.runs[n]?.name ?? '', input })),
  );
  return el(
    'details',
    { class: 'phase' },
    el('summary', {}, 'Inputs'),
    table({
      title: `Inputs of ${name}`,
      frame: [
        each(all, 'run', '', (one) => one.run),
        each(all, 'input', '', (one) => one.input.name),
        each(all, 'unit', '', (one) => one.input.unit || '–'),
        each(all, 'worst', '', (one) => one.input.radius.worst),
        each(all, 'mean', '', (one) => one.input.radius.mean),
        each(all, 'best', '', (one) => one.input.radius.best),
        each(all, 'elasticity, published', '', (one) => one.input.elasticity),
        each(all, 'weight, normalised', 'share', (one) => one.input.weight),
        each(all, 'times the reference', '', (one) => one.input.ratio),
        each(all, 'to the same moments', '', (one) => one.input.joining ?? '–'),
      ],
    }),
  );
}

function scalability(doc: MetersDocument): Child[] {
  const left = doc.runs_left_out;
  return [
    ...doc.runs.map((run) => {
      const figures = [
        ['ESS', run.ess],
        ['ESS by ranges', run.ess_ranges],
        ['ESR', run.esr],
      ] as const;
      const known = figures.flatMap(([name, value]): [string, string][] =>
        value === null ? [] : [[name, significant(value, 6)]],
      );
      // Nothing is left of a run without users, costs and further runs.
      if (known.length === 0 && run.costs.length === 0) return null;
      return el(
        'div',
        {},
        el('h3', { class: 'apart' }, run.name),
        known.length > 0 && terms(known),
        ...run.costs.map((text) => el('p', { class: 'note' }, text)),
      );
    }),
    left > 0 && el('p', { class: 'note' }, `${left} more runs are not shown.`),
  ];
}
