/** The first figures of a run: what was offered, begun and completed, what failed, how long its worst step took. */

import type { FocusReason, RunDocument, RunVerdict, Totals } from '../../document/run';
import { count, duration, share, significant } from '../../format';
import type { Tile, TileGroup } from '../../tiles';

/** Verdicts of a run in progress. */
export const IN_PROGRESS: readonly RunVerdict[] = ['running', 'paused', 'stopping'];

/** How many thresholds hold; or what else failed the run. */
export function held(doc: Pick<RunDocument, 'thresholds' | 'verdict' | 'findings'>): string {
  const { thresholds: all, verdict } = doc;
  const holding = all.filter((one) => one.passed).length;
  const isRunning = IN_PROGRESS.includes(verdict);
  const has = (code: string) => doc.findings.some((one) => one.code === code);
  if (verdict === 'failed' && holding === all.length) {
    if (has('run-aborted')) return 'a threshold ended the run';
    if (has('own-failures')) return 'sessions failed of themselves';
    if (has('nothing-succeeded')) return 'nothing succeeded';
    if (has('steps-never-succeeded')) return 'a step never succeeded';
    if (has('target-stopped')) return 'the target stopped answering';
    if (has('target-saturated')) return 'the target fell behind';
  }
  // Of a run that is followed by its record nothing is known of thresholds before its end.
  if (all.length === 0) return isRunning ? 'not judged yet' : 'no thresholds';
  return `${holding} of ${all.length} thresholds hold${isRunning ? ' so far' : ''}`;
}

/** The tiles of a run, without its verdict and without those of a step. */
export function totals(doc: RunDocument): Tile[] {
  const { users, totals: all, focus } = doc;
  const isImported = doc.verdict === 'imported';
  return [
    ...(isImported && users.started === 0 ? [] : [usersTile(doc)]),
    ...rates(all),
    {
      name: 'Failed',
      value: all.error_share === null ? '–' : share(all.error_share),
      note: `${count(all.errors)} of ${count(all.operations)} operations${ownFailures(all)}${
        all.unfinished > 0 ? `, ${count(all.unfinished)} unfinished` : ''
      }${focus && !worst(doc) ? ofFocus(doc, `${focus.name}: `) : ''}`,
      tone: all.errors > 0 ? 'bad' : 'plain',
    },
  ];
}

/** Why the percentiles are those of a step. */
const REASONS: Record<FocusReason, string> = {
  threshold: ', whose threshold failed',
  errors: ', the highest share of failures',
  slowest: ', the slowest',
};

/** How much of the step in focus failed. */
function ofFocus({ focus, totals: all }: RunDocument, name = ''): string {
  if (!focus || focus.errors === 0 || focus.count === all.operations) return '';
  return `; ${name}${share(focus.errors / Math.max(1, focus.count))} failed`;
}

function usersTile({ users }: RunDocument): Tile {
  // The plan of random arrivals has an expected number.
  const planned = Math.round(users.planned);
  const of = planned > 0 && planned !== users.started ? ` of ${count(planned)} planned` : '';
  return {
    name: 'Users',
    value: count(users.started),
    // Published results do not say how many were there at once.
    note: `started${of}${users.peak > 0 ? `, peak ${count(users.peak)}` : ''}${others(users)}`,
  };
}

/**
 * Sessions that did not finish, by how they ended, and users that had none. Those that a limit of the generator stopped
 * have failed, as in `failed(sessions)`.
 */
function others(users: RunDocument['users']): string {
  const { stopped } = users;
  const limited = stopped > 0 ? ` (${count(stopped)} stopped)` : '';
  const ends: [number, string][] = [
    [users.failed + stopped, `failed${limited}`],
    [users.cut_off, 'cut off'],
    [users.lost, 'lost'],
    [users.unstarted, 'due and not started'],
  ];
  return ends.map(([number, end]) => (number > 0 ? `, ${count(number)} ${end}` : '')).join('');
}

/** What failed and is no operation. */
function ownFailures({ own_failures: steps }: Totals): string {
  if (steps === 0) return '';
  if (steps === 1) return ' and 1 step that failed of itself';
  return ` and ${count(steps)} steps that failed of themselves`;
}

function rates(all: Totals): Tile[] {
  const tile = (name: string, rate: number | null, note: string): Tile[] =>
    rate === null ? [] : [{ name, value: `${significant(rate)}/s`, note }];
  return [
    ...tile('Offered', all.offered_per_s, 'operations due'),
    ...tile('Begun', all.begun_per_s, 'operations begun'),
    ...tile(
      'Completed',
      all.completed_per_s,
      `answered${all.drained > 0 ? `; ${count(all.drained)} more in the drain` : ''}`,
    ),
  ];
}

/** The percentiles of the step that did worst. */
export function worst(doc: RunDocument): TileGroup | null {
  const { focus, totals: all } = doc;
  const step = focus?.totals ?? all.step;
  if (!step) return null;
  const why = focus?.totals ? REASONS[focus.reason] + ofFocus(doc) : '';
  const tile = (name: string, of: number, ns: number): Tile => {
    const isBound = step.bound_above !== null && of > step.bound_above + 1e-12;
    return { name, value: (isBound ? '≥ ' : '') + duration(ns) };
  };
  return {
    name: step.name + why,
    tiles: [
      tile('p50', 0.5, step.p50_ns),
      tile('p95', 0.95, step.p95_ns),
      tile('p99', 0.99, step.p99_ns),
    ],
  };
}
