import { expect, test } from 'vitest';
import type { Finding, Step } from '../../document/run';
import { placeOf, worstFirst } from './order';

test('what breaks a threshold comes first, then what failed, then the slowest', () => {
  const step = (name: string, breaks_threshold: boolean, errors: number, p95: number): Step =>
    ({
      name,
      breaks_threshold,
      count: 100,
      errors,
      response: [0, 0, 0, 0, p95, 0, 0, 0, 0],
    }) as unknown as Step;
  const all = [
    step('fast', false, 0, 1),
    step('slow', false, 0, 9),
    step('some fail', false, 3, 2),
    step('many fail', false, 30, 1),
    step('breaks', true, 0, 4),
  ];
  const names = all.sort(worstFirst).map(({ name }) => name);
  expect(names).toEqual(['breaks', 'many fail', 'some fail', 'slow', 'fast']);
});

test('findings are where their question is answered', () => {
  const place = (code: string, severity: Finding['severity']) =>
    placeOf({ code, severity, text: '', evidence: {} });
  expect(place('threshold-failed', 'warning')).toBe('more');
  expect(place('errors', 'warning')).toBe('more');
  expect(place('incident', 'warning')).toBe('more');
  expect(place('two-groups', 'note')).toBe('broke');
  expect(place('own-failures', 'warning')).toBe('broke');
  expect(place('sessions-failed', 'note')).toBe('more');
  expect(place('generator-healthy', 'good')).toBe('limit');
  expect(place('server-cpu', 'warning')).toBe('limit');
  expect(place('run-incomplete', 'fatal')).toBe('limit');
  expect(place('throughput', 'note')).toBe('more');
});
