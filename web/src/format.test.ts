import { describe, expect, test } from 'vitest';
import {
  bytes,
  clock,
  count,
  duration,
  evidence,
  formatUnit,
  share,
  significant,
  span,
  tick,
} from './format';

// The same figures as in `crates/results/judge/src/words.rs`: page and terminal write alike.
describe('figures', () => {
  test('counts are grouped', () => {
    expect([0, 999, 1000, 24_000, 1_234_567].map(count)).toEqual([
      '0',
      '999',
      '1,000',
      '24,000',
      '1,234,567',
    ]);
  });
  test.each([
    [0, '0 ns'],
    [512, '512 ns'],
    [1_000, '1.00 µs'],
    [87_249, '87.2 µs'],
    [999_400, '999 µs'],
    [999_600, '1.00 ms'],
    [9_999_000, '10.0 ms'],
    [31_000_000, '31.0 ms'],
    [5.7e9, '5.70 s'],
    [1_234e9, '1,234 s'],
    [-31_000_000, '-31.0 ms'],
  ])('%d ns is %s', (ns, text) => expect(duration(ns)).toBe(text));
  test.each([
    [0, '0 s'],
    [2.5, '2.5 s'],
    [59.6, '1 min'],
    [200, '3 min 20 s'],
    [5600, '1 h 33 min'],
    [7200, '2 h'],
    [-75, '−1 min 15 s'],
  ])('%d s are %s', (s, text) => expect(span(s)).toBe(text));
  test.each([
    [0, '0:00'],
    [75, '1:15'],
    [3723, '1:02:03'],
    [-5, '−0:05'],
  ])('%d s on an axis are %s', (s, text) => expect(clock(s)).toBe(text));
  test.each([
    [0, '0 %'],
    [1, '100 %'],
    [0.99999, '99.99 %'],
    [0.5, '50 %'],
    [0.0126, '1.26 %'],
    [0.000312, '0.0312 %'],
  ])('the share %d is %s', (x, text) => expect(share(x)).toBe(text));
  test.each([
    [1023, '1023 B'],
    [4096, '4.00 KiB'],
    [1_048_575, '1.00 MiB'],
    [212 * 2 ** 20, '212 MiB'],
  ])('%d bytes are %s', (n, text) => expect(bytes(n)).toBe(text));
  test('what is very large or small has an exponent', () => {
    expect([1e100, -9.999e99, 1e14, 1e-300, 2.5e-9].map((x) => significant(x))).toEqual([
      '1.00e100',
      '-1.00e100',
      '100,000,000,000,000',
      '1.00e-300',
      '0.00000000250',
    ]);
    expect(duration(1e100)).toBe('1.00e91 s');
  });
  test('rounding never adds a digit', () => {
    expect([9.999, 99.96, 0.00123456, 0].map((x) => significant(x))).toEqual([
      '10.0',
      '100',
      '0.00123',
      '0',
    ]);
  });
  test('ticks are round', () => {
    expect(tick(1e6, 'ns')).toBe('1 ms');
    expect(tick(2_500_000, 'count')).toBe('2.5 M');
    expect(tick(0.25, 'share')).toBe('25 %');
    expect(tick(-0.3, '')).toBe('−0.3');
    expect(tick(64 * 2 ** 20, 'B/s')).toBe('64 MiB/s');
  });
  test('evidence has the unit of its name', () => {
    expect(evidence('lag_p99_ns', 1e6)).toBe('1.00 ms');
    expect(evidence('share', 0.25)).toBe('25 %');
    expect(evidence('requested_per_s', 120)).toBe('120/s');
    expect(evidence('operations', 12_000)).toBe('12,000');
  });

  test.each([
    [3e6, '±ns', '+3.00 ms', '+3 ms'],
    [-41_900, '±ns', '−41.9 µs', '−41.9 µs'],
    [0, '±ns', '0 ns', '0'],
    [-0.5, '±', '−0.500', '−0.5'],
    [2.5, '×', '×2.50', '×2.5'],
  ])('%d in %s is %s, %s on an axis', (value, unit, text, short) => {
    expect(formatUnit(value, unit)).toBe(text);
    expect(tick(value, unit)).toBe(short);
  });
});
