import http from 'k6/http';

export const options = {
  vus: 5,
  blacklistIPs: ['10.0.0.0/8'],
};

export default function () {
  http.get('http://target.test/');
}
