// Iterations that begin at a rate, of which some find no user.
import http from 'k6/http';
import { sleep } from 'k6';

export const options = {
  scenarios: {
    busy: {
      executor: 'constant-arrival-rate', rate: 10, timeUnit: '1s', duration: '2s', preAllocatedVUs: 3,
      env: { WHERE: '/busy' }, tags: { kind: 'busy' }, gracefulStop: '5s',
    },
    calm: {
      executor: 'per-vu-iterations', vus: 2, iterations: 3, maxDuration: '10s', startTime: '1s', exec: 'calm',
    },
  },
  thresholds: {
    'iterations{scenario:calm}': ['count==6'],
    'http_reqs{kind:busy}': ['count>0'],
    dropped_iterations: ['count<20'],
  },
};

let kept = 0;

export default function () {
  http.get(`http://target.test${__ENV.WHERE}`);
  sleep(1);
}

export function calm() {
  kept += 1;
  http.get(`http://target.test/calm/${kept}`);
}
