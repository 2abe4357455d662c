/** Load: throughput, users, traffic, errors. */

import type { RunDocument } from '../../document/run';
import type { Child } from '../../dom';
import { count, span } from '../../format';
import { each } from '../../frame';
import { table } from '../../table';
import { FIRST_HEIGHT, type Series, series, slots, timeline, track } from '../timeline';
import { what } from './broken';

/** Operations over time. */
export function throughput(doc: RunDocument): Child {
  const { course } = doc;
  if (course.seconds.length === 0) return null;
  const thinned =
    course.slot_s > 1
      ? `Each point is the mean of ${span(course.slot_s)}; bands show the minimum and maximum of a second.`
      : 'Operations of all steps, a second.';
  return timeline(doc, {
    title: 'Throughput',
    note: thinned,
    unit: '1/s',
    yName: 'operations per second',
    height: FIRST_HEIGHT,
    series: [
      series(course, 'operations_completed', 'completed', '1/s'),
      series(course, 'operations_begun', 'begun', '1/s'),
      ...(track(course, 'errors') ? [series(course, 'errors', 'failed', '1/s')] : []),
    ],
  });
}

export function load(doc: RunDocument): Child[] {
  const { course } = doc;
  if (course.seconds.length === 0) return [phases(doc)];
  const line = (name: string, words: string, unit: string) => series(course, name, words, unit);
  const some = (name: string, words: string, unit: string) =>
    track(course, name) ? [line(name, words, unit)] : [];
  return [
    timeline(doc, {
      title: 'Users',
      note: `${count(doc.users.started)} started, ${count(doc.users.connected)} connected, peak ${count(doc.users.peak)}.`,
      unit: 'count',
      yName: 'users',
      series: [
        line('users', 'active users', 'count'),
        ...some('connections', 'open connections', 'count'),
        ...some('in_flight', 'operations in flight', 'count'),
      ],
    }),
    timeline(doc, {
      title: 'Arrivals',
      unit: '1/s',
      yName: 'users per second',
      series: [
        line('users_due', 'due', '1/s'),
        line('users_started', 'started', '1/s'),
        ...some('users_refused', 'refused', '1/s'),
        ...some('users_held', 'held back', '1/s'),
        ...some('users_paused', 'due during a pause', '1/s'),
      ],
    }),
    timeline(doc, {
      title: 'Traffic',
      note: 'Application bytes, without the overhead of TCP and TLS.',
      unit: 'B/s',
      yName: 'bytes per second',
      series: [line('bytes_out', 'sent', 'B/s'), line('bytes_in', 'received', 'B/s')],
    }),
    pushes(doc),
    phases(doc),
  ];
}

/** Pushed messages. */
function pushes(doc: RunDocument): HTMLElement | null {
  const { course } = doc;
  const all: Series[] = course.measures
    .filter((measure) => measure.kind === 'message')
    .map((measure) => ({
      name: measure.name,
      unit: '1/s',
      at_s: slots(course),
      mean: measure.per_s,
    }));
  if (track(course, 'unmatched')) {
    all.push(series(course, 'unmatched', 'unmatched', '1/s'));
  }
  if (all.length === 0) return null;
  return timeline(doc, {
    title: 'Pushed messages',
    id: 'pushes',
    note: 'Messages that the target pushed, by the matching entry of the scenario.',
    unit: '1/s',
    yName: 'messages per second',
    series: all,
  });
}

function phases(doc: RunDocument): HTMLElement | null {
  const all = doc.phases;
  if (all.length === 0) return null;
  return table({
    title: 'Phases',
    frame: [
      each(all, 'phase', '', (one) => one.name),
      each(all, 'kind', '', (one) => one.kind),
      each(all, 'from', 's', (one) => one.start_s),
      each(all, 'to', 's', (one) => one.end_s),
      each(all, 'users planned', 'count', (one) => one.users_planned),
      each(all, 'users started', 'count', (one) => one.users_started),
    ],
  });
}

export function errors(doc: RunDocument): Child[] {
  const { course, examples } = doc;
  const drawn = course.errors.filter(({ per_s }) => per_s.length > 0);
  const over =
    drawn.length > 0 &&
    timeline(doc, {
      title: 'Failures over time',
      id: 'errors-over-time',
      note: 'What failed, by step, kind and detail: at most twelve, the most frequent.',
      unit: '1/s',
      yName: 'failures per second',
      series: drawn.map((one) => ({
        name: `${one.step}: ${what(one)}`,
        unit: '1/s',
        at_s: slots(course),
        mean: one.per_s,
      })),
    });
  // Older records say what failed by kind alone, and when the first of each kind did.
  const isKnown = doc.failures.list.some((one) => one.first_s !== null);
  const failing = isKnown ? [] : doc.steps.filter((step) => step.phase === null && step.errors > 0);
  const kinds = failing.flatMap((step) =>
    Object.entries(step.errors_by_kind).map(([kind, n]) => ({ step, kind, n })),
  );
  const byStep =
    kinds.length > 0 &&
    table({
      title: 'Failures by step and kind',
      frame: [
        each(kinds, 'step', '', (one) => one.step.name),
        each(kinds, 'kind', '', (one) => one.kind),
        each(kinds, 'failed', 'count', (one) => one.n),
        each(kinds, 'share', 'share', (one) => one.n / Math.max(1, one.step.count)),
      ],
    });
  const ordered = [...examples].sort((a, b) => a.at_s - b.at_s);
  const hasSamples = doc.failures.list.some((one) => one.samples.length > 0);
  const first =
    !hasSamples &&
    examples.length > 0 &&
    table({
      title: 'First failures of each kind',
      frame: [
        each(ordered, 'step', '', (one) => one.measure),
        each(ordered, 'kind', '', (one) => one.outcome),
        each(ordered, 'at', 's', (one) => one.at_s),
        each(ordered, 'detail', '', (one) => one.detail),
      ],
    });
  return [over, byStep, first];
}
