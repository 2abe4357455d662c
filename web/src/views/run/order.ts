/** The order of what the page of a run shows. */

import type { Finding, Step } from '../../document/run';

/** The index of the 95th percentile in the times of a step. */
const P95 = 4;

/** A step that breaks a threshold comes before others, then the highest share of errors, then the slowest. */
export function worstFirst(one: Step, other: Step): number {
  const share = (step: Step) => step.errors / Math.max(1, step.count);
  const p95 = (step: Step) => step.response?.[P95] ?? 0;
  return (
    Number(other.breaks_threshold) - Number(one.breaks_threshold) ||
    share(other) - share(one) ||
    p95(other) - p95(one)
  );
}

/** Findings that thresholds, failures and incidents show as tables and lists. */
const SHOWN = /^(threshold-failed$|errors$|incident)/;
/** Findings on what a step did over time, whatever their severity. */
const OVER_TIME = /^(periodic-stall|response-grows|keep-alive-closed|two-groups)$/;
/** Findings on what users met. */
const OF_USERS =
  /^(own-failures|nothing-succeeded|steps-|setup|teardown|channels-|sessions-|users-unstarted|sums-broken|sequence-|numbers-|subscriptions-|attempts-)/;
/** Findings on who was the limit, good ones included. */
const OF_LIMITS = /^(generator-|target-|server-|connecting-limit)/;

/** Where a finding is shown: with what broke, with the limits, or in the full report. */
export function placeOf({ code, severity }: Finding): 'broke' | 'limit' | 'more' {
  const isGrave = severity === 'warning' || severity === 'fatal';
  if (SHOWN.test(code)) return 'more';
  if (OVER_TIME.test(code)) return 'broke';
  if (OF_USERS.test(code)) return isGrave ? 'broke' : 'more';
  return isGrave || OF_LIMITS.test(code) ? 'limit' : 'more';
}
