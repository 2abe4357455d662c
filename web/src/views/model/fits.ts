/** ShownDurations with the fitted distributions over them. */

import { bars } from '../../chart/bars';
import { lines } from '../../chart/lines';
import type { ShownDurations } from '../../document/model';
import { type Child, el } from '../../dom';
import { figure } from '../../figure';
import { count, probability, significant } from '../../format';
import { column, each } from '../../frame';
import { table } from '../../table';

/** Fits that are drawn; the tables have all. */
const FITS_MAX = 6;

const OUTCOMES: Record<ShownDurations['outcome'], string> = {
  fits: 'it is not rejected, and used',
  near: 'it is rejected, but within 5 %, and used',
  'no-fit': 'it is rejected; the scenario draws recorded values',
  'too-few': 'too few to fit; the scenario draws recorded values',
};

const seconds = (s: number) => s * 1e9;

/** The result of fitting, in a sentence. */
function sentence(all: ShownDurations): string {
  const best = all.fits[0];
  const { test } = all;
  if (!best || !test) return `${count(all.count)} times: ${OUTCOMES['too-few']}.`;
  return (
    `${count(all.count)} times; the best fit is ${best.family}: ${OUTCOMES[all.outcome]} ` +
    `(D = ${significant(test.distance)} at ${significant(test.at_s)} s, p ${probability(test.p_distance)}; ` +
    `A² = ${significant(test.anderson)}, p ${probability(test.p_anderson)}; ${count(test.rounds)} redrawn samples of ${count(test.count)}).`
  );
}

/** The distribution function and the histogram with the fits over them, and the fits as a table. */
export function fits(all: ShownDurations, id: string, title: string): Child[] {
  const { curves } = all;
  if (!curves) return [];
  const fitted = curves.fits.slice(0, FITS_MAX);
  const legend = [
    { name: 'seen', style: 0 },
    ...fitted.map((fit, n) => ({ name: fit.family, style: n + 1 })),
  ];
  const positive = curves.at_s.filter((at) => at > 0);
  const [least = 0, most = 0] = [positive[0], positive.at(-1)];
  // Where everything is above zero and spreads over decades, so does the axis.
  const log = positive.length === curves.at_s.length && most > 100 * least;
  const distribution = figure({
    title: `${title}: distribution`,
    id: `${id}-distribution`,
    note: `The share that took no longer, and each fit as the log’s clock would show it. ${sentence(all)}`,
    height: 280,
    legend,
    frame: () => [
      column('time', 'ns', curves.at_s.map(seconds)),
      column('seen', 'share', curves.seen),
      ...curves.fits.map((fit) => column(fit.family, 'share', fit.upto)),
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
            ...fitted.map((fit) => ({ name: fit.family, values: fit.upto, step: false })),
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
    note: 'The share in each bin without the longest 2 %, and that of each fit.',
    height: 280,
    legend: fitted.map((fit, n) => ({ name: fit.family, style: n + 1 })),
    frame: () => [
      each(curves.bars, 'from', 'ns', (bar) => seconds(bar.from_s)),
      each(curves.bars, 'to', 'ns', (bar) => seconds(bar.upto_s)),
      each(curves.bars, 'seen', 'share', (bar) => bar.share),
      ...curves.fits.map((fit) => column(fit.family, 'share', fit.bars)),
    ],
    option: (theme, hidden) =>
      bars(
        {
          x: { unit: 'ns', name: 'time', min: 0, max: seconds(curves.bars.at(-1)?.upto_s ?? 1) },
          y: { unit: 'share', name: 'share in the bin', min: 0 },
          bars: curves.bars.map((bar) => [seconds(bar.from_s), seconds(bar.upto_s), bar.share]),
          unit: 'share',
          over: fitted
            .map((fit, n) => ({ name: fit.family, style: n + 1, values: fit.bars }))
            .filter((fit) => !hidden.has(fit.name)),
        },
        theme,
      ),
  });
  return [
    el('div', { class: 'pair' }, distribution, histogram),
    fitted.length > 0 && fitTable(all, title),
  ];
}

function fitTable(all: ShownDurations, title: string): HTMLElement {
  const best = all.fits[0]?.aic ?? 0;
  const parameters = (one: ShownDurations['fits'][number]) =>
    one.parameters
      .map(({ name, value, low, high }) => {
        const interval =
          low === null || high === null ? '' : ` (${significant(low)} to ${significant(high)})`;
        return `${name} ${significant(value)}${interval}`;
      })
      .join(', ');
  return table({
    title: `Distributions fitted to ${title}`,
    frame: [
      each(all.fits, 'distribution', '', (one) => one.family),
      each(all.fits, 'parameters (95 %)', '', parameters),
      each(all.fits, 'AIC above the best', '', (one) => one.aic - best),
    ],
  });
}
