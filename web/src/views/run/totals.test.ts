import { describe, expect, test } from 'vitest';
import type { RunDocument } from '../../document/run';
import { held, totals, worst } from './totals';

function doc(change: Partial<RunDocument['totals']> = {}, verdict = 'passed'): RunDocument {
  const all: RunDocument['totals'] = {
    operations: 12_000,
    errors: 30,
    own_failures: 0,
    error_share: 0.0025,
    unfinished: 0,
    offered_per_s: 210,
    begun_per_s: 200,
    completed_per_s: 198.7,
    drained: 0,
    step: { name: 'predict', p50_ns: 2e6, p95_ns: 8e6, p99_ns: 31e6, bound_above: null },
    ...change,
  };
  const users = {
    started: 990,
    planned: 1000,
    peak: 400,
    failed: 0,
    stopped: 0,
    cut_off: 0,
    lost: 0,
    unstarted: 0,
  };
  return { verdict, users, totals: all } as unknown as RunDocument;
}

describe('the totals of a run', () => {
  const names = (all: { name: string }[]) => all.map(({ name }) => name);

  test('are users, rates and errors, and percentiles of a step', () => {
    const all = totals(doc());
    expect(all.map(({ name, value, note }) => [name, value, note])).toEqual([
      ['Users', '990', 'started of 1,000 planned, peak 400'],
      ['Offered', '210/s', 'operations due'],
      ['Begun', '200/s', 'operations begun'],
      ['Completed', '199/s', 'answered'],
      ['Failed', '0.250 %', '30 of 12,000 operations'],
    ]);
    const step = worst(doc());
    expect(step?.name).toBe('predict');
    expect(step?.tiles.map(({ name, value }) => [name, value])).toEqual([
      ['p50', '2.00 ms'],
      ['p95', '8.00 ms'],
      ['p99', '31.0 ms'],
    ]);
    expect(all[4]?.tone).toBe('bad');
  });

  test('account for what did not end', () => {
    const cut = doc({ unfinished: 12 });
    cut.users = { ...cut.users, cut_off: 7, unstarted: 3 };
    const notes = totals(cut).map(({ note }) => note);
    expect(notes[0]).toBe('started of 1,000 planned, peak 400, 7 cut off, 3 due and not started');
    expect(notes[4]).toBe('30 of 12,000 operations, 12 unfinished');
    cut.users = { ...cut.users, failed: 54, stopped: 6, cut_off: 0, unstarted: 0 };
    const failed = '60 failed (6 stopped)';
    expect(totals(cut)[0]?.note).toBe(`started of 1,000 planned, peak 400, ${failed}`);
  });

  test('say what the drain added, and what failed and is no operation', () => {
    const notes = totals(doc({ drained: 40, own_failures: 1 })).map(({ note }) => note);
    expect(notes[3]).toBe('answered; 40 more in the drain');
    expect(notes[4]).toBe('30 of 12,000 operations and 1 step that failed of itself');
    const several = totals(doc({ own_failures: 12 })).map(({ note }) => note);
    expect(several[4]).toBe('30 of 12,000 operations and 12 steps that failed of themselves');
  });

  test('are those of the step in focus, and say why', () => {
    const ofPay = { name: 'pay', p50_ns: 4e8, p95_ns: 9e8, p99_ns: 1e9, bound_above: null };
    const focus = { name: 'pay', reason: 'threshold', count: 200, errors: 30, totals: ofPay };
    const step = worst({ ...doc(), focus } as RunDocument);
    expect(step?.name).toBe('pay, whose threshold failed; 15 % failed');
    expect(step?.tiles.map(({ value }) => value)).toEqual(['400 ms', '900 ms', '1.00 s']);
  });

  test('say what failed of a step without response times', () => {
    const focus = { name: 'pay', reason: 'errors', count: 200, errors: 200, totals: null };
    const silent = { ...doc({ step: null }), focus } as RunDocument;
    expect(worst(silent)).toBeNull();
    expect(totals(silent)[4]?.note).toBe('30 of 12,000 operations; pay: 100 % failed');
  });

  test('say that a percentile is a lower bound', () => {
    const step = { name: 'a', p50_ns: 1e6, p95_ns: 2e6, p99_ns: 3e6, bound_above: 0.95 };
    const shown = worst(doc({ step }))?.tiles;
    expect(shown?.map(({ value }) => value)).toEqual(['1.00 ms', '2.00 ms', '≥ 3.00 ms']);
  });

  test('leave out what the record lacks', () => {
    const none = { offered_per_s: null, begun_per_s: null, completed_per_s: null, step: null };
    const lacking = doc(none, 'imported');
    lacking.users = { ...lacking.users, started: 0 };
    expect(names(totals(lacking))).toEqual(['Failed']);
    expect(worst(lacking)).toBeNull();
  });
});

test('a verdict says what it comes from', () => {
  const of = (verdict: RunDocument['verdict'], passed: boolean[], code = '') =>
    held({
      verdict,
      thresholds: passed.map((one) => ({ passed: one })),
      findings: [{ code }],
    } as unknown as RunDocument);
  expect(of('passed', [true, true])).toBe('2 of 2 thresholds hold');
  expect(of('failed', [true, false])).toBe('1 of 2 thresholds hold');
  expect(of('running', [true])).toBe('1 of 1 thresholds hold so far');
  expect(of('running', [])).toBe('not judged yet');
  expect(of('measured', [])).toBe('no thresholds');
  // All thresholds hold, and it failed none the less.
  expect(of('failed', [true], 'steps-never-succeeded')).toBe('a step never succeeded');
  expect(of('failed', [true], 'own-failures')).toBe('sessions failed of themselves');
  expect(of('failed', [true], 'run-aborted')).toBe('a threshold ended the run');
  expect(of('failed', [], 'nothing-succeeded')).toBe('nothing succeeded');
  expect(of('failed', [true], 'target-saturated')).toBe('the target fell behind');
  expect(of('failed', [true], 'target-stopped')).toBe('the target stopped answering');
});
