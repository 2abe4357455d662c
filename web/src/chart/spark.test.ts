import { expect, test } from 'vitest';
import { path, SPARK } from './spark';

const x = { from: 0, to: 10 };

test('a line goes from the left to the right, and upwards', () => {
  const { width, height } = SPARK;
  expect(
    path(
      [
        [0, 0],
        [10, 8],
      ],
      x,
      { from: 0, to: 8 },
    ),
  ).toBe(`M0 ${height - 1.5}h0.01L${width} 1.5`);
});

test('missing values break it, and zeros on a logarithmic scale', () => {
  const y = { from: 1, to: 100, log: true };
  const breaks = (value: number | null) =>
    path(
      [
        [0, 1],
        [5, value],
        [10, 100],
      ],
      x,
      y,
    ).split('M').length - 1;
  expect([breaks(10), breaks(null), breaks(0)]).toEqual([1, 2, 2]);
  expect(path([[5, 10]], x, y)).toBe(`M${SPARK.width / 2} ${SPARK.height / 2}h0.01`);
});

test('a constant is in the middle', () => {
  expect(path([[5, 3]], x, { from: 3, to: 3 })).toContain(` ${SPARK.height / 2}h`);
});
