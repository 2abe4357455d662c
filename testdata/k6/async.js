// Promises, timers, and requests that go on beside the function.
import http from 'k6/http';
import { check, sleep } from 'k6';
import { setTimeout as later } from 'k6/timers';

export const options = { iterations: 2 };

const BASE = 'http://target.test';
const wait = (ms, value) => new Promise((resolve) => later(resolve, ms, value));

export default async function () {
  const began = Date.now();
  const both = await Promise.all([
    http.asyncRequest('GET', `${BASE}/pages/1`),
    http.asyncRequest('POST', `${BASE}/pages/2`, { a: 'b' }, { tags: { name: 'second' } }),
  ]);
  check(both, { 'both are there': ([a, b]) => a.body === '1' && b.body === '2' });
  check(Date.now() - began, { 'at the same time': (ms) => ms < 20 });

  // The answer is there when the function comes to it.
  const beside = http.asyncRequest('GET', `${BASE}/pages/3`);
  sleep(1);
  const page = http.get(`${BASE}/pages/4`);
  const before = Date.now();
  check(await beside, { 'goes on beside': (r) => r.body === '3' && page.body === '4' && Date.now() === before });

  const lost = await http.asyncRequest('GET', `${BASE}/reset`);
  const thrown = await http.asyncRequest('GET', `${BASE}/reset`, null, { throw: true }).catch((error) => error.message);
  check(lost, { 'one is lost': (r) => r.status === 0 && thrown === r.error });

  const order = [];
  let ticks = 0;
  const clock = setInterval(() => { ticks += 1; order.push(`tick ${ticks}`); }, 100);
  const never = setTimeout(() => order.push('never'), 150);
  clearTimeout(never);
  Promise.resolve().then(() => order.push('at once'));
  await wait(250);
  clearInterval(clock);
  check(order, { 'timers are in order': (all) => all.join() === 'at once,tick 1,tick 2' });
  const [five, six] = http.batch([`${BASE}/pages/5`, `${BASE}/pages/6`]);
  check(await wait(50, five.body + six.body), { 'values are handed on': (all) => all === '56' });

  // What is left when the function has returned still belongs to its iteration.
  http.asyncRequest('GET', `${BASE}/pages/7`).then((r) => check(r, { 'the last one counts': () => r.body === '7' }));
}
