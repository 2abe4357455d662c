import { expect, test } from 'vitest';
import { pieces } from './quantity';

test('a number stays with its unit, and nothing else does', () => {
  expect(pieces('p50 11.5 ms → 404 ms, 31 % 503')).toEqual([
    'p50 ',
    '11.5 ms',
    ' → ',
    '404 ms',
    ', ',
    '31 %',
    ' 503',
  ]);
  expect(pieces('1,024 KiB in 3 min')).toEqual(['', '1,024 KiB', ' in ', '3 min', '']);
  expect(pieces('or use `throng duet`')).toEqual(['or use ', '`throng duet`', '']);
  for (const text of [
    '3 minutes',
    '2 steps',
    '5 half',
    '97 of 313',
    '503 status',
    'p95 before s',
  ]) {
    expect(pieces(text)).toEqual([text]);
  }
});
