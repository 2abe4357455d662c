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

test('names of narrow times that stand out are whole, above the plot and the names of phases', () => {
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: 390, height: 220 });
  const spec = {
    x: { unit: 's' as const, name: 'time', min: 0, max: 60 },
    y: { unit: '1/s' as const, name: 'rate' },
    lines: [{ name: 'failed', unit: '1/s' as const, points: [[0, 0] as [number, number]] }],
    marks: [{ from: 0, to: 60, name: 'hold' }],
    highlights: [
      { from: 40, to: 41, name: 'search: response', tone: 'bad' as const },
      { from: 15, to: 16, name: 'checkout: errors', tone: 'bad' as const },
    ],
  };
  chart.setOption(lines(spec, { ...LIGHT, width: 390 }));
  const svg = chart.renderToSVGString();
  chart.dispose();
  const place = (name: string) => {
    const [, attributes = ''] = new RegExp(`<text([^>]*)>${name}<`).exec(svg) ?? [];
    const [, x, y] = / x="([\d.]+)" y="([\d.]+)"/.exec(attributes) ?? [];
    return { x: Number(x), y: Number(y) };
  };
  const [phase, first, second] = ['hold', 'checkout: errors', 'search: response'].map(place);
  expect(first?.y).toBeLessThan((phase?.y ?? 0) - 10);
  expect(second?.y).toBe(first?.y);
  expect(second?.x).toBeGreaterThan(first?.x ?? Infinity);
});
