import { sleep } from 'k6';
import { browser } from 'k6/browser';

export default function () {
  sleep(1);
}
