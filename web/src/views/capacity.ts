/** A capacity search: the capacity, the curve of the trials, and the fitted scalability law. */

import { type Line, lines } from '../chart/lines';
import type { CapacityDocument, Law } from '../document/capacity';
import { el } from '../dom';
import { figure } from '../figure';
import { findings } from '../findings';
import { counted, duration, share, significant } from '../format';
import { column, each, eachBound, percentiles } from '../frame';
import { page, terms } from '../shell';
import { table } from '../table';
import { type Tile, tiles } from '../tiles';

const FIGURES: Record<string, string> = {
  capacity: 'trials',
  law: 'law',
  'law-limit': 'law',
  bend: 'latency',
};

export const OUTCOMES = { holds: '✓ holds', breaks: '✗ does not hold', untrusted: '– untrusted' };

/** Whether the search determined the capacity, or a lower bound of it. */
function isFound(doc: CapacityDocument): boolean {
  return doc.ending === 'found' || doc.ending === 'all_hold';
}

function answer(doc: CapacityDocument): string {
  if (doc.holds === null) return 'None found';
  const low = load(doc, doc.holds);
  const isBracket = doc.ending === 'found' && doc.breaks !== null;
  return isBracket ? `${low} to ${load(doc, doc.breaks ?? 0)}` : `${low} or more`;
}

export function capacity(doc: CapacityDocument): void {
  const found = answer(doc);
  const lines_ = el('div');
  page(
    {
      title: `Capacity of ${doc.name}`,
      verdict: found,
      tone: isFound(doc) ? 'good' : 'bad',
      facts: [
        `setting: ${doc.of}`,
        counted(doc.trials.length, 'run'),
        doc.ending.replaceAll('_', ' '),
      ],
    },
    [
      { title: 'Totals', content: [tiles(totals(doc, found))] },
      { title: 'Findings', content: [lines_] },
      {
        title: 'The curve',
        content: [latency(doc), throughput(doc), law(doc)],
      },
      { title: 'The search', content: [trials(doc)] },
      { title: 'Loads', content: [levels(doc)] },
      { title: 'Runs', content: [runs(doc)] },
    ],
    doc.throng,
  );
  lines_.append(findings(doc.findings, (code) => FIGURES[code]));
}

/** The capacity, and what was measured at it: at the highest load that holds. */
function totals(doc: CapacityDocument, found: string): Tile[] {
  const level = doc.levels.find((one) => one.load === doc.holds);
  const tile = (name: string, value: number | null, shown: (x: number) => string): Tile => ({
    name,
    value: value === null ? '–' : shown(value),
    note: level ? `at ${load(doc, level.load)}` : '',
  });
  const measured = level && [
    tile('Succeeded', level.per_s, (rate) => `${significant(rate)}/s`),
    tile('In flight', level.in_flight, significant),
    tile('Errors', level.error_share, share),
    tile('p50', level.p50_ns, (ns) => (level.p50_is_bound ? '≥ ' : '') + duration(ns)),
    tile('p99', level.p99_ns, (ns) => (level.p99_is_bound ? '≥ ' : '') + duration(ns)),
  ];
  return [
    { name: 'Capacity', value: found, note: doc.of, tone: isFound(doc) ? 'good' : 'bad' },
    ...(measured ?? []),
    { name: 'Runs', value: String(doc.trials.length), note: doc.ending.replaceAll('_', ' ') },
  ];
}

/** A load as text. */
function load(doc: CapacityDocument, value: number): string {
  const place = doc.levels.findIndex((level) => level.load === value);
  return doc.shown[place] ?? `${significant(value, 4)}${doc.unit}`;
}

/** Loads with measurements. */
function measured(doc: CapacityDocument) {
  return doc.levels.flatMap((level) =>
    level.per_s !== null && level.in_flight !== null && level.per_s > 0
      ? [{ ...level, per_s: level.per_s, in_flight: level.in_flight }]
      : [],
  );
}

/** The loads around the knee: the highest that holds, and the lowest that does not. */
function knee(doc: CapacityDocument, of: (level: ReturnType<typeof measured>[number]) => number) {
  const at = (wanted: number | null, name: string) => {
    const level = measured(doc).find((one) => one.load === wanted);
    return level ? [{ at: of(level), name: `${load(doc, level.load)} ${name}` }] : [];
  };
  return [...at(doc.holds, 'holds'), ...at(doc.breaks, 'does not hold')];
}

function latency(doc: CapacityDocument): HTMLElement {
  const all = measured(doc).sort((a, b) => a.in_flight - b.in_flight);
  const line = (
    name: string,
    style: number,
    of: (level: (typeof all)[number]) => number | null,
  ): Line => ({
    name,
    unit: 'ns',
    style,
    points: all.map((level): [number, number | null] => [level.per_s, of(level)]),
  });
  const fitted: Line = {
    name: 'mean, fitted',
    unit: 'ns',
    style: 2,
    points: doc.law_curve.map(([, per_s, response]): [number, number] => [per_s, response]),
  };
  const drawn = [
    line('p50', 0, (level) => level.p50_ns),
    line('p99', 1, (level) => level.p99_ns),
    ...(doc.law_curve.length > 0 ? [fitted] : []),
  ];
  return figure({
    title: 'Latency by throughput',
    id: 'latency',
    note: 'Loads in the order of operations in flight. Beyond the knee only latency grows.',
    height: 320,
    legend: drawn.map(({ name, style = 0 }) => ({ name, style })),
    frame: () => [
      each(all, 'load', '', (level) => load(doc, level.load)),
      each(all, 'throughput', '1/s', (level) => level.per_s),
      each(all, 'in flight', '', (level) => level.in_flight),
      ...percentiles(all),
    ],
    option: (theme, hidden) =>
      lines(
        {
          x: { unit: '1/s', name: 'operations per second', min: 0 },
          y: { unit: 'ns', name: 'response', log: true },
          lines: drawn
            .filter((one) => !hidden.has(one.name))
            .map((one) => ({ ...one, marked: one !== fitted })),
          verticals: knee(doc, (level) => level.per_s),
        },
        theme,
      ),
  });
}

function throughput(doc: CapacityDocument): HTMLElement {
  const points = doc.trials.flatMap((trial) => (trial.figures ? [trial] : []));
  const trialLine: Line = {
    name: 'runs',
    unit: '1/s',
    style: 0,
    dots: true,
    points: points.map((trial): [number, number] => [
      trial.figures?.in_flight ?? 0,
      trial.figures?.per_s ?? 0,
    ]),
  };
  const fitted: Line = {
    name: 'the law',
    unit: '1/s',
    style: 1,
    points: doc.law_curve.map(([in_flight, per_s]): [number, number] => [in_flight, per_s]),
  };
  const drawn = doc.law_curve.length > 0 ? [trialLine, fitted] : [trialLine];
  return figure({
    title: 'Throughput by operations in flight',
    id: 'law',
    note: doc.law
      ? `The universal scalability law, fitted to ${doc.law.trials} runs; beyond ${significant(doc.law.in_flight_max)} in flight it is an extrapolation.`
      : `No scalability law was fitted: ${doc.law_problem ?? 'unknown reason'}.`,
    height: 320,
    legend: drawn.map(({ name, style = 0, dots }) => ({ name, style, dots: dots ?? false })),
    frame: () => [
      each(points, 'in flight, run', '', (trial) => trial.figures?.in_flight ?? null),
      each(points, 'throughput, run', '1/s', (trial) => trial.figures?.per_s ?? null),
      ...(doc.law_curve.length > 0
        ? [
            each(doc.law_curve, 'in flight, fitted', '', ([n]) => n),
            each(doc.law_curve, 'throughput, fitted', '1/s', ([, x]) => x),
          ]
        : []),
    ],
    option: (theme, hidden) =>
      lines(
        {
          x: { unit: '', name: 'operations in flight', min: 0 },
          y: { unit: '1/s', name: 'operations per second', min: 0 },
          lines: drawn.filter((one) => !hidden.has(one.name)),
          verticals: knee(doc, (level) => level.in_flight),
        },
        theme,
      ),
  });
}

function law(doc: CapacityDocument): HTMLElement | null {
  const { law: fitted } = doc;
  return (
    fitted &&
    lawTerms({
      of: 'one operation in flight',
      ...fitted,
      peak: fitted.peak_in_flight,
      noun: 'in flight',
    })
  );
}

/** A parameter with its bounds. */
type Bounded = Law['lambda'];

/** The parameters of a law. */
export function lawTerms(fitted: {
  /** What λ is the throughput of. */
  of: string;
  lambda: Bounded;
  sigma: Bounded;
  kappa: Bounded;
  r_squared: number;
  peak: Bounded | null;
  /** What the peak counts. */
  noun: string;
  limit_per_s: number | null;
}): HTMLElement {
  const bounded = ([value, low, high]: Bounded, unit = '') =>
    `${significant(value)}${unit} (${significant(low)} to ${high === null ? '∞' : significant(high)})`;
  return terms([
    [`λ, throughput of ${fitted.of}`, bounded(fitted.lambda, '/s')],
    ['σ, contention', bounded(fitted.sigma)],
    ['κ, coherency', bounded(fitted.kappa)],
    ['R²', significant(fitted.r_squared)],
    ['maximum at', fitted.peak === null ? 'never falls' : `${bounded(fitted.peak)} ${fitted.noun}`],
    [
      'upper limit',
      fitted.limit_per_s === null ? 'no limit' : `${significant(fitted.limit_per_s)}/s`,
    ],
  ]);
}

/** The loads in the order of the search. */
function trials(doc: CapacityDocument): HTMLElement {
  const line = (outcome: keyof typeof OUTCOMES, style: number): Line => ({
    name: OUTCOMES[outcome],
    unit: 'load',
    style,
    dots: true,
    points: doc.trials.flatMap((trial, n): [number, number][] =>
      trial.outcome === outcome ? [[n + 1, trial.load]] : [],
    ),
  });
  const drawn = [line('holds', 2), line('breaks', 1), line('untrusted', 6)].filter(
    (one) => one.points.length > 0,
  );
  return figure({
    title: 'Loads in the order of the search',
    id: 'trials',
    legend: drawn.map(({ name, style = 0 }) => ({ name, style, dots: true })),
    frame: () => [
      each(doc.trials, 'run', 'count', (_, n) => n + 1),
      each(doc.trials, 'load', '', (trial) => trial.load),
      each(doc.trials, 'outcome', '', (trial) => OUTCOMES[trial.outcome]),
    ],
    option: (theme, hidden) =>
      lines(
        {
          x: { unit: 'count', name: 'run', min: 0, max: doc.trials.length + 1, whole: true },
          y: { unit: '', name: doc.of, log: true },
          lines: drawn.filter((one) => !hidden.has(one.name)),
          limits:
            doc.holds === null ? [] : [{ at: doc.holds, name: `${load(doc, doc.holds)} holds` }],
        },
        theme,
      ),
  });
}

function levels(doc: CapacityDocument): HTMLElement {
  const all = doc.levels;
  const held = (level: (typeof all)[number]) =>
    level.holds + level.breaks === 0
      ? 'untrusted'
      : `${level.holds} of ${level.holds + level.breaks}`;
  return table({
    title: 'Loads',
    frame: [
      column('load', '', doc.shown),
      column('held', '', all.map(held)),
      each(all, 'succeeded', '1/s', (level) => level.per_s),
      each(all, 'in flight', '', (level) => level.in_flight),
      ...percentiles(all),
      each(all, 'errors', 'share', (level) => level.error_share),
    ],
    rowClass: (row) => (all[row]?.held === false ? 'bad' : ''),
  });
}

function runs(doc: CapacityDocument): HTMLElement {
  const all = doc.trials;
  return table({
    title: 'Runs',
    frame: [
      each(all, 'run', '', (trial) => trial.run ?? 'none'),
      each(all, 'load', '', (trial) => load(doc, trial.load)),
      each(all, 'outcome', '', (trial) => OUTCOMES[trial.outcome]),
      each(all, 'succeeded', '1/s', (trial) => trial.figures?.per_s ?? null),
      eachBound(
        all,
        'p99',
        'ns',
        (trial) => trial.figures?.p99_ns ?? null,
        (trial) => trial.figures?.p99_is_bound,
      ),
      each(all, 'why', '', (trial) => trial.why.join('; ')),
    ],
    rowClass: (row) => (all[row]?.outcome === 'breaks' ? 'bad' : ''),
  });
}
