// What scripts find beside the language, and what they do not. Evaluated once in each context, before the script.
//
// `now` and `random` are functions of the host. The result has what the host calls while it loads a script: `close`
// after the script was evaluated, `fix` for each value of its top level, `patterns` for what has to be reset.
(function (now, random) {
  "use strict";
  // A list longer than this can only be sparse, or no list: a built-in function would walk over it for minutes.
  const LENGTH_MAX = 10e6;
  // Characters of a text times those of the text that is sought in it.
  const SEARCH_MAX = 1e9;
  const put = (object, key, value) =>
    Object.defineProperty(object, key, { value, writable: true, configurable: true });

  for (const name of ["Promise", "SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry", "Proxy",
    "performance", "queueMicrotask", "eval", "escape", "unescape"]) {
    delete globalThis[name];
  }

  put(Math, "random", random);

  // The run's clock, and one time zone for all machines.
  const Clock = Date;
  const utc = (text) =>
    typeof text === "string" && /^[+-]?\d{4,6}-\d\d-\d\dT[\d:.]+$/.test(text) ? text + "Z" : text;
  const RunDate = function Date(...parts) {
    if (new.target === undefined) return new RunDate().toString();
    const given = parts.length === 0 ? [now()] : parts.length === 1 ? [utc(parts[0])] : [Clock.UTC(...parts)];
    return Reflect.construct(Clock, given, new.target);
  };
  const dates = Clock.prototype;
  RunDate.prototype = dates;
  put(RunDate, "now", now);
  put(RunDate, "UTC", Clock.UTC);
  put(RunDate, "parse", (text) => Clock.parse(utc(text)));
  put(dates, "constructor", RunDate);
  for (const part of ["FullYear", "Month", "Date", "Day", "Hours", "Minutes", "Seconds", "Milliseconds"]) {
    put(dates, "get" + part, dates["getUTC" + part]);
    if (part !== "Day") put(dates, "set" + part, dates["setUTC" + part]);
  }
  delete dates.getYear;
  delete dates.setYear;
  put(dates, "getTimezoneOffset", function getTimezoneOffset() { return 0; });
  put(dates, "toString", dates.toUTCString);
  put(dates, "toLocaleString", dates.toUTCString);
  const part = (from, to) => function () { return this.toISOString().slice(from, to); };
  for (const name of ["toDateString", "toLocaleDateString"]) put(dates, name, part(0, -14));
  for (const name of ["toTimeString", "toLocaleTimeString"]) put(dates, name, part(-13, -1));
  put(globalThis, "Date", RunDate);

  // QuickJS looks at the time between instructions, not within a built-in function: those must end by themselves.
  const apply = Reflect.apply;
  const guard = (prototype, names, check) => {
    for (const name of names) {
      const own = prototype[name];
      if (typeof own !== "function") continue;
      put(prototype, name, { [name](...given) {
        check(this, given);
        return apply(own, this, given);
      } }[name]);
    }
  };
  const short = (list) => {
    if (list !== null && list !== undefined && list.length > LENGTH_MAX) {
      throw new RangeError(`a list of ${list.length} items is too long for a script`);
    }
  };
  guard(Array.prototype, ["copyWithin", "every", "fill", "filter", "flat", "flatMap", "forEach", "includes", "indexOf",
    "join", "lastIndexOf", "map", "reduce", "reduceRight", "reverse", "shift", "slice", "some", "sort", "splice",
    "toReversed", "toSorted", "toSpliced", "toString", "toLocaleString", "unshift", "with", "find", "findIndex",
    "findLast", "findLastIndex"], short);
  guard(Array.prototype, ["concat"], (list, given) => { short(list); given.forEach(short); });
  guard(String.prototype, ["includes", "indexOf", "lastIndexOf", "replace", "replaceAll", "split"], (text, given) => {
    const sought = given[0];
    if (typeof sought === "string" && text !== null && text.length * sought.length > SEARCH_MAX) {
      throw new RangeError("the texts are too long to search one in the other");
    }
  });

  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";
  const seen = new Set();
  const walk = (first, visit) => {
    const found = [first];
    while (found.length > 0) {
      const value = found.pop();
      if (!isObject(value) || seen.has(value)) continue;
      seen.add(value);
      found.push(Object.getPrototypeOf(value));
      for (const key of Reflect.ownKeys(value)) {
        const { value: item, get, set } = Object.getOwnPropertyDescriptor(value, key);
        found.push(item, get, set);
      }
      visit(value, found);
    }
  };
  const builtIn = [];
  walk(globalThis, (value) => builtIn.push(value));
  const patterns = [];
  const refuse = () => { throw new TypeError("what a script keeps at its top cannot be changed"); };

  // Of a prototype only additions are refused: a property that cannot be written hides those of all that inherit it.
  const isFrozen = (value) =>
    (typeof value === "function" && value !== Function.prototype) || value === Math || value === JSON
      || value === Reflect;

  return {
    close() {
      for (const value of builtIn) {
        if (value === globalThis) continue;
        if (isFrozen(value)) Object.freeze(value);
        else Object.preventExtensions(value);
      }
      Object.freeze(globalThis);
    },
    fix(first) {
      if (!isObject(first) || seen.has(first)) return;
      walk(first, (value, found) => {
        if (value instanceof RegExp) {
          patterns.push(value);
          return;
        }
        if (value instanceof Map || value instanceof Set) {
          value.forEach((item, key) => found.push(item, key));
          for (const name of ["set", "add", "delete", "clear"]) put(value, name, refuse);
        }
        if (!ArrayBuffer.isView(value)) Object.freeze(value);
      });
    },
    patterns: () => patterns,
  };
})
