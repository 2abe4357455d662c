/** Means by the levels of one factor, with intervals, beside what others published. */

import { groups } from '../../chart/groups';
import type { ExperimentDocument, Response } from '../../document/experiment';
import { type Child, el } from '../../dom';
import { figure } from '../../figure';
import { each, eachBound } from '../../frame';
import { table } from '../../table';
import { valueUnit } from './effect';
import { at, layout, SERIES_MAX } from './layout';

export function means(doc: ExperimentDocument, response: Response, place: number): Child {
  const { bars } = response;
  const rows = bars.groups.flatMap((group) =>
    group.bars.map((bar) => ({
      bar,
      levels: group.levels.map((level, n) => (n === bars.factor ? bar.level : level)),
    })),
  );
  if (rows.length === 0) return null;
  const { axis, categories, series, left } = layout(doc.factors, bars);
  const unit = valueUnit(response);
  const hasMarks = rows.some(({ bar }) => bar.published !== undefined);
  const marks = hasMarks ? { name: 'published', style: SERIES_MAX } : undefined;
  // Large shares are seen against the whole.
  const isWhole =
    response.unit === 'share' && rows.some(({ bar }) => Math.max(bar.mean, bar.high ?? 0) > 0.5);
  return figure({
    title: 'Means',
    id: `means-${place}`,
    note: note(doc, response, left),
    height: 380,
    legend: [
      ...series.map(({ name }, style) => ({ name, style, dots: true })),
      ...(marks && series.length > 0 ? [{ ...marks, dots: true }] : []),
    ],
    frame: () => [
      ...doc.factors.map((factor, n) =>
        each(rows, factor.name, '', ({ levels }) => factor.levels[levels[n] ?? -1] ?? ''),
      ),
      each(rows, 'runs', 'count', ({ bar }) => bar.runs),
      eachBound(
        rows,
        'mean',
        unit,
        ({ bar }) => bar.mean,
        ({ bar }) => bar.is_bound,
      ),
      each(rows, 'low', unit, ({ bar }) => bar.low),
      each(rows, 'high', unit, ({ bar }) => bar.high),
      ...(hasMarks ? [each(rows, 'published', unit, ({ bar }) => bar.published ?? null)] : []),
    ],
    option: (theme, hidden) =>
      groups(
        {
          x: { unit: '', name: axis, categories },
          y: { unit, name: 'mean', ...(isWhole ? { min: 0, max: 1 } : {}) },
          unit,
          series: series
            .map(({ name, bars: own }, style) => ({
              name,
              style,
              bars: own.map((bar) =>
                bar
                  ? { value: bar.mean, low: bar.low, high: bar.high, mark: bar.published ?? null }
                  : null,
              ),
            }))
            .filter(({ name }) => !hidden.has(name)),
          marks: marks && !hidden.has(marks.name) ? marks : undefined,
        },
        theme,
      ),
  });
}

function note(doc: ExperimentDocument, response: Response, left: number): string {
  const { groups: all, groups_left_out } = response.bars;
  const confidence = `${Number((100 * doc.confidence).toFixed(3))} %`;
  const geometric = response.model === 'multiplicative' ? 'Geometric means' : 'Means';
  const known = all.some((group) => group.bars.some((bar) => bar.low !== null));
  const own = all.filter((group) => !group.pooled).length;
  const parts = [
    `${geometric} of ${response.name}${known ? ` with ${confidence} intervals` : '; there are no intervals without repetitions'}.`,
    own > 0 &&
      `If the scatter differs between the bars of one combination, each interval is of its own runs: ${own} of ${all.length}.`,
    left > 0 && `${left} more bars are in the table.`,
    groups_left_out > 0 && `${groups_left_out} more combinations are in analysis.json.`,
  ];
  return parts.filter(Boolean).join(' ');
}

const VERDICTS = {
  holds: 'holds',
  'does-not-hold': 'does not hold',
  'not-separable': 'not separable',
  'not-measured': 'not measured',
};

/** What others claimed, and whether it holds. */
export function claims(doc: ExperimentDocument, response: Response): Child[] {
  const { published } = response;
  if (!published) return [];
  const all = published.claims.flatMap((claim) =>
    (claim.places.length > 0
      ? claim.places
      : [{ levels: [], verdict: claim.verdict, why: '' }]
    ).map((place) => ({ claim, place })),
  );
  const left = published.claims.reduce((sum, claim) => sum + claim.places_left_out, 0);
  const source = published.source ? ` Published: ${published.source}.` : '';
  if (all.length === 0) return [source && el('p', { class: 'note' }, source.trim())];
  return [
    el('h3', { class: 'apart' }, 'Published claims'),
    el(
      'p',
      { class: 'note' },
      `An order holds if the intervals of all its pairs part; it does not if a pair parts the other way.${source}${left > 0 ? ` ${left} more combinations are in analysis.json.` : ''}`,
    ),
    table({
      title: `Published claims on ${response.name}`,
      frame: [
        each(all, 'claim', '', ({ claim }) => claim.text),
        each(all, 'result', '', ({ place }) => VERDICTS[place.verdict]),
        each(all, 'at', '', ({ place }) => at(doc.factors, place.levels) || 'all'),
        each(all, 'decided by', '', ({ place }) => place.why),
        each(all, 'order, greatest first', '', ({ claim }) => claim.order),
      ],
    }),
  ];
}
