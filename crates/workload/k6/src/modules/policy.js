// What the options say of all requests: hosts that are blocked, and how many requests there are by second.
import { host } from "throng:core";

const options = JSON.parse(host.options()) || {};
const blocked = options.blockHostnames || [];
const hostOf = (address) => {
  const found = /^https?:\/\/(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)/i.exec(address);
  return found === null ? "" : found[1].toLowerCase();
};
const fits = (name, pattern) => {
  const wanted = String(pattern).toLowerCase();
  return wanted === "*" || name === wanted || (wanted.startsWith("*") && name.endsWith(wanted.slice(1)));
};
const isBlocked = ({ url }) => blocked.length > 0 && blocked.some((pattern) => fits(hostOf(url), pattern));
// As k6 answers it: error and code are its own.
const refused = ({ url }) => ({
  status: 0, proto: "", url, headers: [], body: null, timings: [0, 0, 0, 0, 0, 0, 0], hops: [],
  error: "blocked hostname", error_code: 1111, isExpected: false,
});
const waitForTurn = (count) => {
  const seconds = host.turn(count);
  if (seconds > 0) host.sleep(seconds);
};
export const isLimited = options.rps > 0;

export const ask = (asked) => {
  if (isBlocked(asked)) return refused(asked);
  if (isLimited) waitForTurn(1);
  return host.http(asked);
};
// The answers to several requests, in their order.
export const askAll = (all) => {
  const sent = all.filter((asked) => !isBlocked(asked));
  if (isLimited && sent.length > 0) waitForTurn(sent.length);
  const answers = sent.length === 0 ? [] : host.batch(sent);
  return all.map((asked) => (isBlocked(asked) ? refused(asked) : answers.shift()));
};
