import { expect, test } from 'vitest';
import type { Finding, RunDocument } from '../../document/run';
import { isRepetition, placeOf } from './order';

test('findings do not repeat what is shown of thresholds, failures and incidents', () => {
  const is = (code: string, text: string, failures: number, incident: string) =>
    isRepetition({ code, severity: 'warning', text, evidence: {} }, {
      failures: { list: Array.from({ length: failures }) },
      incidents: [{ text: incident }],
    } as unknown as RunDocument);
  expect(is('threshold-failed', 'p95(a) is slow', 0, '')).toBe(true);
  expect(is('errors', 'a: 12 failed', 1, '')).toBe(true);
  expect(is('errors', 'a: 12 failed', 0, ''), 'the record does not say how').toBe(false);
  expect(is('incident', 'a: 30 % failed; after phase b', 1, 'a: 30 % failed')).toBe(true);
  expect(is('incident', '4 more incidents', 1, 'a: 30 % failed')).toBe(false);
  expect(is('throughput', 'any', 1, '')).toBe(false);
});

test('findings are where their question is answered', () => {
  const place = (code: string, severity: Finding['severity']) =>
    placeOf({ code, severity, text: '', evidence: {} });
  expect(place('errors', 'warning')).toBe('broke');
  expect(place('incident', 'note')).toBe('more');
  expect(place('two-groups', 'note')).toBe('broke');
  expect(place('own-failures', 'warning')).toBe('broke');
  expect(place('sessions-failed', 'note')).toBe('more');
  expect(place('generator-healthy', 'good')).toBe('limit');
  expect(place('server-cpu', 'warning')).toBe('limit');
  expect(place('run-incomplete', 'fatal')).toBe('limit');
  expect(place('throughput', 'note')).toBe('more');
});
