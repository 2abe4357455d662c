/** A duet: the decision, each step with the interval that is valid now, and its difference in each pair. */

import { type Line, lines } from '../chart/lines';
import type { DuetDocument, DuetPageStep } from '../document/duet';
import { type Child, el } from '../dom';
import { figure } from '../figure';
import { findings } from '../findings';
import { counted, formatUnit, share } from '../format';
import { column, each } from '../frame';
import { page, type Section } from '../shell';
import { unbroken } from '../quantity';
import { table } from '../table';

export function duet(doc: DuetDocument): void {
  const found = el('div');
  page(
    {
      title: 'Duet',
      verdict: capital(doc.verdict),
      tone: doc.accepted === null ? 'plain' : doc.accepted ? 'good' : 'bad',
      facts: [
        `${counted(doc.pairs, 'pair')} (${doc.interleave})`,
        ...(doc.pairs_expected === null ? [] : [`about ${doc.pairs_expected} expected`]),
        `${doc.figure} of each step`,
        `α ${doc.alpha} over all looks`,
        `a difference matters from ${percent(doc.difference)}`,
      ],
    },
    [
      {
        title: 'Result',
        content: [el('p', { class: 'lead' }, ...unbroken(`${capital(doc.sentence)}.`)), steps(doc)],
      },
      { title: 'Findings', content: [doc.findings.length > 0 && found] },
      ...doc.steps.map((step, place) => section(doc, step, place)),
      { title: 'Noise', content: [noise(doc)] },
      { title: 'Runs', content: runs(doc) },
    ],
    doc.throng,
  );
  found.append(
    findings(doc.findings, (_, text) => {
      const place = doc.steps.findIndex((step) => text.includes(step.name));
      return place < 0 ? undefined : `pairs-${place}`;
    }),
  );
}

/** A share as a setting or an estimate has it: `5 %`, `0.5 %`, `55 %`. */
function percent(x: number | null): string {
  return x === null ? '–' : `${Number((100 * x).toPrecision(2))} %`;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function interval(step: DuetPageStep): string {
  if (!step.interval) return 'open';
  const [low, high] = step.interval.map((end) => formatUnit(end, 'change'));
  return `${low} to ${high}`;
}

function steps(doc: DuetDocument): HTMLElement {
  const all = doc.steps;
  const { errors } = doc;
  const bad = [...all.map((step) => step.accepted === false), errors.rose];
  const more =
    doc.steps_left_out > 0 &&
    el('p', { class: 'note' }, `${doc.steps_left_out} more steps are in the JSON of the duet.`);
  const figures = table({
    title: 'Steps',
    frame: [
      each(all, 'step', '', (step) => step.name),
      each(all, 'figure', '', (step) => step.figure),
      each(all, 'old', 'ns', (step) => step.old_ns),
      each(all, 'new', 'ns', (step) => step.new_ns),
      each(all, 'change', 'change', (step) => step.change),
      {
        ...column(`${share(1 - doc.alpha)} interval, valid now`, '', all.map(interval)),
        areFigures: true,
      },
      each(all, 'p', 'p', (step) => step.p),
      each(all, 'verdict', '', (step) => step.verdict),
    ],
    rowClass: (row) => (bad[row] ? 'bad' : ''),
  });
  const failures = el(
    'p',
    {},
    ...unbroken(
      `Failed operations: ${share(errors.old)} of the old target’s, ${share(errors.new)} of the new one’s`,
    ),
    errors.rose ? ', which is more than chance explains.' : '.',
  );
  return el('div', {}, figures, more, failures);
}

function section(doc: DuetDocument, step: DuetPageStep, place: number): Section {
  return {
    title: step.name,
    id: `step-${place}`,
    content: [el('p', {}, ...unbroken(`${capital(step.text)}.`)), pairs(doc, step, place)],
  };
}

/** The difference in each pair, within what does not matter and the interval that is known in the end. */
function pairs(doc: DuetDocument, step: DuetPageStep, place: number): Child {
  const all = step.differences;
  if (all.length === 0) return null;
  const drawn: Line[] = [
    {
      name: 'difference in a pair',
      unit: 'change',
      style: 0,
      dots: true,
      points: all.map((one, pair): [number, number] => [pair + 1, one]),
    },
    ...(step.change === null
      ? []
      : [
          {
            name: 'estimate',
            unit: 'change',
            style: 1,
            points: [1, all.length].map((pair): [number, number | null] => [pair, step.change]),
          },
        ]),
  ];
  return figure({
    title: `Differences of ${step.name}`,
    id: `pairs-${place}`,
    note: 'How much longer the new target took than the old one in each pair, under the same users.',
    height: 240,
    legend: drawn.map(({ name, style = 0, dots }) => ({ name, style, dots: dots ?? false })),
    frame: () => [
      each(all, 'pair', 'count', (_, pair) => pair + 1),
      column('difference', 'change', all),
    ],
    option: (theme, hidden) =>
      lines(
        {
          x: { unit: 'count', name: 'pair', min: 0.5, max: all.length + 0.5 },
          y: { unit: 'change', name: 'difference' },
          lines: drawn.filter((one) => !hidden.has(one.name)),
          limits: [
            { at: doc.difference, name: `matters from ${percent(doc.difference)}` },
            { at: -doc.difference, name: '' },
          ],
        },
        theme,
      ),
  });
}

function noise(doc: DuetDocument): Child {
  const all = doc.noise;
  if (all.length === 0) return null;
  const wasAtOnce = all.some((one) => one.disturbance !== null);
  return table({
    title: 'The old target against itself',
    frame: [
      each(all, 'step', '', (one) => one.name),
      { ...each(all, 'pairs scatter by', '', (one) => percent(one.scatter)), areFigures: true },
      ...(wasAtOnce
        ? [each(all, 'slower beside itself by', 'change', (one) => one.disturbance)]
        : []),
    ],
  });
}

function runs(doc: DuetDocument): Child[] {
  const all = doc.runs;
  if (all.length === 0) return [];
  const more =
    doc.runs_left_out > 0 &&
    el('p', { class: 'note' }, `${doc.runs_left_out} more runs are in the JSON of the duet.`);
  const list = table({
    title: 'Runs',
    frame: [
      each(all, 'pair', 'count', (run) => run.pair),
      each(all, 'target', '', (run) => run.side),
      each(all, 'directory', '', (run) => run.directory),
      each(all, 'trusted', '', (run) => (run.trusted ? 'yes' : 'no')),
    ],
    rowClass: (row) => (all[row]?.trusted === false ? 'bad' : ''),
  });
  return [list, more];
}
