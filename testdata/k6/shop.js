// What most scripts have: options, checks, groups, metrics of their own, a module and a data file.
import http from 'k6/http';
import { check, group, sleep } from 'k6';
import { Counter, Trend } from 'k6/metrics';
import { SharedArray } from 'k6/data';
import exec from 'k6/execution';
import { bought } from './lib/shop.js';

const BASE = __ENV.BASE || 'http://target.test';
const orders = new Counter('orders');
const basket = new Trend('basket');
const items = new SharedArray('items', () => JSON.parse(open('./items.json')));

export const options = {
  vus: 2,
  iterations: 6,
  thresholds: {
    checks: ['rate==1'],
    http_req_duration: ['p(95)<500', 'max<1000'],
    'http_req_duration{name:item}': ['avg<=20'],
    orders: ['count==6'],
  },
};

export default function () {
  const item = items[exec.scenario.iterationInTest % items.length];
  group('browse', () => {
    const page = http.get(`${BASE}/`);
    check(page, { 'front page is there': (r) => r.status === 200 && r.body.includes('hello') });
    http.get(`${BASE}/items/${item.id}`, { tags: { name: 'item' } });
  });
  sleep(1);
  const paid = http.post(`${BASE}/orders`, JSON.stringify({ item: item.id }), {
    headers: { 'Content-Type': 'application/json' },
  });
  check(paid, { 'order is taken': (r) => r.json('order.items.0') === 'tea' });
  orders.add(1);
  basket.add(bought(item));
}
