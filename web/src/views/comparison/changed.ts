/** What changed, the greatest change first, and what failed. */

import { dumbbell, places } from '../../chart/dumbbell';
import type { ComparisonDocument, Measure, ShownMeasure } from '../../document/comparison';
import { type Child, el } from '../../dom';
import { each } from '../../frame';
import { unbroken } from '../../quantity';
import { table } from '../../table';

/** Texts from the terminal have a hyphen for the minus sign. */
export function minus(text: string): string {
  return text.replace(/-(?=[\d.])/g, '−');
}

/** A line for each measure that changed: its figure, the way from side to side, and one sentence. */
export function changes(doc: ComparisonDocument, ids: Map<string, string>): HTMLElement | null {
  if (doc.changed.length === 0) return null;
  return el('ul', { class: 'changed' }, ...doc.changed.map((one) => change(doc, one, ids)));
}

function change(doc: ComparisonDocument, one: ShownMeasure, ids: Map<string, string>): Child {
  const measure = doc.measures[one.measure];
  const figure = measure?.changes[one.change];
  if (!measure || !figure) return null;
  const found = places(
    values(doc, measure, figure.figure, 'baseline'),
    values(doc, measure, figure.figure, 'candidate'),
  );
  return el(
    'li',
    { class: one.accepted ? 'good' : 'bad' },
    el('a', { href: `#${ids.get(measure.name)}` }, `${measure.name} ${figure.label}`),
    found ? dumbbell(found) : el('span'),
    el('span', { class: 'way' }, one.moved && `${one.moved} `, el('strong', {}, minus(one.by))),
    el('p', { class: 'note' }, ...unbroken(`${one.text}.`)),
  );
}

/** The figure of each run of a side, as far as it is known. */
export function values(
  doc: ComparisonDocument,
  measure: Measure,
  figure: string,
  side: string,
): number[] {
  const place = doc.quantiles.findIndex((q) => `p${Number((100 * q).toFixed(6))}` === figure);
  const all = measure.runs.map((run, n) => {
    if (doc.runs[n]?.side !== side) return null;
    if (figure === 'mean') return run.mean_ns;
    if (figure === 'rate') return run.rate;
    if (figure === 'error_rate') return run.error_rate;
    return run.quantiles_ns[place] ?? null;
  });
  return all.filter((value) => value !== null);
}

/** Failures that one side has more of, by step, kind and detail. */
export function failures(doc: ComparisonDocument): HTMLElement | null {
  const all = doc.errors;
  if (all.length === 0) return null;
  return table({
    title: 'Failures that differ',
    frame: [
      each(all, 'failure', '', (one) => one.name),
      { ...each(all, 'baseline → candidate', '', (one) => one.moved), areFigures: true },
      each(all, 'result', '', (one) => one.result),
    ],
    rowClass: (row) => {
      const one = all[row];
      if (!one?.counts) return '';
      return one.trend === 'new' || one.trend === 'more' ? 'bad' : 'counts';
    },
  });
}
