import { expect, test } from 'vitest';
import type { ComparisonDocument, Measure } from '../../document/comparison';
import { minus, values } from './changed';

const run = (side: string, rate: number | null) => ({
  compared: { label: side, side },
  figures: { rate, mean_ns: 2e6, error_rate: 0.042, quantiles_ns: [1e6, 9e6] },
});

test('the values of a figure are those of the runs of a side', () => {
  const runs = [run('baseline', 20), run('candidate', 18), run('candidate', null)];
  const doc = {
    quantiles: [0.5, 0.999],
    runs: runs.map((one) => one.compared),
  } as unknown as ComparisonDocument;
  const measure = { runs: runs.map((one) => one.figures) } as unknown as Measure;
  const of = (figure: string, side: string) => values(doc, measure, figure, side);
  expect(of('rate', 'baseline')).toEqual([20]);
  expect(of('rate', 'candidate'), 'one is not known').toEqual([18]);
  expect(of('p99.9', 'candidate')).toEqual([9e6, 9e6]);
  expect(of('mean', 'baseline')).toEqual([2e6]);
  expect(of('error_rate', 'baseline')).toEqual([0.042]);
  expect(of('shape', 'baseline')).toEqual([]);
});

test('signs of the terminal are written as minus signs', () => {
  expect(minus('-24 % (-30 to -18)')).toBe('−24 % (−30 to −18)');
  expect(minus('keep-alive')).toBe('keep-alive');
});
