// A loop without an end, which begins just before the end of the run.
import http from 'k6/http';
import { sleep } from 'k6';

export const options = {
  scenarios: { one: { executor: 'constant-vus', vus: 2, duration: '1s', gracefulStop: '0s' } },
};

export default function () {
  http.get('http://target.test/');
  sleep(0.95);
  for (;;) {}
}
