/** Where sessions end, how long they are, and of which kinds. */

import { bars } from '../../chart/bars';
import type { ModelDocument } from '../../document/model';
import { type Child, el } from '../../dom';
import { figure } from '../../figure';
import { count, span } from '../../format';
import { each } from '../../frame';
import { table } from '../../table';

const REASONS = {
  given: 'as requested',
  valley: 'the middle of the valley between think times and absences',
  usual: 'the default, because the log shows no valley between think times and absences',
};

export function sessions(doc: ModelDocument): Child[] {
  const { gap } = doc;
  return [
    gap &&
      el(
        'p',
        {},
        `The key of a user is ${doc.key}; a session ends after ${span(gap.seconds)} without a request, ${REASONS[gap.why]}.`,
      ),
    gap && gapFigure(gap),
    gap &&
      table({
        title: 'Sessions with other gaps',
        frame: [
          each(gap.others, 'gap', 's', ([seconds]) => seconds),
          each(gap.others, 'sessions', 'count', ([, sessions]) => sessions),
        ],
      }),
    lengths(doc),
    el('h3', { class: 'apart' }, 'Segments'),
    table({
      title: 'Segments',
      frame: [
        each(doc.segments, 'segment', '', (one) => one.name),
        each(doc.segments, 'sessions', 'count', (one) => one.sessions),
        each(doc.segments, 'requests', 'count', (one) => one.requests),
        each(doc.segments, 'requests a session', '', (one) => one.requests / one.sessions),
        each(doc.segments, 'sessions of 1', 'share', (one) => one.single / one.sessions),
        each(doc.segments, 'sessions a second', '1/s', (one) => one.per_s),
        each(doc.segments, 'mean think time', 'ns', (one) => one.mean_think_s * 1e9),
        each(
          doc.segments,
          'distribution of think times',
          '',
          (one) => one.fit ?? 'recorded values',
        ),
      ],
    }),
  ];
}

function gapFigure(gap: NonNullable<ModelDocument['gap']>): HTMLElement {
  const seen = gap.histogram.filter(([, n]) => n > 0);
  const last = seen.at(-1)?.[0] ?? 0;
  const all = gap.histogram.filter(([from]) => from <= last);
  // Four bins in each doubling of time.
  const upto = (from: number) => from * 2 ** 0.25;
  return figure({
    title: 'Times between two requests of one user',
    id: 'gap',
    note: 'Think times make the peak on the left, absences the one on the right; the line is the gap that ends a session. The first bar has all times below a second.',
    frame: () => [
      each(all, 'from', 's', ([from]) => from),
      each(all, 'to', 's', ([from]) => upto(from)),
      each(all, 'times', 'count', ([, n]) => n),
    ],
    option: (theme) =>
      bars(
        {
          x: {
            unit: 'ns',
            name: 'time',
            log: true,
            min: 1e9,
            max: upto(Math.max(all.at(-1)?.[0] ?? 1, gap.seconds)) * 1e9,
          },
          y: { unit: 'count', name: 'times', min: 0 },
          bars: all.map(([from, n]) => [from * 1e9, upto(from) * 1e9, n]),
          unit: 'count',
          verticals: [{ at: gap.seconds * 1e9, name: 'gap' }],
        },
        theme,
      ),
  });
}

/** All segments together. */
function lengths(doc: ModelDocument): Child {
  const sum = new Map<number, number>();
  for (const { lengths: own } of doc.behaviours) {
    for (const [requests, n] of own) sum.set(requests, (sum.get(requests) ?? 0) + n);
  }
  const all = [...sum].sort(([a], [b]) => a - b);
  const most = all.at(-1)?.[0] ?? 0;
  if (most < 2) return null;
  return figure({
    title: 'Requests of a session',
    id: 'lengths',
    note: `The number of sessions by their requests${most > 60 ? '; the table has the longest' : ''}.`,
    frame: () => [
      each(all, 'requests', 'count', ([requests]) => requests),
      each(all, 'sessions', 'count', ([, n]) => n),
    ],
    option: (theme) =>
      bars(
        {
          x: { unit: '', name: 'requests', whole: true, min: 0.5, max: Math.min(most, 60) + 0.5 },
          y: { unit: 'count', name: 'sessions', min: 0 },
          bars: all
            .filter(([requests]) => requests <= 60)
            .map(([requests, n]) => [requests - 0.5, requests + 0.5, n]),
          names: all.map(([requests]) => `${count(requests)} requests`),
          unit: 'count',
        },
        theme,
      ),
  });
}
