import { expect, test } from 'vitest';
import { logMarks, roundEnds } from './base';

test('a short logarithmic axis has ticks between powers of ten', () => {
  const marks = (min: number, max: number) => logMarks({ min, max });
  expect(marks(1, 1000), 'powers of ten are enough').toBeUndefined();
  expect(marks(0.4, 12)).toEqual([0.5, 1, 2, 5, 10]);
  expect(marks(0.9, 1.3)).toEqual([0.9, 1, 1.1, 1.2, 1.3]);
  expect(marks(1.4e6, 1.9e6)).toEqual([1.4e6, 1.6e6, 1.8e6]);
  expect(marks(0, 1)).toBeUndefined();
});

test('a logarithmic axis ends at round numbers', () => {
  expect(roundEnds(3.4, 61)).toEqual([2, 100]);
  expect(roundEnds(1e6, 1e6)).toEqual([5e5, 2e6]);
  expect(roundEnds(0.0012, 0.0031)).toEqual([0.001, 0.005]);
  expect(roundEnds(2, 5)).toEqual([2, 5]);
});
