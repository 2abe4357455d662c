/** Durations with the laws that were fitted over them. */

import { bars } from '../../chart/bars';
import { lines } from '../../chart/lines';
import type { Durations } from '../../document/model';
import { type Child, el } from '../../dom';
import { figure } from '../../figure';
import { count, probability, significant } from '../../format';
import { column, each } from '../../frame';
import { table } from '../../table';

/** Laws drawn at first; the others are a press on the legend away. */
const LAWS_MAX = 6;

const OUTCOMES: Record<Durations['outcome'], string> = {
  fits: 'it is not refused, and used',
  near: 'it is refused, but never more than 5 % off, and used',
  'no-law': 'it is refused; the values themselves are used',
  'too-few': 'too few to fit; the values themselves are used',
};

const seconds = (s: number) => s * 1e9;

/** What came of fitting, in a sentence. */
function sentence(all: Durations): string {
  const best = all.fits[0];
  const { test } = all;
  if (!best || !test) return `${count(all.count)} times: ${OUTCOMES['too-few']}.`;
  return (
    `${count(all.count)} times; the best law is ${best.family}: ${OUTCOMES[all.outcome]} ` +
    `(D = ${significant(test.distance)} at ${significant(test.at_s)} s, p ${probability(test.p_distance)}; ` +
    `A² = ${significant(test.anderson)}, p ${probability(test.p_anderson)}; ${count(test.rounds)} redrawn samples of ${count(test.count)}).`
  );
}

/** The distribution function and the histogram, with every law over them, and the laws as a table. */
export function fits(all: Durations, id: string, title: string): Child[] {
  const { curves } = all;
  if (!curves) return [];
  const laws = curves.laws.slice(0, LAWS_MAX);
  const legend = [
    { name: 'seen', style: 0 },
    ...laws.map((law, n) => ({ name: law.family, style: n + 1 })),
  ];
  const positive = curves.at_s.filter((at) => at > 0);
  const [least = 0, most = 0] = [positive[0], positive.at(-1)];
  // Where everything is above zero and spreads over decades, so does the axis.
  const log = positive.length === curves.at_s.length && most > 100 * least;
  const distribution = figure({
    title: `${title}: distribution`,
    id: `${id}-distribution`,
    note: `The share that took no longer, and what each law says as the log’s clock would show it. ${sentence(all)}`,
    height: 280,
    legend,
    frame: () => [
      column('time', 'ns', curves.at_s.map(seconds)),
      column('seen', 'share', curves.seen),
      ...curves.laws.map((law) => column(law.family, 'share', law.upto)),
    ],
    option: (theme, hidden) =>
      lines(
        {
          x: log
            ? { unit: 'ns', name: 'time', log: true, min: seconds(least), max: seconds(most) }
            : { unit: 'ns', name: 'time', min: 0 },
          y: { unit: 'share', name: 'took no longer', min: 0, max: 1 },
          lines: [
            { name: 'seen', values: curves.seen, step: true },
            ...laws.map((law) => ({ name: law.family, values: law.upto, step: false })),
          ]
            .map(({ name, values, step }, style) => ({
              name,
              unit: 'share',
              style,
              step,
              points: curves.at_s.map((at, n): [number, number | null] => [
                seconds(at),
                values[n] ?? null,
              ]),
            }))
            .filter((line) => !hidden.has(line.name)),
        },
        theme,
      ),
  });
  const histogram = figure({
    title: `${title}: histogram`,
    id: `${id}-histogram`,
    note: 'The share in each bin, the longest 2 % left out, and what each law says of it.',
    height: 280,
    legend: laws.map((law, n) => ({ name: law.family, style: n + 1 })),
    frame: () => [
      each(curves.bars, 'from', 'ns', (bar) => seconds(bar.from_s)),
      each(curves.bars, 'to', 'ns', (bar) => seconds(bar.upto_s)),
      each(curves.bars, 'seen', 'share', (bar) => bar.share),
      ...curves.laws.map((law) => column(law.family, 'share', law.bars)),
    ],
    option: (theme, hidden) =>
      bars(
        {
          x: { unit: 'ns', name: 'time', min: 0, max: seconds(curves.bars.at(-1)?.upto_s ?? 1) },
          y: { unit: 'share', name: 'share in the bin', min: 0 },
          bars: curves.bars.map((bar) => [seconds(bar.from_s), seconds(bar.upto_s), bar.share]),
          unit: 'share',
          over: laws
            .map((law, n) => ({ name: law.family, style: n + 1, values: law.bars }))
            .filter((law) => !hidden.has(law.name)),
        },
        theme,
      ),
  });
  return [
    el('div', { class: 'pair' }, distribution, histogram),
    laws.length > 0 && laws_(all, title),
  ];
}

function laws_(all: Durations, title: string): HTMLElement {
  const best = all.fits[0]?.aic ?? 0;
  const told = (one: Durations['fits'][number]) =>
    one.parameters
      .map(({ name, value, low, high }) => {
        const interval =
          low === null || high === null ? '' : ` (${significant(low)} to ${significant(high)})`;
        return `${name} ${significant(value)}${interval}`;
      })
      .join(', ');
  return table({
    title: `Laws fitted to ${title}`,
    frame: [
      each(all.fits, 'law', '', (one) => one.family),
      each(all.fits, 'parameters (95 %)', '', told),
      each(all.fits, 'AIC above the best', '', (one) => one.aic - best),
    ],
  });
}
