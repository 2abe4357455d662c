/** A comparison: the decision, what changed and what failed, then each measure with its tests folded. */

import type { ComparisonDocument, Measure } from '../document/comparison';
import { type Child, el } from '../dom';
import { findings } from '../findings';
import { counted, formatUnit, significant, span } from '../format';
import { type Column, each } from '../frame';
import { page, type Section } from '../shell';
import { unbroken } from '../quantity';
import { table } from '../table';
import { changes as changeList, failures, minus } from './comparison/changed';
import { differenceFigure, distributionFigure, tailFigure } from './comparison/curves';
import { groups } from './comparison/groups';

const RULES: Record<string, string> = {
  permutation: 'decided by permutations of runs',
  student: 'decided by Student’s t over runs',
  windows: 'decided by windows of the two runs',
};

export function comparison(doc: ComparisonDocument): void {
  const baselines = doc.runs.filter((run) => run.side === 'baseline').length;
  const others = doc.runs.length - baselines;
  const lines = el('div');
  const notes = el('div');
  const ids = new Map(doc.measures.map((measure, place) => [measure.name, `measure-${place}`]));
  page(
    {
      title: 'Comparison',
      verdict: capital(doc.verdict),
      tone: doc.accepted ? 'good' : 'bad',
      facts: [
        baselines > 0
          ? `${counted(others, 'run')} vs ${counted(baselines, 'baseline')}`
          : `${counted(others, 'run')} with each other`,
        RULES[doc.rule ?? ''] ?? 'each pair of runs tested',
        `${doc.time} times`,
        `α ${doc.alpha}`,
        ...(doc.phase ? [`phase ${doc.phase}`] : []),
      ],
    },
    [
      {
        title: 'Result',
        content: [
          el('p', { class: 'lead' }, ...unbroken(`${capital(doc.sentence)}.`)),
          changeList(doc, ids),
          failures(doc),
          doc.unchanged && el('p', {}, ...unbroken(`${capital(doc.unchanged.text)}.`)),
        ],
      },
      {
        title: 'Findings',
        content: [
          doc.remarks.length > 0 && lines,
          doc.notes.length > 0 &&
            el(
              'details',
              { class: 'phase' },
              el('summary', {}, 'What could have been seen, and how it was decided'),
              notes,
            ),
        ],
      },
      { title: 'Measures', content: [overview(doc, ids)] },
      ...doc.measures.map((measure, place) => section(doc, measure, place)),
      { title: 'Runs', content: [runs(doc)] },
    ],
    doc.throng,
  );
  const figure = (_: string, text: string) => {
    // A finding on a measure begins with its name.
    const measure = doc.measures.find((one) => text.startsWith(`${one.name}:`));
    return measure && ids.get(measure.name);
  };
  lines.append(findings(doc.remarks, figure));
  notes.append(findings(doc.notes, figure));
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function overview(doc: ComparisonDocument, ids: Map<string, string>): HTMLElement {
  const all = doc.measures;
  const left = doc.measures_left_out;
  const links = el(
    'ul',
    { class: 'measures' },
    ...all.map((one) =>
      el(
        'li',
        {},
        el('a', { href: `#${ids.get(one.name)}` }, one.name),
        el('span', {}, ` ${one.text || one.verdict}`),
      ),
    ),
  );
  const more =
    left > 0 &&
    el('p', { class: 'note' }, `${left} more measures are in the JSON of the comparison.`);
  return el('div', {}, links, more);
}

function section(doc: ComparisonDocument, measure: Measure, place: number): Section {
  return {
    title: measure.name,
    id: `measure-${place}`,
    content: [
      el('p', {}, ...unbroken(`${capital(measure.text || measure.verdict)}.`)),
      changes(doc, measure),
      ...figures(doc, measure, place),
      evidence(doc, measure),
      power(doc, measure),
      serial(doc, measure),
      figuresOfRuns(doc, measure),
    ],
  };
}

function figures(doc: ComparisonDocument, measure: Measure, place: number): Child[] {
  const all: Child[] = [];
  if (measure.curves) {
    all.push(
      el(
        'div',
        { class: 'pair' },
        distributionFigure(doc, measure.curves, place),
        tailFigure(doc, measure.curves, place),
      ),
    );
    if (measure.curves.differences.length > 0) {
      all.push(differenceFigure(doc, measure.curves, place));
    }
  }
  return [...all, ...groups(doc, measure, place)];
}

function changes(doc: ComparisonDocument, measure: Measure): HTMLElement | null {
  const all = measure.changes;
  if (all.length === 0) return null;
  const title = `Changes of ${measure.name}`;
  // Baseline and candidate are figures of complete runs; single runs are compared by their windows.
  const isOfWindows = doc.rule === 'windows';
  const figures = (name: string, shown: (one: (typeof all)[number]) => string | null): Column => ({
    ...each(all, name, '', (one) => minus(shown(one) ?? '–')),
    areFigures: true,
  });
  return table({
    title,
    frame: [
      each(all, 'figure', '', (one) => one.label),
      figures('baseline', (one) => one.baseline_shown),
      figures('candidate', (one) => one.candidate_shown),
      figures(isOfWindows ? 'windows differ by' : 'difference', (one) => one.difference_shown),
      figures(`${confidence(doc)} interval`, (one) => one.interval_shown),
      each(all, isOfWindows ? 'change of windows' : 'change', 'change', (one) => one.relative),
      each(all, 'p', 'p', (one) => one.p),
      each(all, 'p, corrected', 'p', (one) => one.p_adjusted),
      each(all, 'result', '', (one) =>
        one.counts
          ? '● relevant'
          : one.seen
            ? '○ significant, within tolerance'
            : 'not significant',
      ),
    ],
    rowClass: (row) => (all[row]?.counts ? 'counts' : ''),
  });
}

/** `95 %`. */
function confidence(doc: ComparisonDocument): string {
  return `${Number((100 * (1 - doc.alpha)).toFixed(3))} %`;
}

/** Tests with operations as the unit. */
function evidence(doc: ComparisonDocument, measure: Measure): HTMLElement | null {
  const found = measure.evidence;
  if (!found) return null;
  const tests = [
    ['Kolmogorov–Smirnov', found.ks],
    ['Anderson–Darling', found.ad],
    ['Mann–Whitney', found.mann_whitney],
  ] as const;
  const [low, high] = found.cliffs_delta_interval;
  const signed = (ns: number) => formatUnit(ns, '±ns');
  const ends = found.shift_interval_ns?.map(signed).join(' to ');
  const shift = signed(found.shift_ns) + (ends ? ` (${ends})` : '');
  return el(
    'details',
    { class: 'phase' },
    el('summary', {}, 'Tests on operations'),
    el(
      'p',
      { class: 'note' },
      'Each side’s operations are one sample. The tests say how the samples differ, not whether other runs would differ, so they do not affect the verdict. ' +
        `Cliff’s delta ${significant(found.cliffs_delta)} (${significant(low)} to ${significant(high)}), shift ${shift}; intervals of ${confidence(doc)}.`,
    ),
    table({
      title: `Tests on operations of ${measure.name}`,
      frame: [
        each(tests, 'test', '', ([name]) => name),
        each(tests, 'statistic', '', ([, test]) => test.statistic),
        each(tests, 'p', 'p', ([, test]) => test.p),
        each(tests, 'p, corrected', 'p', ([, test]) => test.p_adjusted),
      ],
    }),
  );
}

/** The differences that these runs and twice as many would show. */
function power(doc: ComparisonDocument, measure: Measure): HTMLElement | null {
  const all = measure.detect;
  if (all.length === 0) return null;
  const runsOf = (side: string) => doc.runs.filter((run) => run.side === side).length;
  const [baseline, candidate] = [runsOf('baseline'), runsOf('candidate')];
  const from = (share: number | null) =>
    share === null ? '–' : formatUnit(share, 'change').slice(1);
  const label = (figure: string) =>
    measure.changes.find((one) => one.figure === figure)?.label ?? figure;
  return el(
    'details',
    { class: 'phase' },
    el('summary', {}, 'Differences that would be seen'),
    el(
      'p',
      { class: 'note' },
      'The least differences that are seen four times in five, by the scatter of these runs.',
    ),
    table({
      title: `Differences of ${measure.name} that would be seen`,
      frame: [
        each(all, 'figure', '', (one) => label(one.figure)),
        each(all, 'scatter of runs', 'share', (one) => one.scatter),
        each(all, `from, with ${baseline} + ${candidate} runs`, '', (one) => from(one.share)),
        each(all, `from, with ${2 * baseline} + ${2 * candidate} runs`, '', (one) =>
          from(one.share_doubled),
        ),
        each(all, `runs on each side for ${from(doc.detect)}`, 'count', (one) => one.runs),
      ],
    }),
  );
}

/** How far operations depend on those before them. */
function serial(doc: ComparisonDocument, measure: Measure): HTMLElement | null {
  const all = measure.serial;
  if (all.length === 0) return null;
  return el(
    'details',
    { class: 'phase' },
    el('summary', {}, 'Serial correlation'),
    el(
      'p',
      { class: 'note' },
      'Operations resemble those before them, and carry as much information as fewer independent ones.',
    ),
    table({
      title: `Serial correlation of ${measure.name}`,
      frame: [
        each(doc.runs, 'run', '', (run) => run.label),
        each(all, 'operations', 'count', (one) => one.count),
        each(all, 'worth independent ones', 'count', (one) => one.effective),
      ],
    }),
  );
}

function figuresOfRuns(doc: ComparisonDocument, measure: Measure): HTMLElement {
  const all = measure.runs;
  const title = `Figures of ${measure.name} by run`;
  return el(
    'details',
    { class: 'phase' },
    el('summary', {}, 'Figures by run'),
    table({
      title,
      frame: [
        each(doc.runs, 'run', '', (run) => run.label),
        each(all, 'succeeded', 'count', (one) => one.count),
        each(all, 'completed/s', '1/s', (one) => one.rate),
        each(all, 'error rate', 'share', (one) => one.error_rate),
        each(all, 'mean', 'ns', (one) => one.mean_ns),
        ...doc.quantiles.map((q, place) =>
          each(
            all,
            `p${Number((100 * q).toFixed(6))}`,
            'ns',
            (one) => one.quantiles_ns[place] ?? null,
          ),
        ),
      ],
    }),
  );
}

function runs(doc: ComparisonDocument): HTMLElement {
  const all = doc.runs;
  const started = (ns: number) => new Date(ns / 1e6).toISOString().replace('T', ' ').slice(0, 19);
  return table({
    title: 'Runs',
    frame: [
      each(all, 'run', '', (run) => run.label),
      each(all, 'side', '', (run) => run.side),
      each(all, 'directory', '', (run) => run.directory),
      each(all, 'started, UTC', '', (run) => started(run.started_unix_ns)),
      each(all, 'compared', '', (run) => (run.timed ? span(run.seconds) : '–')),
      each(all, 'target', '', (run) => run.target),
      each(all, 'trusted', '', (run) => (run.trusted ? 'yes' : 'no')),
    ],
    rowClass: (row) => (all[row]?.trusted ? '' : 'bad'),
  });
}
