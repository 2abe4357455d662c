import { expect, test } from 'vitest';
import { column } from './frame';
import { inOrder } from './table';

test('rows are sorted by number, and what is missing comes last either way', () => {
  const p99 = column('p99', 'ns', [30, null, 4, 100]);
  expect(inOrder([0, 1, 2, 3], p99, true)).toEqual([3, 0, 2, 1]);
  expect(inOrder([0, 1, 2, 3], p99, false)).toEqual([2, 0, 3, 1]);
});

test('names are sorted as people count', () => {
  const name = column('step', '', ['step 10', 'step 9', 'a']);
  expect(inOrder([0, 1, 2], name, false)).toEqual([2, 1, 0]);
});
