// Requests at the same time, as a list and as an object.
import http from 'k6/http';
import { check } from 'k6';

export const options = { iterations: 2, batch: 4 };

const BASE = 'http://target.test';

export default function () {
  const pages = http.batch([
    `${BASE}/pages/1`,
    ['GET', `${BASE}/pages/2`, null, { tags: { name: 'second' } }],
    { method: 'POST', url: `${BASE}/pages/3`, body: { a: 'b' } },
    `${BASE}/reset`,
    `${BASE}/pages/5`,
    `${BASE}/pages/6`,
  ]);
  check(pages, {
    'answers are in order': (all) => all.map((r) => r.body).join() === '1,2,3,,5,6',
    'one is lost': (all) => all[3].status === 0,
  });
  const named = http.batch({ front: `${BASE}/pages/7`, back: `${BASE}/pages/8` });
  check(named, { 'answers have names': (all) => all.front.body === '7' && all.back.body === '8' });
  check(http.batch([]), { 'nothing is nothing': (all) => all.length === 0 });
}
