// examples/incident.yaml for k6. It has no Poisson arrivals: visits begin at even intervals.
import { check, sleep } from 'k6';
import http from 'k6/http';

const url = __ENV.URL;

export const options = {
  scenarios: {
    buyers: {
      executor: 'constant-arrival-rate',
      rate: Number(__ENV.RATE),
      timeUnit: '1s',
      duration: `${__ENV.SECONDS}s`,
      preAllocatedVUs: 200,
    },
  },
  thresholds: {
    http_req_failed: ['rate<0.01'],
    'http_req_duration{name:search}': ['p(95)<100'],
    'http_req_duration{name:checkout}': ['p(95)<200'],
  },
};

// Exponential, half a second on average.
function think() {
  sleep(-Math.log(1 - Math.random()) * 0.5);
}

function is200(step, answer) {
  check(answer, { [`${step} is 200`]: (one) => one.status === 200 });
}

export default function () {
  is200('browse', http.get(`${url}/browse`, { tags: { name: 'browse' } }));
  think();
  is200('search', http.get(`${url}/search?q=tea`, { tags: { name: 'search' } }));
  think();
  const headers = { 'content-type': 'application/json' };
  const order = JSON.stringify({ item: 'tea' });
  is200('checkout', http.post(`${url}/checkout`, order, { headers, tags: { name: 'checkout' } }));
}
