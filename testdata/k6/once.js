// Setup, whose data each user gets, and teardown.
import http from 'k6/http';

export const options = { iterations: 2, setupTimeout: '5s' };

export function setup() {
  const answer = http.post('http://target.test/login', { user: 'ann' });
  return { token: answer.json('token') };
}

export default function (data) {
  http.get('http://target.test/private', { headers: { Authorization: `Bearer ${data.token}` } });
}

export function teardown(data) {
  http.del(`http://target.test/login/${data.token}`);
}
