// What the modules of k6 share. Evaluated once in each context, before the script: it takes the host's functions, which the
// script never sees, and gives the language the run's clock and the user's random numbers.
const host = globalThis.__host;
delete globalThis.__host;

const put = (object, key, value) =>
  Object.defineProperty(object, key, { value, writable: true, configurable: true });

// The run's clock.
const Clock = Date;
const RunDate = function Date(...parts) {
  if (new.target === undefined) return new RunDate().toString();
  return Reflect.construct(Clock, parts.length === 0 ? [host.now()] : parts, new.target);
};
RunDate.prototype = Clock.prototype;
put(RunDate, "now", () => Math.floor(host.now()));
put(RunDate, "UTC", Clock.UTC);
put(RunDate, "parse", Clock.parse);
put(Clock.prototype, "constructor", RunDate);
put(globalThis, "Date", RunDate);
put(Math, "random", host.random);

// The console.
const shown = (value) => {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ? `${value}\n${value.stack}` : String(value);
  if (typeof value === "function") return "[object Function]";
  if (value === undefined) return "undefined";
  try {
    const json = JSON.stringify(value);
    return json === undefined ? String(value) : json;
  } catch (_) {
    return String(value);
  }
};
const line = (level) => (...values) => host.log(level, values.map(shown).join(" "));
put(globalThis, "console", {
  log: line("info"), info: line("info"), warn: line("warn"), error: line("error"), debug: line("debug"), trace: line("debug"),
});

export const fault = (message) => { throw new Error(message); };
export const missing = (what, instead) =>
  fault(`${what} of k6 is not supported here${instead ? `: ${instead}` : ""}`);
const absent = (what, instead) => () => missing(what, instead);

put(globalThis, "require", (name) => fault(`require(${shown(name)}): its name has to be a text in quotes, in the file itself`));
put(globalThis, "__ENV", JSON.parse(host.env()));

export const where = () => JSON.parse(host.where());
const inInit = () => host.phase() === "init";
export const outsideOfInit = (what) => {
  if (inInit()) fault(`${what} in the init context is not supported`);
};
put(globalThis, "open", (path, mode) => {
  if (!inInit()) fault("the `open()` function is only available in the init context (i.e. the global scope)");
  if (mode !== undefined && mode !== "b" && mode !== "") fault(`\`open\` has no mode "${mode}": it is "b" or left out`);
  return host.open(String(path), mode === "b");
});

// Bytes and texts.
export const isBytes = (value) => value instanceof ArrayBuffer || ArrayBuffer.isView(value);
export const bytesOf = (value) => {
  if (typeof value === "string" || value instanceof ArrayBuffer) return value;
  if (ArrayBuffer.isView(value)) return value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength);
  if (Array.isArray(value)) return new Uint8Array(value).buffer;
  return fault(`this is no text and has no bytes: ${shown(value)}`);
};

// Tags. Those of a sample are the scenario's, the user's, the group's and its own; later ones win.
let groupPath = "";
let userTags = Object.create(null);
let iterationTags = Object.create(null);
export const currentGroup = () => groupPath;
const begin = (tags, group) => {
  groupPath = group;
  iterationTags = Object.assign(Object.create(null), tags);
  clearEvents();
};
Object.defineProperty(globalThis, "__begin", { value: begin });
// Of the tags that k6 sets, those that the options want.
const wantedTags = (JSON.parse(host.options()) || {}).systemTags;
const isWanted = (name) => !Array.isArray(wantedTags) || wantedTags.includes(name);
export const systemTags = (tags) => Object.fromEntries(Object.entries(tags).filter(([name]) => isWanted(name)));
const flat = (...parts) => {
  const tags = Object.assign(Object.create(null), iterationTags, userTags, ...parts);
  if (!("group" in tags) && isWanted("group")) tags.group = groupPath;
  if (!isWanted("scenario")) delete tags.scenario;
  const list = [];
  for (const name of Object.keys(tags)) {
    const value = tags[name];
    if (value !== undefined && value !== null) list.push(name, String(value));
  }
  return list;
};
export const tagsSet = new Proxy(Object.create(null), {
  get: (_, name) => (name in userTags ? userTags[name] : iterationTags[name]),
  set: (_, name, value) => {
    if (!["string", "number", "boolean"].includes(typeof value)) {
      throw new TypeError("only String, Boolean and Number types are accepted as a metric tag value");
    }
    userTags[name] = String(value);
    return true;
  },
  deleteProperty: (_, name) => delete userTags[name],
  has: (_, name) => name in userTags || name in iterationTags,
  ownKeys: () => Object.keys(Object.assign({}, iterationTags, userTags)),
  getOwnPropertyDescriptor: (_, name) => ({ value: String(userTags[name] ?? iterationTags[name]), enumerable: true, configurable: true }),
});
export const sample = (name, value, tags) => {
  if (host.records(name)) host.sample(name, value, flat(tags));
};

// The event loop of a user: tasks that the host does beside the function, timers, and promises that are rejected.
export class Queue {
  constructor() { this.clear(); }
  clear() { this.items = []; this.taken = 0; }
  get isEmpty() { return this.items.length === 0; }
  push(item) { this.items.push(item); }
  take() {
    const item = this.items[this.taken];
    this.items[this.taken] = undefined;
    this.taken += 1;
    if (2 * this.taken >= this.items.length) {
      this.items = this.items.slice(this.taken);
      this.taken = 0;
    }
    return item;
  }
}
const tasks = new Map();
const rejected = new Map();
const news = new Queue();
const clearEvents = () => {
  tasks.clear();
  timers.clear();
  queue = [];
  rejected.clear();
  news.clear();
  host.forgetTasks();
};
// Timers by their numbers, and in a heap by when they are due, in which those that were cleared are left for a while.
const timers = new Map();
let queue = [];
let timersCount = 0;
let turnsCount = 0;
const isBefore = (one, other) => one.at < other.at || (one.at === other.at && one.turn < other.turn);
const enqueue = (timer) => {
  turnsCount += 1;
  timer.turn = turnsCount;
  let at = queue.length;
  for (; at > 0; at = (at - 1) >> 1) {
    const above = queue[(at - 1) >> 1];
    if (!isBefore(timer, above)) break;
    queue[at] = above;
  }
  queue[at] = timer;
};
const dequeue = () => {
  const last = queue.pop();
  if (queue.length === 0) return;
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    if (below + 1 < queue.length && isBefore(queue[below + 1], queue[below])) below += 1;
    if (below >= queue.length || !isBefore(queue[below], last)) break;
    queue[at] = queue[below];
    at = below;
  }
  queue[at] = last;
};
const nextTimer = () => {
  while (queue.length > 0 && !timers.has(queue[0].id)) dequeue();
  return queue[0];
};
// Begins a task and returns its number; `take` is called with each of its news, in a turn of the loop, or as soon as they are there.
export const beginTask = (described, take, isAtOnce) => {
  const id = host.begin(described);
  tasks.set(id, { take, isAtOnce });
  return id;
};
// Waits for news, or until this time; below 0: for as long as it takes.
export const receive = (until) => {
  for (const one of host.news(until)) {
    const task = tasks.get(one.id);
    if (task === undefined) continue;
    if (one.isLast) tasks.delete(one.id);
    if (task.isAtOnce) task.take(one.value);
    else news.push([task, one.value]);
  }
};
// One thing that is due, or waiting for one. False: nothing ever will be.
const turn = () => {
  for (const [promise, reason] of rejected) {
    rejected.delete(promise);
    throw reason;
  }
  if (!news.isEmpty) {
    const [task, value] = news.take();
    task.take(value);
    return true;
  }
  const next = nextTimer();
  if (next === undefined) {
    if (!host.hasTasks()) return false;
    receive(-1);
  } else if (next.at > host.elapsed()) {
    receive(next.at);
  } else {
    dequeue();
    if (next.every === undefined) {
      timers.delete(next.id);
    } else {
      next.at = host.elapsed() + next.every;
      enqueue(next);
    }
    next.call();
  }
  return true;
};
Object.defineProperty(globalThis, "__turn", { value: turn });
Object.defineProperty(globalThis, "__rejected", {
  value: (promise, reason, isHandled) => { if (isHandled) rejected.delete(promise); else rejected.set(promise, reason); },
});
const timer = (name, repeats) => (call, delay, ...values) => {
  outsideOfInit(`${name}()`);
  if (typeof call !== "function") throw new TypeError(`${name}() requires a function as its first argument`);
  // At least a millisecond, so that the clock goes on.
  const after = Math.max(1, Number(delay) || 0);
  timersCount += 1;
  const id = timersCount;
  const own = { id, at: host.elapsed() + after, every: repeats ? after : undefined, call: () => call(...values) };
  timers.set(id, own);
  enqueue(own);
  return id;
};
export const setTimeout = timer("setTimeout", false);
export const setInterval = timer("setInterval", true);
export const clearTimeout = (id) => {
  timers.delete(id);
  if (queue.length <= 2 * timers.size + 100) return;
  // What is sorted is a heap as well.
  queue = queue.filter((own) => timers.has(own.id)).sort((one, other) => (isBefore(one, other) ? -1 : 1));
};
export const clearInterval = clearTimeout;
for (const [name, value] of Object.entries({ setTimeout, setInterval, clearTimeout, clearInterval })) put(globalThis, name, value);

// `k6`.
export const sleep = (seconds) => {
  outsideOfInit("sleep()");
  const number = Number(seconds);
  if (!(number > 0)) return;
  host.sleep(number);
};
export const fail = (message) => {
  if (inInit()) fault("fail() in the init context is not supported");
  throw new Error(message === undefined ? "undefined" : String(message));
};
export const group = (name, work) => {
  if (inInit()) fault("group() in the init context is not supported");
  if (typeof work !== "function") fault("group() requires a callback as a second argument");
  if (String(name).includes("::")) fault("group and check names may not contain '::'");
  if (work.constructor && work.constructor.name === "AsyncFunction") fault("group() does not support async functions as arguments");
  const before = groupPath;
  groupPath = `${before}::${name}`;
  const began = host.now();
  try {
    return work();
  } finally {
    sample("group_duration", host.now() - began);
    groupPath = before;
  }
};
export const check = (value, sets, tags) => {
  if (inInit()) fault("check() in the init context is not supported");
  if (sets === null || sets === undefined) fault("no checks provided to `check`");
  let all = true;
  const ends = (name, holds) => {
    host.check(name, holds);
    sample("checks", holds ? 1 : 0, Object.assign(systemTags({ check: name }), tags));
    if (!holds) all = false;
  };
  for (const name of Object.keys(sets)) {
    const one = sets[name];
    let holds;
    try {
      holds = typeof one === "function" ? one(value) : one;
    } catch (thrown) {
      ends(name, false);
      throw thrown;
    }
    if (holds && typeof holds.then === "function") {
      fault(`check "${name}" returned a promise: async functions are not supported as checks`);
    }
    ends(name, Boolean(holds));
  }
  return all;
};
export const randomSeed = (seed) => host.seed(Number(seed));

// `k6/metrics`.
const NAME = /^[a-zA-Z_][a-zA-Z0-9_]{1,63}$/;
const metric = (kind) => class {
  constructor(name, isTime) {
    if (!inInit()) fault("metrics must be declared in the init context");
    if (!NAME.test(String(name))) fault(`invalid metric name: '${name}'`);
    this.name = String(name);
    host.metric(this.name, kind, Boolean(isTime));
  }
  add(value, tags) {
    if (inInit()) fault("metrics cannot be added to in the init context");
    const number = kind === "rate" ? Number(Boolean(value)) : Number(value);
    if (!Number.isFinite(number)) {
      host.log("warn", `'${shown(value)}' is an invalid value for metric '${this.name}', a number is expected`);
      return false;
    }
    sample(this.name, number, tags);
    return true;
  }
};
export const Counter = metric("counter");
export const Gauge = metric("gauge");
export const Rate = metric("rate");
export const Trend = metric("trend");

// `k6/data`: the items are kept as texts, once for all users of a loop.
const frozen = (value) => {
  if (value !== null && typeof value === "object" && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.keys(value).forEach((key) => frozen(value[key]));
  }
  return value;
};
export const SharedArray = function SharedArray(name, make) {
  if (!inInit()) fault("new SharedArray must be called in the init context");
  if (new.target === undefined) fault("SharedArray has to be called with `new`");
  if (typeof name !== "string" || name === "") fault("empty name provided to SharedArray's constructor");
  if (typeof make !== "function") fault("a function is expected as the second argument of SharedArray's constructor");
  let count = host.shared(name);
  if (count === undefined) {
    const items = make();
    if (!Array.isArray(items)) fault("only arrays can be made into SharedArray");
    count = items.length;
    host.share(name, items.map((item) => JSON.stringify(item === undefined ? null : item)));
  }
  const at = (index) => (index >= 0 && index < count ? frozen(JSON.parse(host.item(name, index))) : undefined);
  const isIndex = (key) => typeof key === "string" && /^(0|[1-9][0-9]*)$/.test(key);
  const refuse = () => { throw new TypeError("SharedArray is immutable"); };
  return new Proxy(new Array(0), {
    get(target, key) {
      if (key === "length") return count;
      if (isIndex(key)) return at(Number(key));
      if (key === Symbol.iterator) return function* () { for (let index = 0; index < count; index += 1) yield at(index); };
      return target[key];
    },
    has: (target, key) => (isIndex(key) ? Number(key) < count : key in target),
    set: refuse, deleteProperty: refuse, defineProperty: refuse,
  });
};

// `k6/execution`.
const getters = (makers) => Object.create(null, Object.fromEntries(
  Object.entries(makers).map(([name, get]) => [name, { get, enumerable: true }])));
const scenarioOnly = (name) => () => {
  const here = where();
  if (!here.scenario) fault(`getting scenario information outside of the VU context is not supported (\`scenario.${name}\`)`);
  return here[name];
};
export const execution = {
  instance: getters({
    iterationsInterrupted: () => 0,
    iterationsCompleted: () => where().iterationsOfLoop,
    vusActive: absent("`exec.instance.vusActive`"),
    vusInitialized: absent("`exec.instance.vusInitialized`"),
    currentTestRunDuration: () => where().elapsed,
  }),
  scenario: getters({
    name: () => { const here = where(); return here.scenario || fault("getting scenario information outside of the VU context is not supported"); },
    executor: scenarioOnly("executor"),
    startTime: scenarioOnly("startTime"),
    progress: scenarioOnly("progress"),
    iterationInInstance: scenarioOnly("iterationInTest"),
    iterationInTest: scenarioOnly("iterationInTest"),
  }),
  vu: Object.assign(getters({
    iterationInInstance: () => { outsideOfInit("getting `vu.iterationInInstance`"); return where().iteration; },
    iterationInScenario: () => { outsideOfInit("getting `vu.iterationInScenario`"); return where().iteration; },
    idInInstance: () => where().vu,
    idInTest: () => where().vu,
  }), { tags: tagsSet, metrics: { tags: tagsSet, metadata: Object.create(null) } }),
  test: Object.assign(getters({ options: () => frozen(JSON.parse(host.options())) }), {
    abort: (message) => {
      const text = message === undefined ? "" : String(message);
      host.abort(text);
      fault(`test aborted${text === "" ? "" : `: ${text}`}`);
    },
    fail: absent("`exec.test.fail`"),
  }),
};

export { host, shown };
