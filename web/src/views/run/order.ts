/** Where findings are shown. */

import type { Finding, RunDocument } from '../../document/run';

/** True if a finding says what is shown of thresholds, failures and incidents; as in text. */
export function isRepetition(
  { code, text }: Finding,
  { failures, incidents }: Pick<RunDocument, 'failures' | 'incidents'>,
): boolean {
  if (code === 'threshold-failed') return true;
  if (code === 'errors') return failures.list.length > 0;
  return incidents.some((one) => one.text !== '' && text.includes(one.text));
}

/** Findings on what a step did over time, whatever their severity. */
const OVER_TIME = /^(periodic-stall|response-grows|keep-alive-closed|two-groups)$/;
/** Findings on what users met. */
const OF_USERS =
  /^(own-failures|nothing-succeeded|steps-|errors$|setup|teardown|channels-|sessions-|users-unstarted|sums-broken|sequence-|numbers-|subscriptions-|attempts-)/;
/** Findings on who was the limit, good ones included. */
const OF_LIMITS = /^(generator-|target-|server-|connecting-limit)/;

/** Where a finding is shown: with what broke, with the limits, or in the full report. */
export function placeOf({ code, severity }: Finding): 'broke' | 'limit' | 'more' {
  const isGrave = severity === 'warning' || severity === 'fatal';
  // Incidents of which less was lost than of those that are listed.
  if (code === 'incident') return 'more';
  if (OVER_TIME.test(code)) return 'broke';
  if (OF_USERS.test(code)) return isGrave ? 'broke' : 'more';
  return isGrave || OF_LIMITS.test(code) ? 'limit' : 'more';
}
