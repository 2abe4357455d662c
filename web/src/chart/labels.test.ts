import { expect, test } from 'vitest';
import { spread } from './labels';

test('labels stand above their places if there is room', () => {
  expect(
    spread(
      [
        { at: 50, width: 20 },
        { at: 150, width: 40 },
      ],
      0,
      200,
    ),
  ).toEqual([40, 130]);
});

test('labels of close places are moved apart by as little as possible', () => {
  const [first = 0, second = 0] = spread(
    [
      { at: 100, width: 30 },
      { at: 102, width: 30 },
    ],
    0,
    200,
  );
  expect(second - first).toBe(38);
  expect((first + second) / 2 + 15).toBe(101);
});

test('labels stay within the plot', () => {
  const close = [
    { at: 0, width: 30 },
    { at: 1, width: 30 },
    { at: 99, width: 20 },
  ];
  expect(spread(close, 0, 100)).toEqual([0, 38, 80]);
  // Three do not fit: the last is left out.
  expect(spread(close, 0, 70)).toEqual([0, 38]);
  expect(spread([], 0, 10)).toEqual([]);
});
