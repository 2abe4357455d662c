// What scripts find beside the language, and what they do not. Evaluated once in each context, before the script.
//
// `now`, `random`, `look`, `left` and `write` are functions of the host. The result has what the host calls: `close` after the
// script was evaluated, `fix` and `keep` for what stands at its top level, and `reset` before each call of a user, if
// `isKeeping`.
(function (now, random, look, left, write) {
  "use strict";
  const put = (object, key, value) =>
    Object.defineProperty(object, key, { value, writable: true, configurable: true });

  const directly = globalThis.eval;
  // What is gone. Some of it can be reached without its name, such as the prototype of promises.
  const gone = [];
  for (const name of ["Promise", "SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry", "Proxy",
    "BigInt", "BigInt64Array", "BigUint64Array", "DisposableStack", "AsyncDisposableStack", "performance", "queueMicrotask", "eval", "escape", "unescape"]) {
    gone.push(globalThis[name]);
    delete globalThis[name];
  }
  // One operation on large integers may take longer than a call; texts that have such numbers are not loaded.
  for (const kind of ["BigInt64", "BigUint64"]) {
    delete DataView.prototype["get" + kind];
    delete DataView.prototype["set" + kind];
  }
  // Each of these changes what all users share, though nothing that is frozen: a setter, or a method of one object.
  delete Error.prepareStackTrace;
  delete Error.stackTraceLimit;
  delete RegExp.prototype.compile;
  // Code that is made of a text is seen by no check.
  const kinds = [function () {}, function* () {}, async function () {}, async function* () {}];
  for (const kind of kinds) {
    const prototype = Object.getPrototypeOf(kind);
    const Closed = function Function() { throw new TypeError("a script makes no functions of texts"); };
    Closed.prototype = prototype;
    put(prototype, "constructor", Closed);
  }
  put(globalThis, "Function", Function.prototype.constructor);

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

  // QuickJS looks at the time between instructions, not within a built-in function. So each one whose work grows with what
  // it is given says before how many nanoseconds it may take, rather too many than too few. `spend` adds them up, and has
  // the host look at its clock now and then; `reserve` lets the host refuse what would not end in time.
  const LOOK_NS = 50e3;
  const apply = Reflect.apply;
  let spent = 0;
  const reserve = (ns, name) => {
    // Lengths come from scripts: what is no number or negative must not lessen the sum.
    if (ns > 0) spent += ns;
    if (spent < LOOK_NS) return;
    spent = 0;
    look(ns, name);
  };
  const spend = (ns) => {
    if (ns > 0) spent += ns;
    if (spent < LOOK_NS) return;
    spent = 0;
    look(0, "");
  };
  const around = (object, names, wrap) => {
    for (const name of names) {
      const own = object[name];
      if (typeof own !== "function") continue;
      // A method of an object literal is no constructor, like what it stands for.
      const label = typeof name === "symbol" ? own.name : name;
      put(object, name, { [label](...given) { return wrap(this, given, own, label); } }[label]);
    }
  };
  const limited = (object, names, cost) =>
    around(object, names, (self, given, own, name) => {
      reserve(cost(self, given), name);
      return apply(own, self, given);
    });
  const counted = (object, names, cost) =>
    around(object, names, (self, given, own) => {
      spend(cost(self, given));
      return apply(own, self, given);
    });

  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";
  const length = (list) => (list === null || list === undefined ? 0 : Number(list.length) || 0);
  const size = (set) => (isObject(set) ? Number(set.size) || 0 : 0);
  const items = (ns) => (list) => ns * length(list);
  const argument = (ns) => (self, [list]) => ns * length(list);

  const sorting = (list, [compare]) => {
    const n = length(list);
    return compare === undefined ? 55 * n * Math.log2(n + 2) : 40 * n;
  };
  const flatLength = (list, depth) => {
    const count = length(list);
    let n = 0;
    for (let at = 0; at < count; at++) {
      n += depth >= 1 && Array.isArray(list[at]) ? flatLength(list[at], depth - 1) : 1;
    }
    return n;
  };
  const lists = Array.prototype;
  limited(lists, ["every", "filter", "find", "findIndex", "findLast", "findLastIndex", "flatMap", "forEach",
    "includes", "indexOf", "lastIndexOf", "map", "reduce", "reduceRight", "some"], items(20));
  limited(lists, ["copyWithin", "fill", "reverse", "shift", "slice", "toReversed", "unshift", "with"], items(20));
  limited(lists, ["splice", "toSpliced"], items(60));
  limited(lists, ["join", "toLocaleString", "toString"], items(100));
  limited(lists, ["sort", "toSorted"], sorting);
  limited(lists, ["flat"], (list, [depth = 1]) => 60 * flatLength(list, depth));
  limited(lists, ["concat"], (list, others) =>
    others.reduce((sum, other) => sum + 40 * (isObject(other) ? length(other) : 1), 40 * length(list)));
  limited(Array, ["from"], (self, [list]) => 60 * (length(list) || size(list)));
  const numbers = Object.getPrototypeOf(Uint8Array.prototype);
  limited(numbers, ["copyWithin", "every", "fill", "filter", "find", "findIndex", "findLast", "findLastIndex", "forEach",
    "includes", "indexOf", "lastIndexOf", "map", "reduce", "reduceRight", "reverse", "slice", "some", "toReversed", "with"],
  items(2));
  limited(numbers, ["join", "toLocaleString", "toString"], items(250));
  limited(numbers, ["sort", "toSorted"], sorting);
  limited(numbers, ["set"], argument(20));
  limited(Object.getPrototypeOf(Uint8Array), ["from"], argument(100));
  limited(Uint8Array, ["fromBase64", "fromHex"], argument(5));
  limited(Uint8Array.prototype, ["setFromBase64", "setFromHex"], argument(5));
  limited(Uint8Array.prototype, ["toBase64", "toHex"], items(5));
  limited(ArrayBuffer.prototype, ["slice"], (buffer) => Number(buffer.byteLength) || 0);

  // A naive search: a text that repeats what is sought takes the product of both.
  const search = (text, [sought]) => length(text) * (3 + 2 * Math.max(0, length(sought) - 64));
  const texts = String.prototype;
  limited(texts, ["repeat"], (text, [count]) => 3 * length(text) * (Number(count) || 0));
  limited(texts, ["padEnd", "padStart"], (text, [to]) => 3 * (Number(to) || 0));
  limited(texts, ["includes", "indexOf", "lastIndexOf"], search);
  limited(texts, ["replace", "replaceAll"], (text, options) =>
    isObject(options[0]) ? 0 : 20 * length(text) + search(text, options));
  limited(texts, ["toLocaleLowerCase", "toLocaleUpperCase", "toLowerCase", "toUpperCase"], items(20));
  limited(texts, ["normalize"], items(60));
  limited(texts, ["localeCompare"], (text, [other]) => 100 * (length(text) + length(other)));
  limited(texts, ["concat", "isWellFormed", "toWellFormed", "trim", "trimEnd", "trimStart"], items(1));
  const SPLIT_ITEM_NS = 100;
  around(texts, ["split"], (text, [separator, most], own, name) => {
    if (typeof text !== "string" || isObject(separator)) return apply(own, text, [separator, most]);
    reserve(2 * text.length, name);
    if (text.length < 1000) return apply(own, text, [separator, most]);
    // How many parts there are is known only afterwards; it looks no further than to the first one too many.
    const affordable = Math.floor(left() / SPLIT_ITEM_NS);
    const wanted = most === undefined ? 2 ** 32 - 1 : most >>> 0;
    const parts = apply(own, text, [separator, Math.min(wanted, affordable + 1)]);
    if (parts.length > affordable) look(2 * SPLIT_ITEM_NS * parts.length, name);
    spend(SPLIT_ITEM_NS * parts.length);
    return parts;
  });
  // All that regular expressions do goes through `exec`. A long search looks at the time itself, many short ones do not.
  around(RegExp.prototype, ["exec"], (pattern, [text], own) => {
    const from = Number(pattern.lastIndex) || 0;
    const match = apply(own, pattern, [text]);
    const to = match === null ? length(text) : match.index + match[0].length;
    spend(300 + 20 * Math.max(0, to - from));
    return match;
  });
  limited(RegExp, ["escape"], argument(10));
  limited(globalThis, ["encodeURI", "encodeURIComponent", "decodeURI", "decodeURIComponent"], argument(20));
  limited(globalThis, ["parseFloat", "parseInt"], argument(3));
  for (const name of ["parseFloat", "parseInt"]) put(Number, name, globalThis[name]);

  limited(JSON, ["parse"], argument(50));
  const stringify = JSON.stringify;
  const VALUE_NS = 150;
  put(JSON, "stringify", { stringify(value, replacer, space) {
    const cost = (item) => VALUE_NS + (typeof item === "string" ? 5 * item.length : 0);
    const each = typeof replacer === "function"
      ? function (key, item) { spend(cost(item)); return apply(replacer, this, [key, item]); }
      : (key, item) => { spend(cost(item)); return item; };
    return apply(stringify, JSON, [value, Array.isArray(replacer) ? replacer : each, space]);
  } }.stringify);

  // One line for each call. What is too long is cut before it leaves the script.
  const LINE_CHARS_MAX = 1000;
  const json = JSON.stringify;
  const described = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    if (typeof value !== "object" || value === null) return String(value);
    try { return json(value) ?? "[object]"; } catch { return "[object]"; }
  };
  const wellFormed = texts.toWellFormed;
  const lineOf = (values) => {
    let line = "";
    for (let at = 0; at < values.length && line.length < LINE_CHARS_MAX; at++) {
      line += (at > 0 ? " " : "") + described(values[at]);
    }
    return apply(wellFormed, line.length > LINE_CHARS_MAX ? line.slice(0, LINE_CHARS_MAX - 1) + "…" : line, []);
  };
  const console = {};
  for (const name of ["debug", "error", "info", "log", "warn"]) {
    put(console, name, { [name](...values) { write(lineOf(values)); } }[name]);
  }
  put(globalThis, "console", console);

  const ownKeys = Reflect.ownKeys;
  const keysOf = (value) => (isObject(value) ? (Array.isArray(value) ? value.length : ownKeys(value).length) : 0);
  limited(Object, ["freeze", "isFrozen", "isSealed", "seal"], (self, [value]) => 300 * keysOf(value));
  limited(Object, ["getOwnPropertyDescriptors"], (self, [value]) => 1000 * keysOf(value));
  limited(Object, ["assign", "defineProperties"], (self, all) => all.reduce((sum, value) => sum + 400 * keysOf(value), 0));
  // These cannot say before how much there is, or may stop early: the time that they took is looked at afterwards.
  const listing = (self, own, all) => {
    const list = apply(own, self, all);
    spend(500 * list.length);
    return list;
  };
  for (const [object, names] of [[Object, ["entries", "getOwnPropertyNames", "keys", "values"]], [Reflect, ["ownKeys"]]]) {
    around(object, names, (self, all, own) => listing(self, own, all));
  }
  limited(Object, ["fromEntries"], argument(500));
  counted(Reflect, ["apply"], (self, [, , list]) => 40 * length(list));
  counted(Reflect, ["construct"], (self, [, list]) => 40 * length(list));
  counted(Function.prototype, ["apply"], (self, [, list]) => 40 * length(list));
  for (const prototype of [lists, numbers]) {
    limited(prototype, ["entries", "keys", "values"], items(60));
    put(prototype, Symbol.iterator, prototype.values);
  }
  limited(texts, [Symbol.iterator], items(100));

  // Whole numbers as keys share their places in the tables of QuickJS, so that each look takes longer the more there are.
  const setHas = Set.prototype.has;
  const setAdd = Set.prototype.add;
  const kept = new Set();
  const isKept = (value) => apply(setHas, kept, [value]);
  const refuse = () => { throw new TypeError("what a script keeps at its top cannot be changed"); };
  const lookUp = (self) => 200 + Math.min(size(self) / 2, 5000);
  for (const prototype of [Map.prototype, Set.prototype]) {
    counted(prototype, ["get", "has"], lookUp);
    limited(prototype, ["entries", "keys", "values"], (self) => 60 * size(self));
    put(prototype, Symbol.iterator, prototype === Map.prototype ? prototype.entries : prototype.values);
  }
  limited(Set.prototype, ["difference", "intersection", "isDisjointFrom", "isSubsetOf", "isSupersetOf",
    "symmetricDifference", "union"], (self, [other]) => 600 * (size(self) + size(other)));
  const changes = [[Map, ["clear", "delete", "getOrInsert", "getOrInsertComputed", "set"]],
    [Set, ["add", "clear", "delete"]], [WeakMap, ["delete", "getOrInsert", "getOrInsertComputed", "set"]],
    [WeakSet, ["add", "delete"]], [ArrayBuffer, ["resize", "transfer", "transferToFixedLength", "transferToImmutable"]],
    [Clock, ownKeys(dates).filter((name) => typeof name === "string" && name.startsWith("set"))]];
  for (const [{ prototype }, names] of changes) {
    around(prototype, names, (self, all, own) => {
      if (isKept(self)) refuse();
      spend(lookUp(self));
      return apply(own, self, all);
    });
  }

  // All that can be reached without a script: what has a name, what has lost it, and what literals inherit.
  const iterators = [[].values(), ""[Symbol.iterator](), new Map().values(), new Set().values(), /x/[Symbol.matchAll]("x"),
    [].values().map((x) => x), Iterator.from({ next() {} })].map(Object.getPrototypeOf);
  const generators = Object.getPrototypeOf(kinds[1]).prototype;
  const roots = [...gone, ...kinds.map(Object.getPrototypeOf), ...iterators];
  const seen = new Set();
  const isSeen = (value) => apply(setHas, seen, [value]);
  const walk = (first, visit) => {
    const found = [first];
    while (found.length > 0) {
      const value = found.pop();
      if (!isObject(value) || isSeen(value)) continue;
      apply(setAdd, seen, [value]);
      found.push(Object.getPrototypeOf(value));
      for (const key of ownKeys(value)) {
        const { value: item, get, set } = Object.getOwnPropertyDescriptor(value, key);
        found.push(item, get, set);
      }
      visit(value, found);
    }
  };

  // A property that cannot be written hides those of all that inherit it: `error.name = "Mine"` would fail. Where scripts
  // write such properties, a setter gives them their own.
  const errors = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];
  const letHide = (prototype, keys = ownKeys(prototype)) => {
    for (const key of keys) {
      const { value, writable, configurable } = Object.getOwnPropertyDescriptor(prototype, key);
      if (!writable || !configurable) continue;
      const set = function (own) {
        if (this === prototype) refuse();
        Object.defineProperty(this, key, { value: own, writable: true, enumerable: true, configurable: true });
      };
      Object.defineProperty(prototype, key, { get: () => value, set });
    }
  };

  const BUFFERS_BYTES_MAX = 64 * 1024;
  const resets = [];
  let bufferBytes = 0;
  const resetBuffer = (buffer) => {
    const bytes = new Uint8Array(buffer);
    bufferBytes += bytes.length;
    if (buffer.resizable || bufferBytes > BUFFERS_BYTES_MAX) {
      throw new TypeError("typed arrays at the top of a script have a fixed length, and 64 KiB together: each call resets them");
    }
    const before = bytes.slice();
    const set = numbers.set;
    resets.push(() => apply(set, bytes, [before]));
  };
  const isPrototypeOf = Object.prototype.isPrototypeOf;
  const succeeds = (method, self) => {
    try { apply(method, self, []); } catch { return false; }
    return true;
  };
  const getter = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get;
  const mapSize = getter(Map.prototype, "size");
  const setSize = getter(Set.prototype, "size");
  const bufferLength = getter(ArrayBuffer.prototype, "byteLength");
  const hasState = (value) => {
    if (iterators.includes(Object.getPrototypeOf(value))) return true;
    // The prototypes of generator functions inherit from there, too; but only a generator can be ended.
    return apply(isPrototypeOf, generators, [value]) && succeeds(generators.return, value);
  };
  const fix = (value, found) => {
    if (value === globalThis) return;
    if (hasState(value)) throw new TypeError("an iterator at the top of a script would go on from user to user");
    if ((value instanceof Map && succeeds(mapSize, value)) || (value instanceof Set && succeeds(setSize, value))) {
      value.forEach((item, key) => found.push(item, key));
    }
    if ([Map, Set, WeakMap, WeakSet, ArrayBuffer, Clock].some((kind) => value instanceof kind)) {
      apply(setAdd, kept, [value]);
    }
    if (value instanceof ArrayBuffer && succeeds(bufferLength, value)) resetBuffer(value);
    if (ArrayBuffer.isView(value)) found.push(value.buffer);
    if (value instanceof RegExp && Object.hasOwn(value, "lastIndex")) {
      resets.push(() => { value.lastIndex = 0; });
      for (const key of ownKeys(value)) {
        if (key !== "lastIndex") Object.defineProperty(value, key, { writable: false, configurable: false });
      }
      Object.preventExtensions(value);
    } else if (ArrayBuffer.isView(value)) Object.preventExtensions(value);
    else Object.freeze(value);
  };

  // What the words of a module mean at its top, by a function that evaluates a text there. A word that can be assigned and
  // is no function is state that one call would leave to the next: its name is the result. Names of functions are set back.
  const surveyed = [];
  const root = globalThis;
  const { defineProperty, getOwnPropertyDescriptor } = Object;
  const survey = (probe, words) => {
    const functions = [];
    for (const word of words) {
      const global = getOwnPropertyDescriptor(root, word);
      let value;
      try {
        if (global !== undefined && global.configurable) {
          const mark = {};
          defineProperty(root, word, { value: mark, configurable: true });
          try { if (probe(word) === mark) continue; } finally { defineProperty(root, word, global); }
        }
        value = probe(word);
      } catch {
        // It means nothing there.
        continue;
      }
      surveyed.push(value);
      try { probe(`${word} = ${word}`); } catch { continue; }
      if (typeof value !== "function") return word;
      functions.push(word);
    }
    if (functions.length > 0) {
      const back = functions.map((name, at) => `${name} = __throng_kept[${at}];`).join(" ");
      resets.push(probe(`((__throng_kept) => () => { ${back} })([${functions.join(", ")}])`));
    }
    return undefined;
  };

  const own = new Set(ownKeys(globalThis));
  return {
    // The parts of a module's namespace are walked through; the namespace itself can be neither changed nor frozen.
    survey(namespace, probe, words) {
      apply(setAdd, seen, [namespace]);
      for (const key of ownKeys(namespace)) surveyed.push(namespace[key]);
      put(globalThis, "eval", directly);
      try { return survey(probe, words); } finally { delete globalThis.eval; }
    },
    fixSurveyed: () => { for (const value of surveyed) walk(value, fix); },
    declare(name, value) {
      Object.defineProperty(globalThis, name, { value, writable: false, enumerable: false, configurable: false });
    },
    // A function that one script has declared cannot be declared again by the next.
    settle() {
      for (const key of ownKeys(globalThis)) {
        const { writable } = Object.getOwnPropertyDescriptor(globalThis, key);
        if (writable && !apply(setHas, own, [key])) {
          Object.defineProperty(globalThis, key, { writable: false, configurable: false });
        }
      }
    },
    close() {
      for (const kind of [Object, ...errors]) letHide(kind.prototype);
      letHide(Function.prototype, ["constructor", "toString"]);
      for (const root of [globalThis, ...roots]) walk(root, fix);
      Object.freeze(globalThis);
    },
    fix: (first) => walk(first, fix),
    // The name of a class can be assigned.
    keep: (value, assign) => resets.push(() => assign(value)),
    isKeeping: () => resets.length > 0,
    reset: () => { for (let at = 0; at < resets.length; at++) resets[at](); },
  };
})
