/** What was asked for and what was done: users, throughput, traffic, errors. */

import type { RunDocument } from '../../document/run';
import type { Child } from '../../dom';
import { count, span } from '../../format';
import { each } from '../../frame';
import { table } from '../../table';
import { type Series, series, slots, timeline, track } from '../timeline';

export function load(doc: RunDocument): Child[] {
  const { course } = doc;
  if (course.seconds.length === 0) return [phases(doc)];
  const line = (name: string, words: string, unit: string) => series(course, name, words, unit);
  const some = (name: string, words: string, unit: string) =>
    track(course, name) ? [line(name, words, unit)] : [];
  const thinned =
    course.slot_s > 1
      ? `Each point is the mean of ${span(course.slot_s)}; bands reach from the least to the greatest second.`
      : undefined;
  return [
    timeline(doc, {
      title: 'Throughput',
      note: thinned,
      unit: '1/s',
      yName: 'operations a second',
      series: [
        line('done', 'ended', '1/s'),
        line('sends', 'begun', '1/s'),
        ...some('errors', 'failed', '1/s'),
      ],
    }),
    timeline(doc, {
      title: 'Users',
      note: `${count(doc.users.started)} started, ${count(doc.users.connected)} connected, ${count(doc.users.peak)} at once at most.`,
      unit: 'count',
      yName: 'users',
      series: [
        line('users', 'users present', 'count'),
        ...some('connections', 'open connections', 'count'),
        ...some('in_flight', 'operations in flight', 'count'),
      ],
    }),
    timeline(doc, {
      title: 'Arrivals',
      unit: '1/s',
      yName: 'users a second',
      series: [
        line('users_due', 'due', '1/s'),
        line('users_started', 'started', '1/s'),
        ...some('users_refused', 'refused', '1/s'),
        ...some('users_held', 'held back', '1/s'),
        ...some('users_paused', 'due in a pause', '1/s'),
      ],
    }),
    timeline(doc, {
      title: 'Traffic',
      note: 'Application bytes, without what TCP and TLS add.',
      unit: 'B/s',
      yName: 'bytes a second',
      series: [line('bytes_out', 'sent', 'B/s'), line('bytes_in', 'received', 'B/s')],
    }),
    pushes(doc),
    phases(doc),
  ];
}

/** Messages that came by themselves. */
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
    all.push(series(course, 'unmatched', 'that nothing matched', '1/s'));
  }
  if (all.length === 0) return null;
  return timeline(doc, {
    title: 'Messages that arrived',
    id: 'pushes',
    note: 'Pushed by the target, by the entry of the scenario that they matched.',
    unit: '1/s',
    yName: 'messages a second',
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
  const over =
    course.errors.length > 0 &&
    timeline(doc, {
      title: 'Errors over time',
      note: 'Operations that ended ill, by kind.',
      unit: '1/s',
      yName: 'errors a second',
      series: course.errors.map((one) => ({
        name: one.kind,
        unit: '1/s',
        at_s: slots(course),
        mean: one.per_s,
      })),
    });
  const failing = doc.steps.filter((step) => step.phase === null && step.errors > 0);
  const kinds = failing.flatMap((step) =>
    Object.entries(step.errors_by_kind).map(([kind, n]) => ({ step, kind, n })),
  );
  const byStep =
    kinds.length > 0 &&
    table({
      title: 'Errors by step and kind',
      frame: [
        each(kinds, 'step', '', (one) => one.step.name),
        each(kinds, 'kind', '', (one) => one.kind),
        each(kinds, 'errors', 'count', (one) => one.n),
        each(kinds, 'share', 'share', (one) => one.n / Math.max(1, one.step.count)),
      ],
    });
  const first =
    examples.length > 0 &&
    table({
      title: 'First errors of each kind',
      frame: [
        each(examples, 'step', '', (one) => one.measure),
        each(examples, 'kind', '', (one) => one.outcome),
        each(examples, 'at', 's', (one) => one.at_s),
        each(examples, 'detail', '', (one) => one.detail),
      ],
    });
  return [over, byStep, first];
}
