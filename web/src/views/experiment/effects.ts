/** Means by level: of each factor, and of each pair. */

import { lines } from '../../chart/lines';
import type { ExperimentDocument, Response } from '../../document/experiment';
import { type Child, el } from '../../dom';
import { figure } from '../../figure';
import { column, each } from '../../frame';
import { asValue, logarithmic, valueUnit } from './effect';

/** Most interactions that are drawn; analysis.json has all. */
const PAIRS_MAX = 15;

/** The mean at each level of each factor. */
export function mainEffects(doc: ExperimentDocument, response: Response, place: number): Child {
  const terms = (response.fit?.terms ?? []).filter((term) => term.factors.length === 1);
  const unit = valueUnit(response);
  const of = (value: number | null) => (value === null ? null : asValue(response, value));
  const levels = terms.flatMap((term) => {
    const factor = doc.factors[term.factors[0] ?? -1];
    return term.levels.map((level) => ({
      factor: factor?.name ?? term.name,
      letter: term.name,
      ...level,
    }));
  });
  if (levels.length === 0) return null;
  let at = 0;
  const drawn = terms.map((term, style) => {
    const points = term.levels.map((level): [number, number] => [
      at++,
      asValue(response, level.mean.value),
    ]);
    const intervals = term.levels.map((level, n): [number, number | null, number | null] => [
      points[n]?.[0] ?? 0,
      of(level.mean.low),
      of(level.mean.high),
    ]);
    const name = doc.factors[term.factors[0] ?? -1]?.name ?? term.name;
    return { name, unit, style, points, intervals };
  });
  return figure({
    title: 'Main effects',
    id: `main-${place}`,
    note: 'The mean at each level, over all levels of the other factors. A steep line is a strong effect.',
    height: 280,
    legend: drawn.map(({ name, style }) => ({ name, style })),
    frame: () => [
      each(levels, 'factor', '', (one) => one.factor),
      each(levels, 'level', '', (one) => one.level),
      each(levels, 'mean', unit, (one) => of(one.mean.value)),
      each(levels, 'low', unit, (one) => of(one.mean.low)),
      each(levels, 'high', unit, (one) => of(one.mean.high)),
    ],
    option: (theme, hidden) =>
      lines(
        {
          x: {
            unit: '',
            name: 'level',
            categories: levels.map((one) => `${one.letter}=${one.level}`),
          },
          y: {
            unit,
            name: 'mean',
            ...logarithmic(
              response,
              levels.flatMap(({ mean }) => [mean.value, mean.low, mean.high].map(of)),
            ),
          },
          lines: drawn.filter((line) => !hidden.has(line.name)),
        },
        theme,
      ),
  });
}

/** Interactions: if lines are not parallel, the effect of one factor depends on the other. */
export function interactions(doc: ExperimentDocument, response: Response, place: number): Child[] {
  const all = response.fit?.interactions ?? [];
  const figures = all.slice(0, PAIRS_MAX).map((table, n) => {
    const [first, second] = table.factors.map((factor) => doc.factors[factor]);
    const rows = first?.levels ?? [];
    const columns = second?.levels ?? [];
    const name = (level: string) => `${second?.name} = ${level}`;
    const unit = valueUnit(response);
    return figure({
      title: `${first?.name} and ${second?.name}`,
      id: `interaction-${place}-${n}`,
      height: 240,
      legend: columns.map((level, style) => ({ name: name(level), style })),
      frame: () => [
        column(first?.name ?? '', '', rows),
        ...columns.map((level, at) =>
          column(
            name(level),
            unit,
            rows.map((_, row) => table.means[row]?.[at] ?? null),
          ),
        ),
      ],
      option: (theme, hidden) =>
        lines(
          {
            x: { unit: '', name: first?.name ?? '', categories: rows },
            y: { unit, name: 'mean', free: true },
            lines: columns
              .map((level, style) => ({
                name: name(level),
                unit,
                style,
                points: rows.map((_, row): [number, number | null] => [
                  row,
                  table.means[row]?.[style] ?? null,
                ]),
              }))
              .filter((line) => !hidden.has(line.name)),
          },
          theme,
        ),
    });
  });
  if (figures.length === 0) return [];
  const left = all.length - figures.length;
  return [
    el('h3', { class: 'apart' }, 'Interactions'),
    el(
      'p',
      { class: 'note' },
      `Means by the levels of two factors, as measured. If lines are not parallel, the effect of one factor depends on the other.${left > 0 ? ` ${left} more pairs are in analysis.json.` : ''}`,
    ),
    el('div', { class: 'pair' }, ...figures),
  ];
}
