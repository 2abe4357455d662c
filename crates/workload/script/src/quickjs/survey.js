// Walks through all that a script can reach without declaring anything, tries to change each part of it, and returns the
// names of what has changed. Nothing may.
function survey() {
  const { getPrototypeOf, setPrototypeOf, defineProperty, getOwnPropertyDescriptor } = Object;
  const ownKeys = Reflect.ownKeys;
  const literals = [function () {}, () => {}, function* () {}, async function () {}, async function* () {}, class {},
    [], {}, "", 0, true, Symbol.iterator, /x/, new Error("x"), [].values(), [].values().map((x) => x),
    ""[Symbol.iterator](), new Map().values(), new Set().values(), /x/[Symbol.matchAll]("x"), Iterator.from({ next() {} }),
    (async () => {})(), new Uint8Array(1), new Date(0), new DataView(new ArrayBuffer(1)),
    new WeakMap(), new WeakSet(), (function () { return arguments; })()];
  const todo = literals.map((value) => ["literal " + typeof value, getPrototypeOf(Object(value))]);
  todo.push(["globalThis", globalThis]);
  const seen = new Set();
  const changed = [];
  const mark = { leak: "of another user" };
  const attempt = (name, change) => {
    try { if (change() === mark) changed.push(name); } catch {}
  };
  while (todo.length > 0) {
    const [name, value] = todo.pop();
    if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) continue;
    seen.add(value);
    todo.push([name + ".__proto__", getPrototypeOf(value)]);
    attempt(name + ".leak", () => { value.leak = mark; return value.leak; });
    attempt(name + " defines", () => defineProperty(value, "leak2", { value: mark }).leak2);
    attempt(name + " inherits", () => { setPrototypeOf(value, mark); return getPrototypeOf(value); });
    for (const key of ownKeys(value)) {
      const part = name + "." + String(key);
      const { value: item, get, set } = getOwnPropertyDescriptor(value, key);
      todo.push([part, item], [part + " get", get], [part + " set", set]);
      attempt(part, () => { value[key] = mark; return value[key]; });
      attempt(part + " defines", () => defineProperty(value, key, { value: mark })[key]);
      attempt(part + " sets", () => { set.call(value, mark); return get.call(value); });
      attempt(part + " deletes", () => (delete value[key] ? mark : undefined));
    }
  }
  return { seen: seen.size, changed };
}
