import { expect, test } from 'vitest';
import { words } from './findings';

test('figures behind a finding are named without their unit', () => {
  expect(['per_s', 'answered_per_s', 'lag_ns', 'begin_s', 'ip_bytes_in'].map(words)).toEqual([
    'rate',
    'answered',
    'lag',
    'begin',
    'ip bytes in',
  ]);
});
