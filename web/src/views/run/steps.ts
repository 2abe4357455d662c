/** Figures by step, over the run and by phase; and by region of imported results. */

import type { RunDocument, Step } from '../../document/run';
import { type Child, el } from '../../dom';
import { count } from '../../format';
import { column } from '../../frame';
import { table } from '../../table';

/** Where each stands in a step's times. */
const TIMES = { mean: 0, p50: 2, p90: 3, p95: 4, p98: 5, p99: 6, 'p99.9': 7, max: 8 } as const;

export function steps(doc: RunDocument): Child[] {
  const whole = doc.steps.filter((step) => step.phase === null);
  const phases = doc.phases
    .map((phase, place) => ({ phase, steps: doc.steps.filter((step) => step.phase === place) }))
    .filter(({ steps: all }) => all.length > 0);
  const left = doc.steps_left_out;
  return [
    whole.length > 0 && stepTable('Response by step, whole run', whole),
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

function stepTable(title: string, all: Step[]): HTMLElement {
  return table({
    title,
    frame: [
      column(
        'step',
        '',
        all.map((step) => step.name),
      ),
      column(
        'count',
        'count',
        all.map((step) => step.count),
      ),
      column(
        'rate',
        '1/s',
        all.map((step) => step.rate_per_s),
      ),
      column(
        'errors',
        'count',
        all.map((step) => step.errors),
      ),
      ...Object.entries(TIMES).map(([name, place]) =>
        column(
          name,
          'ns',
          all.map((step) => step.response?.[place] ?? null),
        ),
      ),
      column(
        'lag p99',
        'ns',
        all.map((step) => step.lag?.[TIMES.p99] ?? null),
      ),
    ],
    rowClass: (row) => ((all[row]?.errors ?? 0) > 0 ? 'failing' : ''),
  });
}

export function regions(doc: RunDocument): HTMLElement | null {
  const all = doc.regions;
  if (all.length === 0) return null;
  return table({
    title: 'Clients by region',
    frame: [
      column(
        'region',
        '',
        all.map((one) => one.name || '–'),
      ),
      column(
        'clients',
        'count',
        all.map((one) => one.clients),
      ),
      column(
        'without report',
        'count',
        all.map((one) => one.unreachable),
      ),
      column(
        'users planned',
        'count',
        all.map((one) => one.users_planned),
      ),
      column(
        'connected',
        'count',
        all.map((one) => one.connected),
      ),
      column(
        'failed',
        'count',
        all.map((one) => one.failed),
      ),
    ],
  });
}
