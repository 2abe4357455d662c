import http from 'k6/http';

export const options = {
  vus: 5,
  rps: 100,
};

export default function () {
  http.get('http://target.test/');
}
