import { expect, test } from 'vitest';
import { echarts } from './echarts';
import { lines } from './lines';
import { LIGHT } from './theme';

/** Between which heights the plot of such a chart is. */
const [TOP, BOTTOM] = [43, 176];

/** The height at which the name of a limit is drawn. */
function nameOfLimit(at: number, points: [number, number][], log: boolean): number {
  const size = { width: 390, height: 220 };
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, ...size });
  const spec = {
    x: { unit: 's' as const, name: 'time', min: 0, max: 10 },
    y: { unit: 'ns' as const, name: 'lag', log },
    lines: [{ name: 'p99', unit: 'ns' as const, points }],
    marks: [{ from: 0, to: 10, name: 'hold' }],
    limits: [{ at, name: 'limit' }],
  };
  chart.setOption(lines(spec, { ...LIGHT, width: size.width }));
  const [, attributes = ''] = /<text([^>]*)>limit</.exec(chart.renderToSVGString()) ?? [];
  chart.dispose();
  return Number(/translate\([\d.]+ ([\d.]+)\)/.exec(attributes)?.[1]);
}

test.each([
  ['at the top of a logarithmic axis', 1e7, 7e6, true],
  ['at the bottom of one', 1e5, 7e6, true],
  ['at the top of a linear axis', 100, 100, false],
  ['at the bottom of one', 0, 100, false],
])('the name of a limit %s is within the plot', (_, at, highest, log) => {
  const y = nameOfLimit(
    at,
    [
      [0, 1e5 < highest ? 1e5 : 1],
      [5, highest],
    ],
    log,
  );
  expect(y).toBeGreaterThan(TOP);
  expect(y).toBeLessThan(BOTTOM);
});
