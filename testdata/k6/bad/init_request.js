import http from 'k6/http';

const page = http.get('http://target.test/');
export default function () {}
