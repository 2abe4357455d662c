/**
 * A run. The first screen: the verdict, thresholds, what broke, steps, who was the limit, and two figures over time of
 * the step in focus. All else is in the full report.
 */

import type { Finding, FindingPlace, RunDocument, ThresholdResult } from '../document/run';
import { type Child, el } from '../dom';
import { findings } from '../findings';
import { bytes, formatUnit, span } from '../format';
import { each } from '../frame';
import { type Head, page, terms } from '../shell';
import { table } from '../table';
import { tilesBeside } from '../tiles';
import { broken } from './run/broken';
import { generator } from './run/generator';
import { latency, overTime } from './run/latency';
import { errors, load, throughput } from './run/load';
import { metrics } from './run/metrics';
import { multiples } from './run/multiples';
import { probes } from './run/probes';
import { regions, steps, stepsInFull } from './run/steps';
import { held, IN_PROGRESS, totals, worst } from './run/totals';

const VERDICTS: Record<RunDocument['verdict'], [string, Head['tone']]> = {
  measured: ['Measured', 'plain'],
  passed: ['Passed', 'good'],
  failed: ['Failed', 'bad'],
  untrusted: ['Untrusted', 'bad'],
  imported: ['Imported', 'plain'],
  running: ['Running', 'plain'],
  paused: ['Arrivals paused', 'plain'],
  stopping: ['Stopping', 'plain'],
};

/** The figure that shows a finding, by the prefix of its code. */
const FIGURES: [string, string][] = [
  ['generator-lag', 'lag'],
  ['generator-cpu', 'generator-cpu'],
  ['generator-starved', 'generator-cpu'],
  ['generator-scripts', 'generator-cpu'],
  ['generator-memory', 'generator-memory'],
  ['generator-healthy', 'lag'],
  ['generator-', 'users'],
  ['target-limit', 'users'],
  ['connecting-limit', 'users'],
  ['users-held', 'users'],
  ['arrivals-paused', 'arrivals'],
  ['run-incomplete', 'throughput'],
  ['worker-lost', 'users'],
  ['host-', 'host-network'],
  ['incident', 'what-broke'],
  ['periodic-stall', 'percentiles'],
  ['response-grows', 'percentiles'],
  ['two-groups', 'heat'],
  ['keep-alive-closed', 'errors-over-time'],
  ['channels-ended', 'errors-over-time'],
  ['errors', 'errors-over-time'],
  ['connects-retried', 'errors-over-time'],
  ['unmatched-messages', 'traffic'],
  ['throughput', 'throughput'],
  ['percentiles-bounded', 'steps'],
];

export function figureOf(code: string): string | undefined {
  return FIGURES.find(([start]) => code.startsWith(start))?.[1];
}

export function run(doc: RunDocument): void {
  const [verdict, tone] = VERDICTS[doc.verdict];
  const { run: head } = doc;
  const started = new Date(head.started_unix_ms).toISOString().replace('T', ' ').slice(0, 19);
  const inProgress = IN_PROGRESS.includes(doc.verdict);
  const lines = placesOf(doc);
  const { chooser, figure: response } = overTime(doc);
  const over = sideBySide([throughput(doc), response]);
  page(
    {
      title: head.name,
      verdict,
      tone,
      facts: [
        head.target,
        `${started} UTC`,
        span(head.ended_s),
        ...(doc.verdict === 'imported' ? [] : [`seed ${head.seed}`]),
      ],
    },
    [
      {
        title: 'Totals',
        content: [
          tilesBeside(
            [{ name: 'Verdict', value: verdict, note: held(doc), tone }, ...totals(doc)],
            worst(doc),
          ),
          ...missing(doc),
          inProgress && soFar(doc),
        ],
      },
      { title: 'Thresholds', content: [thresholds(doc, inProgress)] },
      { title: 'What broke', content: [...broken(doc), lines.broke] },
      { title: 'Steps', content: steps(doc) },
      { title: 'Metrics', content: metrics(doc) },
      { title: 'Who was the limit', id: 'limit', content: [lines.limit] },
      {
        title: 'Over time',
        content: over ? [chooser, over] : [],
      },
      ...[
        { title: 'Other findings', id: 'findings', content: [lines.more] },
        {
          title: 'Steps in full',
          id: 'steps-in-full',
          content: [...stepsInFull(doc), multiples(doc)],
        },
        { title: 'Load', content: load(doc) },
        { title: 'Latency', content: latency(doc) },
        { title: 'Errors', content: errors(doc) },
        { title: 'Regions', content: [regions(doc)] },
        { title: 'Generator', content: generator(doc) },
        { title: 'Server side', content: probes(doc) },
        { title: 'The run', content: [about(doc)] },
      ].map((section) => ({ ...section, isMore: true })),
    ],
    doc.throng,
  );
  // Findings link to figures, so they come last.
  for (const [place, list] of Object.entries(lines)) {
    if (!list) continue;
    const all = doc.findings.filter((_, n) => doc.places[n] === place);
    list.append(inProgress ? findings(bare(all), () => undefined) : findings(all, figureOf));
  }
}

/** Places for findings; those without any are left out. */
function placesOf(doc: RunDocument) {
  const holder = (place: FindingPlace) => (doc.places.includes(place) ? el('div') : null);
  return { broke: holder('broke'), limit: holder('limit'), more: holder('more') };
}

const pair = el('div', { class: 'pair' });

/** The first figures. They are not moved when a longer document is drawn, so that they keep their focus. */
function sideBySide(figures: Child[]): HTMLElement | null {
  const all = figures.filter((one) => one instanceof HTMLElement);
  const isSame =
    all.length === pair.children.length && all.every((one, n) => pair.children[n] === one);
  if (!isSame) pair.replaceChildren(...all);
  return all.length > 0 ? pair : null;
}

function soFar(doc: RunDocument): HTMLElement {
  const words = `Preliminary, after ${span(doc.run.ended_s)}; the verdict comes at the end.`;
  return el('p', { class: 'note' }, words);
}

/** Findings without evidence and links, which would be replaced every second while somebody uses them. */
function bare(all: Finding[]): Finding[] {
  return all.map((one) => ({ ...one, evidence: {} }));
}

function missing(doc: RunDocument): HTMLElement[] {
  if (doc.missing.length === 0) return [];
  return [el('p', { class: 'missing' }, `The record is incomplete: ${doc.missing.join('; ')}.`)];
}

function thresholds(doc: RunDocument, inProgress: boolean): HTMLElement | null {
  // Those that failed come first, each group in the order of the scenario.
  const all = [...doc.thresholds].sort((a, b) => Number(a.passed) - Number(b.passed));
  if (all.length === 0) return null;
  const far = inProgress ? ' so far' : '';
  return table({
    title: 'Thresholds',
    frame: [
      each(all, 'threshold', '', (one) => one.text),
      each(all, `result${far}`, '', (one) => (one.passed ? '✓ ok' : '✗ failed') + far),
      each(all, `measured${far}`, '', (one) => one.shown),
      ...(all.some((one) => one.interval)
        ? [{ ...each(all, '95 % interval', '', interval), isExtra: true }]
        : []),
    ],
    rowClass: (row) => (all[row]?.passed ? '' : 'bad'),
  });
}

/** How far the percentile of a threshold may lie from the true one. */
function interval(one: ThresholdResult): string {
  const { low_ns: low, high_ns: high, high_is_bound: isBound } = one.interval ?? {};
  if (low === undefined || low === null || high === undefined || high === null) return '–';
  const ends = `${formatUnit(low, 'ns')} … ${isBound ? '≥ ' : ''}${formatUnit(high, 'ns')}`;
  return one.within_interval ? `${ends}, the limit within: undecided` : ends;
}

/** A property of the host: the kernel counts memory in KiB, which it calls kB. */
function ofHost(value: string): string {
  const kib = /^(\d+) kB$/.exec(value)?.[1];
  return kib === undefined ? value : bytes(1024 * Number(kib));
}

function about(doc: RunDocument): HTMLElement {
  const { run: head } = doc;
  const generator: [string, string][] =
    doc.verdict === 'imported'
      ? []
      : [
          [
            'generator',
            `${head.mode}, ${head.loops} loops on ${head.cores} cores` +
              (head.workers > 0 ? `, ${head.workers} workers` : ''),
          ],
        ];
  return terms([
    ['id', head.id],
    ['status', head.status],
    ...generator,
    ...(head.overrides.length > 0
      ? [['overrides', head.overrides.join(', ')] as [string, string]]
      : []),
    ...Object.entries(head.host).map(([name, value]): [string, string] => [name, ofHost(value)]),
  ]);
}
