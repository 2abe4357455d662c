/** What users do: classes of requests, from which to which they go, and how long they think. */

import { matrix } from '../../chart/matrix';
import type { ShownBehaviour, ModelDocument } from '../../document/model';
import { type Child, el } from '../../dom';
import { figure } from '../../figure';
import { count } from '../../format';
import { column, each } from '../../frame';
import { table } from '../../table';
import { choose } from './choose';
import { fits } from './fits';

/** Classes in the picture; the table has all. */
const CLASSES_MAX = 24;

export function classes(doc: ModelDocument): HTMLElement {
  const all = doc.classes;
  return table({
    title: 'Classes of requests',
    frame: [
      each(all, 'class', '', (one) => one.name),
      each(all, 'state', '', (one) => one.state),
      each(all, 'requests', 'count', (one) => one.requests),
      each(all, 'share', 'share', (one) => one.requests / Math.max(1, doc.log.requests)),
      each(all, 'most frequent target', '', (one) => one.target),
    ],
  });
}

export function behaviour(doc: ModelDocument, again: () => void): Child[] {
  const names = doc.behaviours.map((one) => one.name);
  const [chosen, chooser] = choose('behaviour-of', 'Behaviour of', names, again);
  const of = doc.behaviours[chosen];
  if (!of) return [];
  const thinks = of.thinks.map((one) => one.name);
  const [think, thinkChooser] = choose('thinks-of', 'Think times', thinks, again);
  const chosenThinks = of.thinks[think];
  const left = of.thinks_left_out;
  return [
    chooser,
    transitions(doc, of),
    transitionTable(doc, of),
    el('h3', { class: 'apart' }, 'Think times'),
    thinkChooser,
    ...(chosenThinks ? fits(chosenThinks, 'thinks', 'Think times') : []),
    left > 0 && el('p', { class: 'note' }, `${count(left)} more think times are in model.json.`),
    doc.segments_left_out > 0 &&
      el(
        'p',
        { class: 'note' },
        `${count(doc.segments_left_out)} more segments are in model.json.`,
      ),
  ];
}

/** The chain as shares: a row is where users go from a class. */
function transitions(doc: ModelDocument, of: ShownBehaviour): HTMLElement {
  const states = doc.classes.slice(0, CLASSES_MAX).map((one) => one.state);
  const rows = ['begin', ...states];
  const columns = [...states, 'end'];
  const sum = (all: number[]) => all.reduce((total, n) => total + n, 0);
  const begun = Math.max(1, sum(of.starts));
  const from = states.map((_, state) =>
    sum(of.transitions.filter((one) => one.from === state).map((one) => one.count)),
  );
  const cells: [number, number, number][] = [
    ...states.map((_, state): [number, number, number] => [
      0,
      state,
      (of.starts[state] ?? 0) / begun,
    ]),
    ...of.transitions
      .filter((one) => one.from < states.length && one.to < states.length)
      .map((one): [number, number, number] => [one.from + 1, one.to, one.p]),
    ...states.map((_, state): [number, number, number] => {
      const ends = of.exits[state] ?? 0;
      return [state + 1, states.length, ends / Math.max(1, ends + (from[state] ?? 0))];
    }),
  ].filter(([, , share]) => share > 0) as [number, number, number][];
  const share = (row: number, place: number) =>
    cells.find(([r, c]) => r === row && c === place)?.[2] ?? 0;
  return figure({
    title: 'Where users go',
    id: 'transitions',
    note: 'From the class of a row to that of a column, as the share of all that followed. Darker (lighter on a dark page) is more.',
    height: Math.max(240, 70 + 28 * rows.length),
    frame: () => [
      column('from', '', rows),
      ...columns.map((name, place) =>
        each(rows, `to ${name}`, 'share', (_, row) => share(row, place)),
      ),
    ],
    option: (theme) => matrix({ rows, columns, rowName: 'from', columnName: 'to', cells }, theme),
  });
}

function transitionTable(doc: ModelDocument, of: ShownBehaviour): Child {
  const all = of.transitions;
  const state = (n: number) => doc.classes[n]?.state ?? '?';
  const left = of.transitions_left_out;
  return el(
    'details',
    { class: 'phase' },
    el('summary', {}, 'Transitions with intervals and distributions'),
    table({
      title: 'Transitions',
      frame: [
        each(all, 'from', '', (one) => state(one.from)),
        each(all, 'to', '', (one) => state(one.to)),
        each(all, 'times', 'count', (one) => one.count),
        each(all, 'probability', 'share', (one) => one.p),
        each(all, 'low (95 %)', 'share', (one) => one.low),
        each(all, 'high', 'share', (one) => one.high),
        each(all, 'mean think time', 'ns', (one) =>
          one.mean_think_s === null ? null : one.mean_think_s * 1e9,
        ),
        each(all, 'distribution', '', (one) => one.fit ?? 'that of its class'),
        each(all, 'p of the fit', 'p', (one) => one.p_fit),
      ],
    }),
    left > 0 && el('p', { class: 'note' }, `${count(left)} more transitions are in model.json.`),
  );
}
