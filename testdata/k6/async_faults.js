// What ends an iteration that has something in flight.
import http from 'k6/http';
import { sleep } from 'k6';

export const options = { iterations: 4 };

const BASE = 'http://target.test';

export default async function () {
  const pages = [1, 2, 3].map((n) => http.asyncRequest('GET', `${BASE}/pages/${n}`));
  switch (__ITER) {
    case 0: throw new Error('thrown at once');
    case 1: setTimeout(() => { throw new Error('thrown by a timer'); }, 1); break;
    case 2: Promise.reject(new Error('nobody handles it')); break;
    default: await Promise.race(pages); sleep(0.1);
  }
}
