import { describe, expect, test } from 'vitest';
import type { RunDocument } from './document/run';
import { progressOf } from './progress';

const at = (ended_s: number, ...ends: number[]) =>
  ({ run: { ended_s }, phases: ends.map((end_s) => ({ end_s })) }) as unknown as RunDocument;

describe('the progress of a run', () => {
  test('is the time since the start and the time left', () => {
    expect(progressOf(at(80, 60, 200))).toEqual({
      now_s: 80,
      planned_s: 200,
      share: 0.4,
      text: '1 min 20 s of 3 min 20 s, 2 min left',
    });
    // A fraction of a second is not nothing.
    expect(progressOf(at(199.6, 200))?.text).toMatch(/, 1 s left$/);
  });

  test('does not exceed the plan while users finish', () => {
    const after = progressOf(at(203, 200));
    expect(after?.share).toBe(1);
    expect(after?.text).toMatch(/the last phase is over, users may finish$/);
  });

  test('is unknown without an end', () => {
    expect(progressOf(at(5))).toBeUndefined();
    expect(progressOf(at(5, Infinity))).toBeUndefined();
  });
});
