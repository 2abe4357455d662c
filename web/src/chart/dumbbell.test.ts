import { expect, test } from 'vitest';
import { DUMBBELL, places } from './dumbbell';

test('both sides share an axis from the least value to the greatest', () => {
  const found = places([10, 20], [30, 40]);
  expect(found?.baseline).toEqual([8, 102.7]);
  expect(found?.candidate).toEqual([197.3, DUMBBELL.width - 8]);
  expect([found?.from, found?.to]).toEqual([55.3, 244.7]);
});

test('values that are all alike stand in the middle, and none have no picture', () => {
  expect(places([5], [5])).toEqual({ baseline: [150], candidate: [150], from: 150, to: 150 });
  expect(places([], [1])).toBeNull();
});
