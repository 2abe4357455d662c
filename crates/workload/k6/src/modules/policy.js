// What the options say of all requests: hosts that are blocked, how many requests there are by second, and how many of a batch
// at the same time.
import { beginTask, host, receive, setTimeout } from "throng:core";

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
// The answer to a request that is not sent, with k6's error and code; `undefined`: it is sent.
export const refusal = (asked) => (isBlocked(asked) ? {
  status: 0, proto: "", url: asked.url, headers: [], body: null, timings: [0, 0, 0, 0, 0, 0, 0], hops: [],
  error: "blocked hostname", error_code: 1111, isExpected: false,
} : undefined);
const isLimited = options.rps > 0;
// Seconds until the next request may be sent, which takes its turn.
const turn = () => (isLimited ? host.turn() : 0);
const waitForTurn = () => {
  const seconds = turn();
  if (seconds > 0) host.sleep(seconds);
};

// The answer to a request, for which the user waits.
export const ask = (asked) => {
  const refused = refusal(asked);
  if (refused !== undefined) return refused;
  waitForTurn();
  return host.http(asked);
};
// Requests of a batch at the same time, in all and to one host, with k6's defaults.
const atOnce = Math.min(Math.max(options.batch ?? 20, 1), 100);
const atOncePerHost = Math.max(options.batchPerHost ?? 6, 0) || Infinity;
// The answers to several requests, in their order.
export const askAll = (all) => {
  const answers = all.map(refusal);
  let left = all.map((asked, at) => ({ at, asked, name: hostOf(asked.url) })).filter(({ at }) => answers[at] === undefined);
  let count = 0;
  const counts = new Map();
  const add = (name, more) => {
    count += more;
    counts.set(name, (counts.get(name) || 0) + more);
  };
  while (left.length + count > 0) {
    left = left.filter(({ at, asked, name }) => {
      if (count >= atOnce || (counts.get(name) || 0) >= atOncePerHost) return true;
      waitForTurn();
      add(name, 1);
      beginTask(asked, (raw) => { answers[at] = raw; add(name, -1); }, true);
      return false;
    });
    receive(-1);
  }
  return answers;
};
// Begins a request that goes on beside the function; `take` is called with its answer.
export const begin = (asked, take) => {
  const refused = refusal(asked);
  if (refused !== undefined) return take(refused);
  const seconds = turn();
  if (seconds > 0) return setTimeout(() => beginTask(asked, take), 1e3 * seconds);
  return beginTask(asked, take);
};
