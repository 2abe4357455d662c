import { describe, expect, test } from 'vitest';
import type { Response } from '../../document/experiment';
import { formatUnit } from '../../format';
import { asValue, changeUnit, logarithmic } from './effect';

const response = (model: Response['model'], unit: Response['unit'] = 'ns') => ({ model, unit });

describe('effects', () => {
  test('are differences in the unit of the response', () => {
    const additive = response('additive');
    expect(formatUnit(asValue(additive, 3e6), changeUnit(additive))).toBe('+3.00 ms');
    expect(formatUnit(asValue(additive, -0.5), changeUnit(response('additive', '')))).toBe(
      '−0.500',
    );
    expect(logarithmic(additive, [1, 2])).toEqual({ free: true });
  });

  test('are factors if they multiply', () => {
    const multiplicative = response('multiplicative');
    const change = asValue(multiplicative, Math.log10(2.5));
    expect(formatUnit(change, changeUnit(multiplicative))).toBe('×2.50');
    const { log, min, max } = logarithmic(multiplicative, [0.5, null, 2]) as {
      log: boolean;
      min: number;
      max: number;
    };
    expect(log && min < 0.5 && max > 2).toBe(true);
    expect(min).toBeGreaterThan(0.4);
  });
});
