// More answers at the same time than there is memory for.
import http from 'k6/http';

export const options = { iterations: 1, batch: 1 };

export default function () {
  const answers = http.batch(Array.from({ length: 12 }, (_, n) => `http://target.test/page/${n}`));
  console.log(answers.map((one) => one.status).join());
}
