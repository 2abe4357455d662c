// Cookies that a script reads and sets, and a run that it ends.
import http from 'k6/http';
import exec from 'k6/execution';
import { check } from 'k6';

export const options = { vus: 1, iterations: 3, noVUConnectionReuse: true };

const BASE = 'http://target.test';

export default function () {
  const jar = http.cookieJar();
  check(jar.cookiesForURL(BASE), { 'an iteration begins without cookies': (had) => Object.keys(had).length === 0 });
  http.get(`${BASE}/set`);
  check(jar.cookiesForURL(`${BASE}/x`), { 'cookies of answers are there': (had) => had.own[0] === '1' });
  jar.set(BASE, 'mine', 'two');
  http.get(`${BASE}/both`);
  jar.delete(BASE, 'own');
  http.get(`${BASE}/mine`);
  const other = new http.CookieJar();
  other.set(BASE, 'other', '3');
  http.get(`${BASE}/other`, { jar: other });
  if (__ITER === 2) exec.test.abort('enough');
}
