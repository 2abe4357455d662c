/** Distribution functions as figures and as tables. */

import { lines } from '../chart/lines';
import type { MeasureCourse } from '../document/run';
import type { FigureSpec } from '../figure';
import { duration } from '../format';
import { column, each, type Frame } from '../frame';
import type { Window, Zoom } from '../zoom';

/** The share that took longer, and how long. */
export type Share = MeasureCourse['response'][number];

/** The rows of a table of a distribution, as shares that took longer. */
const TABLE_SHARES = [0.9, 0.75, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0001, 0.00001, 0];

/** A distribution at common shares. */
export function shareFrame(curves: { name: string; shares: Share[] }[]): Frame {
  const at = (shares: Share[], longer: number) =>
    shares.find(([share]) => Math.abs(share - longer) <= 1e-4 * longer)?.[1] ?? null;
  return [
    column('share that took longer', 'share', TABLE_SHARES),
    ...curves.map(({ name, shares }) =>
      each(TABLE_SHARES, name, 'ns', (longer) => at(shares, longer)),
    ),
  ];
}

/** A logarithmic axis of response times. */
export function timesAxis(axis: string, whole: Window): Zoom {
  return { axis, whole, log: true, least: 1.2, shown: (ns) => duration(ns) };
}

/** Distribution functions, or their complements. */
export function curveSpec(
  all: { name: string; shares: Share[]; style?: number }[],
  words: { title: string; note: string; tail: boolean; id?: string; axis: string },
): FigureSpec {
  const positive = all.flatMap((curve) => curve.shares.map(([, ns]) => ns)).filter((ns) => ns > 0);
  const [min, max] = [Math.min(...positive), Math.max(...positive)];
  return {
    title: words.title,
    ...(words.id ? { id: words.id } : {}),
    note: words.note,
    zoom: timesAxis(words.axis, [min, max]),
    height: 260,
    legend: all.map((curve, place) => ({ name: curve.name, style: curve.style ?? place })),
    frame: () => shareFrame(all),
    option: (theme, hidden, [from, to] = [min, max]) =>
      lines(
        {
          x: { unit: 'ns', name: 'response', log: true, min: from, max: to },
          y: words.tail
            ? { unit: 'share', name: 'took longer', log: true, max: 1 }
            : { unit: 'share', name: 'took at most this long', min: 0, max: 1 },
          lines: all
            .map((curve, place) => ({ curve, style: curve.style ?? place }))
            .filter(({ curve }) => !hidden.has(curve.name))
            .map(({ curve, style }) => ({
              name: curve.name,
              unit: 'share',
              style,
              points: curve.shares
                .filter(([longer, ns]) => ns > 0 && !(words.tail && longer === 0))
                .map(([longer, ns]): [number, number] => [ns, words.tail ? longer : 1 - longer]),
            })),
        },
        theme,
      ),
  };
}
