import { describe, expect, test } from 'vitest';
import type { Entry } from '../document/results';
import type { TrendDocument, TrendFigure } from '../document/trend';
import { changesOf, repeated, startLabels } from './changes';
import { summary } from './kinds';

const entry = (id: string, name: string, change: Partial<Entry> = {}) =>
  ({ id, name, kind: 'run', parent: null, state: 'passed', ...change }) as Entry;

describe('trends', () => {
  test('are of scenarios that were run repeatedly on their own', () => {
    const entries = [
      entry('5', 'shop'),
      entry('4', 'shop', { state: 'untrusted' }),
      entry('3', 'chat'),
      entry('2', 'chat', { parent: '9' }),
      entry('1', 'shop', { state: 'measured' }),
      entry('0', 'log', { kind: 'model' }),
    ];
    expect([...repeated(entries)].map(([name, { id }]) => [name, id])).toEqual([['shop', '5']]);
  });

  test('have labels that distinguish runs', () => {
    const labels = (...starts: string[]) => startLabels(starts.map((one) => Date.parse(`${one}Z`)));
    const [first, second] = ['2026-11-30T20:57:39', '2026-11-30T20:57:58'];
    expect(labels(first, second)).toEqual(['20:57:39', '20:57:58']);
    expect(labels(first, '2026-11-30T21:00:00')).toEqual(['20:57', '21:00']);
    expect(labels(first, second, '2026-12-01T01:00:00')[2]).toBe('12-01 01:00:00');
    expect(labels('2026-11-28T20:00:00', first)).toEqual(['11-28', '11-30']);
  });

  test('say what changed, by how much, and with which run', () => {
    const figure: TrendFigure = {
      name: 'p99',
      unit: 'ns',
      values: [],
      parts: [
        { from: 0, to: 3, median: 100e6, p: null, change: null },
        { from: 4, to: 9, median: 150e6, p: 0.001, change: 0.5 },
      ],
    };
    const runs = Array.from({ length: 10 }, (_, n) => ({
      id: `${n}`,
      path: `runs/${n}`,
      note: n === 4 ? 'new pool' : null,
    }));
    const doc = { runs, figures: [figure] } as unknown as TrendDocument;
    expect(changesOf(doc, figure)).toEqual([
      { text: 'p99: 100 ms → 150 ms (+50 %)', id: '4', path: 'runs/4', note: 'new pool' },
    ]);
  });
});

test('the list is counted by kind', () => {
  const all = [entry('1', 'a'), entry('2', 'b'), entry('3', 'c', { kind: 'search' })];
  expect(summary(all, 3)).toBe('3 results: 2 runs, 1 search.');
  expect(summary(all.slice(0, 1), 3)).toBe('1 of 3 results: 1 run.');
  expect(summary([], 3)).toBe('0 of 3 results.');
  const searches = [entry('1', 'a', { kind: 'search' }), entry('2', 'b', { kind: 'search' })];
  expect(summary(searches, 2)).toBe('2 results: 2 searches.');
});
