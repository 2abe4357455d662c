import { describe, expect, test } from 'vitest';
import { span } from '../../chart/groups';
import type { Bar } from '../../document/experiment';
import { at, layout } from './layout';

const factors = [
  { letter: 'A', name: 'policy', levels: ['random', 'hash', 'least'] },
  { letter: 'B', name: 'users', levels: ['250', '500'] },
];

const bar = (level: number, mean: number): Bar => ({ level, runs: 3, mean, low: null, high: null });

function bars(groups: number, levels = [0, 1, 2]) {
  const all = Array.from({ length: groups }, (_, n) => ({
    levels: [null, n % 2],
    pooled: true,
    bars: levels.map((level) => bar(level, level + 10 * n)),
  }));
  return { factor: 0, groups: all, groups_left_out: 0 };
}

describe('the layout of means', () => {
  test('has a series for each combination if there are few', () => {
    const found = layout(factors, bars(2));
    expect(found.axis).toBe('policy');
    expect(found.categories).toEqual(['random', 'hash', 'least']);
    expect(found.series.map(({ name }) => name)).toEqual(['users=250', 'users=500']);
    expect(found.series[1]?.bars.map((one) => one?.mean)).toEqual([10, 11, 12]);
    expect(found.left).toBe(0);
  });

  test('has a series for each level if there are many combinations', () => {
    const found = layout(factors, bars(30));
    expect(found.axis).toBe('users');
    expect(found.categories.slice(0, 3)).toEqual(['250', '500', '250']);
    expect(found.series.map(({ name }) => name)[2]).toBe('policy=least');
    expect(found.left).toBe(6 * 3);
  });

  test('keeps the place of a combination that is missing', () => {
    const found = layout(factors, bars(1, [0, 2]));
    expect(found.series[0]?.bars.map((one) => one?.mean ?? null)).toEqual([0, null, 2]);
  });

  test('names levels with their factors', () => {
    expect(at(factors, [null, 1])).toBe('users=500');
    expect(at(factors, [1, 0])).toBe('policy=hash, users=250');
    expect(at(factors, [])).toBe('');
  });
});

test('bars of a group stand side by side around its middle', () => {
  const [first, last] = [span(0, 4), span(3, 4)];
  expect(first[0]).toBeCloseTo(-last[1], 12);
  expect(span(1, 4)[0]).toBeCloseTo(first[1], 12);
});
