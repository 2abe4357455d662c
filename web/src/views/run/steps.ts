/** Figures by step, over the run and by phase; and by region of imported results. */

import { path, spark } from '../../chart/spark';
import type { Range, RunDocument, Step } from '../../document/run';
import { type Child, el } from '../../dom';
import { count, duration, formatUnit } from '../../format';
import { type Column, column, each } from '../../frame';
import { table } from '../../table';
import { linePoints } from '../timeline';
import { incidents } from './broken';
import { common } from './multiples';

/** The index of each in the times of a step. */
const TIMES = { mean: 0, p50: 2, p90: 3, p95: 4, p98: 5, p99: 6, 'p99.9': 7, max: 8 } as const;
/** The share of operations up to each; the mean and the maximum depend on all of them. */
const SHARES = {
  mean: 1,
  p50: 0.5,
  p90: 0.9,
  p95: 0.95,
  p98: 0.98,
  p99: 0.99,
  'p99.9': 0.999,
  max: 1,
};

/** The percentiles that have intervals, in the order of these. */
const INTERVALS = ['p50', 'p90', 'p95', 'p98', 'p99', 'p99.9'] as const;
const MISSING: Record<NonNullable<Range['missing']>, string> = {
  few: 'too few operations for this percentile',
  short: 'too few seconds to see whether operations depend on each other',
  dependent: 'the run is too short for how much its operations depend on each other',
  unanswered: 'the percentile is among operations that were never answered',
};

/** One table of all steps, the worst first. */
export function steps(doc: RunDocument): Child[] {
  const all = doc.steps.filter((step) => step.phase === null);
  if (all.length === 0) return [];
  const lines = new Map(doc.course.lines.map(({ name, p95 }) => [name, p95]));
  // Imported results have no percentiles of all clients.
  const names = all.some((step) => step.response) ? (['p50', 'p95', 'p99', 'max'] as const) : [];
  const flags = all.some((step) => step.breaks_threshold)
    ? [each(all, 'threshold', '', (step) => (step.breaks_threshold ? '✗ failed' : ''))]
    : [];
  return [
    table({
      title: 'Steps, complete run',
      frame: [
        each(all, 'step', '', (step) => step.name),
        ...(lines.size > 0 ? [overTime(doc, all, lines)] : []),
        ...flags.map((one) => ({ ...one, areBad: all.map((step) => step.breaks_threshold) })),
        // The share says what failed.
        ...counts(all).map((one) => ({ ...one, isExtra: one.name !== 'share' })),
        ...names.map((name) => ({ ...times(all, name), isExtra: name !== 'p95' })),
      ],
    }),
    el('p', { class: 'note' }, NOTE),
  ];
}

const NOTE =
  'What failed a threshold comes first, then what has failures, then the slowest. Lines: p95 on a logarithmic scale of its own (blue), failures a second (red); incidents are shaded.';

/** A small line for each step: its 95th percentile, and its failures if there are some. */
function overTime(doc: RunDocument, all: Step[], lines: Map<string, (number | null)[]>): Column {
  const text = (step: Step) => {
    const known = (lines.get(step.name) ?? []).flatMap((ns) => (ns === null ? [] : [ns]));
    if (known.length === 0) return null;
    return `p95 ${duration(Math.min(...known))} … ${duration(Math.max(...known))}`;
  };
  const picture = (row: number): Node | null => {
    const step = all[row];
    if (!step) return null;
    // A step without a line of its own may have failures and incidents.
    const { points, x } = linePoints(doc, lines.get(step.name) ?? []);
    const failed = failuresOf(doc, step.name);
    const bands = incidents(doc, step.name);
    const drawn: { style: number | 'bad'; d: string }[] = [];
    if (points.length > 0) drawn.push({ style: 0, d: path(points, x, common(points)) });
    if (failed.length > 0) {
      const y = { from: 0, to: Math.max(...failed) || 1 };
      drawn.push({ style: 'bad', d: path(linePoints(doc, failed).points, x, y) });
    }
    return drawn.length > 0 || bands.length > 0 ? spark(drawn, [], x, bands) : null;
  };
  return { ...column('over time', '', all.map(text)), picture };
}

/** The failures of a step a second, of all kinds together. */
function failuresOf(doc: RunDocument, step: string): number[] {
  const all = doc.failures.list.filter((one) => one.rows.includes(step) && one.line.length > 0);
  const points = all[0]?.line.length ?? 0;
  return Array.from({ length: points }, (_, n) =>
    all.reduce((sum, one) => sum + (one.line[n] ?? 0), 0),
  );
}

/** What only the full report has: all percentiles, their intervals, tags and phases. */
export function stepsInFull(doc: RunDocument): Child[] {
  const whole = doc.steps.filter((step) => step.phase === null);
  const phases = doc.phases
    .map((phase, place) => ({ phase, steps: doc.steps.filter((step) => step.phase === place) }))
    .filter(({ steps: all }) => all.length > 0);
  const left = doc.steps_left_out;
  return [
    whole.length > 0 && stepTable('Response by step, complete run', whole),
    intervals(doc, whole),
    doc.tags.length > 0 && stepTable('Requests by group and tag, complete run', doc.tags, 'tag'),
    ...phases.map(({ phase, steps: all }) =>
      el(
        'details',
        { class: 'phase' },
        el('summary', {}, `Phase ${phase.name}`),
        stepTable(`Response by step, phase ${phase.name}`, all),
      ),
    ),
    left > 0 && el('p', { class: 'note' }, `${count(left)} more rows are in summary.json.`),
  ];
}

function stepTable(title: string, all: Step[], first = 'step'): HTMLElement {
  // Imported results have no percentiles of all clients.
  const names = Object.keys(TIMES) as (keyof typeof TIMES)[];
  const known = all.some((step) => step.response) ? names : [];
  return table({
    title,
    frame: [
      each(all, first, '', (step) => step.name),
      ...counts(all),
      ...known.map((name) => times(all, name)),
      each(all, 'lag p99', 'ns', (step) => step.lag?.[TIMES.p99] ?? null),
    ],
  });
}

/** How often, how fast, and how much failed. */
function counts(all: Step[]): Column[] {
  const areBad = all.map((step) => step.errors > 0);
  const share = ({ errors, count: of }: Step) => (of > 0 ? errors / of : null);
  return [
    each(all, 'count', 'count', (step) => step.count),
    each(all, 'completed', '1/s', (step) => step.rate_per_s),
    { ...each(all, 'failed', 'count', (step) => step.errors), areBad },
    { ...each(all, 'share', 'share', share), areBad },
    ...(all.some((step) => step.unanswered > 0)
      ? [each(all, 'never answered', 'count', (step) => step.unanswered)]
      : []),
  ];
}

/** A percentile, the mean or the maximum of the response times. */
function times(all: Step[], name: keyof typeof TIMES): Column {
  const isBound = (step: Step) =>
    step.bound_above !== null && SHARES[name] > step.bound_above + 1e-12;
  return {
    ...each(all, name, 'ns', (step) => step.response?.[TIMES[name]] ?? null),
    bounds: all.map(isBound),
    notes: all.map((step) => note(step.intervals[INTERVALS.indexOf(name as never)])),
  };
}

/** `298 ms … 331 ms`; a dash without any end. */
function range(one: Range): string {
  if (one.low === null) return '–';
  const high = one.high === null ? '?' : formatUnit(one.high, 'ns');
  return `${formatUnit(one.low, 'ns')} … ${one.is_bound ? '≥ ' : ''}${high}`;
}

function note(one: Range | undefined): string | null {
  if (!one) return null;
  const why = one.missing ? MISSING[one.missing] : null;
  return one.low === null ? `95 %: ${why}` : `95 %: ${range(one)}${why ? `, ${why}` : ''}`;
}

/** Intervals over the complete run, and of phases in which more is determined; one line where there are none. */
function intervals(doc: RunDocument, whole: Step[]): HTMLElement | null {
  const known = whole.filter((step) => step.intervals.length > 0);
  if (known.length === 0) return null;
  const hasAny = (step: Step) => step.intervals.some((one) => one.low !== null);
  const ofPhases = (step: Step) =>
    doc.steps.filter((one) => one.phase !== null && one.name === step.name && knowsMore(one, step));
  const rows = known.flatMap((step) => [...(hasAny(step) ? [step] : []), ...ofPhases(step)]);
  if (rows.length === 0) {
    return el('p', { class: 'note' }, `No 95 % interval of a percentile: ${reasons(known)}.`);
  }
  const leftOut = known.filter((step) => !hasAny(step) && ofPhases(step).length === 0);
  const why = reasons([...known.filter((step) => !leftOut.includes(step)), ...rows]);
  const name = (step: Step) =>
    step.phase === null ? step.name : `${step.name}, phase ${doc.phases[step.phase]?.name ?? '–'}`;
  const frame = table({
    title: '95 % intervals of the percentiles',
    sortable: false,
    frame: [
      each(rows, 'step', '', name),
      ...INTERVALS.map((percentile, place) =>
        each(rows, percentile, '', (step) => {
          const one = step.intervals[place];
          return one ? range(one) : '–';
        }),
      ),
    ],
  });
  return el(
    'details',
    { class: 'phase' },
    el('summary', {}, '95 % intervals of the percentiles'),
    frame,
    why !== '' && el('p', { class: 'note' }, `Not determined: ${why}.`),
    leftOut.length > 0 &&
      el(
        'p',
        { class: 'note' },
        `No interval of ${leftOut.map((step) => step.name).join(', ')}: ${reasons(leftOut)}.`,
      ),
  );
}

/** True if one has an end that is not determined in the other. */
function knowsMore(one: Step, other: Step): boolean {
  return one.intervals.some((own, place) => {
    const known = other.intervals[place];
    return (
      (own.low !== null && (known?.low ?? null) === null) ||
      (own.high !== null && (known?.high ?? null) === null)
    );
  });
}

/** Why ends are missing, each reason once. */
function reasons(all: Step[]): string {
  const found = new Set(all.flatMap((step) => step.intervals.map((one) => one.missing)));
  return [...found].flatMap((one) => (one ? [MISSING[one]] : [])).join('; ');
}

export function regions(doc: RunDocument): HTMLElement | null {
  const all = doc.regions;
  if (all.length === 0) return null;
  return table({
    title: 'Clients by region',
    frame: [
      each(all, 'region', '', (one) => one.name || '–'),
      each(all, 'clients', 'count', (one) => one.clients),
      each(all, 'unreachable', 'count', (one) => one.unreachable),
      each(all, 'users planned', 'count', (one) => one.users_planned),
      each(all, 'connected', 'count', (one) => one.connected),
      each(all, 'failed', 'count', (one) => one.failed),
    ],
  });
}
