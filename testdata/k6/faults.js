// What goes wrong in an iteration, and what goes on all the same.
import http from 'k6/http';
import { check, fail } from 'k6';
import { Rate } from 'k6/metrics';

const lost = new Rate('lost');

export const options = { iterations: 4 };

export default function () {
  const none = http.get('http://target.test/reset', { timeout: '2s' });
  lost.add(none.status === 0);
  check(none, { 'has an answer': (r) => r.status !== 0, 'has a code': (r) => r.error_code > 0 });
  const missing = http.get('http://target.test/missing');
  const fine = http.get('http://target.test/missing', { responseCallback: http.expectedStatuses(404) });
  check(missing, { 'is missing': (r) => r.status === 404 && r.error_code === 1404 });
  console.log(`iteration ${__ITER} of user ${__VU}: ${fine.status}`);
  if (__ITER === 1) fail('enough');
  if (__ITER === 2) throw new TypeError('worse');
  const moved = http.get('http://target.test/moved');
  check(moved, { 'was led elsewhere': (r) => r.url === 'http://target.test/there' && r.body === 'here' });
  const kept = http.get('http://target.test/moved', { redirects: 0 });
  check(kept, { 'stays': (r) => r.status === 302 && r.headers.Location === '/there' });
}
