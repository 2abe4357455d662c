/** The metrics of the scenario's own: numbers with units, beside times. */

import type { MetricSummary, RunDocument } from '../../document/run';
import type { Child } from '../../dom';
import { each } from '../../frame';
import { table } from '../../table';

/** The figures that kinds of metrics have, in the order of the columns. */
const FIGURES = ['sum', 'last', 'mean', 'min', 'p50', 'p95', 'p99', 'max'] as const;

/** A row for each metric; figures that no metric has are left out. */
export function metrics(doc: RunDocument): Child[] {
  const all = doc.metrics ?? [];
  if (all.length === 0) return [];
  const has = (of: (one: MetricSummary) => unknown) =>
    all.some((one) => of(one) !== undefined && of(one) !== null);
  const figures = FIGURES.filter((name) => has((one) => one[name]));
  return [
    table({
      title: 'Metrics, complete run',
      frame: [
        each(all, 'metric', '', (one) => one.name),
        each(all, 'kind', '', (one) => one.kind),
        each(all, 'unit', '', (one) => one.unit),
        each(all, 'recorded', 'count', (one) => one.count),
        ...(has((one) => one.share)
          ? [each(all, 'share', 'share', (one) => one.share ?? null)]
          : []),
        ...figures.map((name) => each(all, name, '', (one) => one[name] ?? null)),
        ...(has((one) => one.rate_per_s)
          ? [each(all, 'sum per second', '', (one) => one.rate_per_s ?? null)]
          : []),
      ],
    }),
  ];
}
