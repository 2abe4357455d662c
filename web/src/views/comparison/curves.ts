/** Distribution functions in one figure, and the differences of their quantiles. */

import { type Line, lines } from '../../chart/lines';
import type { ComparisonDocument, Measure, Side } from '../../document/comparison';
import { type FigureSpec, figure } from '../../figure';
import { each } from '../../frame';
import { type Share, shareFrame, timesAxis } from '../curves';

type Curves = NonNullable<Measure['curves']>;

const SIDES: Record<Side, number> = { baseline: 0, candidate: 1 };

export function distributionFigure(
  doc: ComparisonDocument,
  curves: Curves,
  place: number,
): HTMLElement {
  return figure(
    spec(doc, curves, {
      title: 'Distributions',
      id: `distributions-${place}`,
      note: runsNote(doc, curves, 'The share of operations that took at most this long.'),
      tail: false,
      axis: `times-${place}`,
    }),
  );
}

export function tailFigure(doc: ComparisonDocument, curves: Curves, place: number): HTMLElement {
  return figure(
    spec(doc, curves, {
      title: 'Tails',
      id: `tails-${place}`,
      note: 'The share that took longer, on a logarithmic axis.',
      tail: true,
      axis: `times-${place}`,
    }),
  );
}

function runsNote(doc: ComparisonDocument, curves: Curves, what: string): string {
  if (curves.runs.length === 0) return `${what} Of ${doc.runs.length} runs, all together.`;
  return doc.runs.some((run) => run.side === 'baseline')
    ? `${what} Thin lines are single runs.`
    : what;
}

interface Curve {
  name: string;
  shares: Share[];
  style: number;
  thin: boolean;
  /** The entry of the legend that it is hidden with. */
  entry: string;
}

/** With a baseline, the sides are drawn in front of their runs; without one, each run is a line. */
function all(doc: ComparisonDocument, curves: Curves): Curve[] {
  const sided = doc.runs.some((run) => run.side === 'baseline');
  const ofRuns = curves.runs.map((shares, n): Curve => {
    const run = doc.runs[n];
    const side = run?.side ?? 'candidate';
    const name = run?.label ?? String(n);
    return sided
      ? { name, shares, style: SIDES[side], thin: true, entry: side }
      : { name, shares, style: n, thin: false, entry: name };
  });
  if (!sided && ofRuns.length > 0) return ofRuns;
  const ofSides = curves.sides.map(([side, shares]): Curve => {
    const name = sided ? side : 'all runs';
    return { name, shares, style: sided ? SIDES[side] : 0, thin: false, entry: name };
  });
  return [...ofRuns, ...ofSides];
}

function spec(
  doc: ComparisonDocument,
  curves: Curves,
  words: { title: string; id: string; note: string; tail: boolean; axis: string },
): FigureSpec {
  const drawn = all(doc, curves);
  const positive = drawn
    .flatMap((curve) => curve.shares.map(([, ns]) => ns))
    .filter((ns) => ns > 0);
  const [min, max] = [Math.min(...positive), Math.max(...positive)];
  const points = (shares: Share[]) =>
    shares
      .filter(([longer, ns]) => ns > 0 && !(words.tail && longer === 0))
      .map(([longer, ns]): [number, number] => [ns, words.tail ? longer : 1 - longer]);
  return {
    title: words.title,
    id: words.id,
    note: words.note,
    zoom: timesAxis(words.axis, [min, max]),
    height: 280,
    legend: drawn.filter((curve) => !curve.thin).map(({ name, style }) => ({ name, style })),
    frame: () => shareFrame(drawn),
    option: (theme, hidden, [from, to] = [min, max]) =>
      lines(
        {
          x: { unit: 'ns', name: doc.time, log: true, min: from, max: to },
          y: words.tail
            ? { unit: 'share', name: 'took longer', log: true, max: 1 }
            : { unit: 'share', name: 'took at most this long', min: 0, max: 1 },
          lines: drawn
            .filter((curve) => !hidden.has(curve.entry))
            .map((curve): Line => ({
              name: curve.name,
              unit: 'share',
              style: curve.style,
              thin: curve.thin,
              points: points(curve.shares),
            })),
        },
        theme,
      ),
  };
}

/** Differences as shares of the baseline: a tail of seconds would hide all others. */
export function differenceFigure(
  doc: ComparisonDocument,
  curves: Curves,
  place: number,
): HTMLElement {
  const name = 'candidate vs baseline';
  const all = curves.differences.map((one, n) => {
    const baseline = curves.baseline_ns[n] ?? 0;
    const share = (ns: number | undefined) =>
      ns === undefined || baseline <= 0 ? null : ns / baseline;
    const [low, high] = one.interval_ns ?? [];
    return {
      ...one,
      baseline,
      share: share(one.difference_ns),
      low: share(low),
      high: share(high),
    };
  });
  const confidence = Number((100 * (1 - doc.alpha)).toFixed(2));
  return figure({
    title: 'Differences of quantiles',
    id: `differences-${place}`,
    note: `Difference of each quantile from the baseline’s, with pointwise ${confidence} % intervals. Above zero, the candidate is slower.`,
    height: 280,
    frame: () => [
      each(all, 'quantile', 'share', (one) => one.q),
      each(all, 'baseline', 'ns', (one) => one.baseline),
      each(all, 'difference', 'ns', (one) => one.difference_ns),
      each(all, 'low', 'ns', (one) => one.interval_ns?.[0] ?? null),
      each(all, 'high', 'ns', (one) => one.interval_ns?.[1] ?? null),
      each(all, 'of the baseline', 'change', (one) => one.share),
    ],
    option: (theme) =>
      lines(
        {
          x: { unit: 'share', name: 'quantile', min: 0, max: 1 },
          y: { unit: 'change', name },
          lines: [
            {
              name,
              unit: 'change',
              style: 1,
              points: all.map((one): [number, number | null] => [one.q, one.share]),
              intervals: all.map((one): [number, number | null, number | null] => [
                one.q,
                one.low,
                one.high,
              ]),
            },
          ],
          limits: [{ at: 0, name: 'no difference' }],
        },
        theme,
      ),
  });
}
