// `k6/html`: a page's elements. The host parses pages and finds elements by selectors; what is around an element is looked up
// in the list of all nodes, each with the number of its parent.
import { fault, host } from "throng:core";

const VOID = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]);
const RAW = new Set(["script", "style", "xmp", "iframe", "noembed", "noframes", "plaintext"]);
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/'/g, "&#39;").replace(/"/g, "&#34;");

class Page {
  constructor(text) {
    this.text = text;
    // [parent, name, attributes], [parent, text] or [parent]
    this.nodes = JSON.parse(host.page(text));
    this.inside = this.nodes.map(() => []);
    this.nodes.forEach((node, at) => { if (at > 0) this.inside[node[0]].push(at); });
    this.found = new Map();
  }
  isElement(at) { return this.nodes[at].length === 3; }
  name(at) { return this.nodes[at][1]; }
  attribute(at, name) {
    const attributes = this.isElement(at) ? this.nodes[at][2] : {};
    return Object.prototype.hasOwnProperty.call(attributes, name) ? attributes[name] : undefined;
  }
  elements(at) { return this.inside[at].filter((inner) => this.isElement(inner)); }
  parent(at) { return at === 0 ? undefined : this.nodes[at][0]; }
  contains(outer, at) {
    for (let above = this.parent(at); above !== undefined; above = this.parent(above)) if (above === outer) return true;
    return false;
  }
  // The elements that a selector names, as a set.
  matching(selector) {
    let found = this.found.get(selector);
    if (found === undefined) {
      found = new Set(host.select(this.text, String(selector)));
      this.found.set(selector, found);
    }
    return found;
  }
  textOf(at) {
    const node = this.nodes[at];
    if (node.length === 2) return node[1];
    return this.inside[at].map((inner) => this.textOf(inner)).join("");
  }
  outer(at) {
    const node = this.nodes[at];
    if (node.length === 2) return RAW.has(this.name(node[0])) ? node[1] : escaped(node[1]);
    if (node.length === 1) return at === 0 ? this.inner(at) : "";
    const attributes = Object.entries(node[2]).map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");
    if (VOID.has(node[1])) return `<${node[1]}${attributes}/>`;
    return `<${node[1]}${attributes}>${this.inner(at)}</${node[1]}>`;
  }
  inner(at) { return this.inside[at].map((inner) => this.outer(inner)).join(""); }
}

const inOrder = (places) => [...new Set(places)].sort((a, b) => a - b);
// As jQuery's data: numbers, truths and JSON are what they look like.
const converted = (text) => {
  if (text === "true" || text === "false") return text === "true";
  if (text === "null") return null;
  if (text !== "" && String(Number(text)) === text) return Number(text);
  if (/^[[{]/.test(text)) {
    try { return JSON.parse(text); } catch (_) { return text; }
  }
  return text;
};

class Selection {
  constructor(page, places, previous) {
    Object.defineProperty(this, "page", { value: page });
    Object.defineProperty(this, "places", { value: places });
    Object.defineProperty(this, "previous", { value: previous });
  }
  with(places) { return new Selection(this.page, places, this); }
  // Whether an element is meant by a selector, a selection, an element or a function.
  test(given) {
    if (given instanceof Selection) return (at) => given.places.includes(at);
    if (given instanceof Element) return (at) => given.place === at;
    if (typeof given === "function") return (at, index) => Boolean(given(index, new Element(this.page, at)));
    const found = this.page.matching(String(given));
    return (at) => found.has(at);
  }
  filtered(places, given) { return this.with(given === undefined ? places : places.filter(this.test(given))); }

  find(given) {
    const wanted = given instanceof Selection ? given.places : given instanceof Element ? [given.place] : [...this.page.matching(String(given))];
    return this.with(inOrder(wanted.filter((at) => this.places.some((outer) => this.page.contains(outer, at)))));
  }
  add(given) {
    const wanted = given instanceof Selection ? given.places : given instanceof Element ? [given.place] : [...this.page.matching(String(given))];
    return this.with(inOrder([...this.places, ...wanted]));
  }
  filter(given) { return this.filtered(this.places, given); }
  not(given) {
    const test = this.test(given);
    return this.with(this.places.filter((at, index) => !test(at, index)));
  }
  is(given) { return this.places.some(this.test(given)); }
  has(given) {
    const inner = given instanceof Selection ? given.places : [...this.page.matching(String(given))];
    return this.with(this.places.filter((outer) => inner.some((at) => this.page.contains(outer, at))));
  }
  closest(given) {
    const test = this.test(given);
    const found = [];
    for (const start of this.places) {
      for (let at = start; at !== undefined; at = this.page.parent(at)) {
        if (this.page.isElement(at) && test(at, 0)) { found.push(at); break; }
      }
    }
    return this.with(inOrder(found));
  }
  children(given) { return this.filtered(this.places.flatMap((at) => this.page.elements(at)), given); }
  contents() { return this.with(this.places.flatMap((at) => this.page.inside[at])); }
  parent(given) {
    const parents = this.places.map((at) => this.page.parent(at)).filter((at) => at !== undefined && this.page.isElement(at));
    return this.filtered(inOrder(parents), given);
  }
  above(at) {
    const found = [];
    for (let outer = this.page.parent(at); outer !== undefined && this.page.isElement(outer); outer = this.page.parent(outer)) found.push(outer);
    return found;
  }
  parents(given) { return this.filtered([...new Set(this.places.flatMap((at) => this.above(at)))], given); }
  // Elements beside one: those behind it, or those before it, the nearest first.
  beside(at, isBehind) {
    const all = at === 0 ? [] : this.page.elements(this.page.parent(at));
    const place = all.indexOf(at);
    return isBehind ? all.slice(place + 1) : all.slice(0, place).reverse();
  }
  until(list, given, filter) {
    const test = given === undefined ? () => false : this.test(given);
    const found = this.places.flatMap((at) => {
      const all = list(at);
      const end = all.findIndex((inner, index) => test(inner, index));
      return end < 0 ? all : all.slice(0, end);
    });
    return this.filtered(inOrder(found), filter);
  }
  next(given) { return this.filtered(inOrder(this.places.flatMap((at) => this.beside(at, true).slice(0, 1))), given); }
  prev(given) { return this.filtered(inOrder(this.places.flatMap((at) => this.beside(at, false).slice(0, 1))), given); }
  nextAll(given) { return this.until((at) => this.beside(at, true), undefined, given); }
  prevAll(given) { return this.until((at) => this.beside(at, false), undefined, given); }
  nextUntil(given, filter) { return this.until((at) => this.beside(at, true), given, filter); }
  prevUntil(given, filter) { return this.until((at) => this.beside(at, false), given, filter); }
  parentsUntil(given, filter) { return this.until((at) => this.above(at), given, filter); }
  siblings(given) { return this.filtered(inOrder(this.places.flatMap((at) => [...this.beside(at, false), ...this.beside(at, true)])), given); }

  size() { return this.places.length; }
  get length() { return this.places.length; }
  eq(index) { return this.with(this.places.slice(index, index === -1 ? undefined : index + 1)); }
  first() { return this.with(this.places.slice(0, 1)); }
  last() { return this.with(this.places.slice(-1)); }
  slice(start, end) { return this.with(this.places.slice(start, end)); }
  end() { return this.previous === undefined ? this : this.previous; }
  get(index) {
    const all = this.places.map((at) => new Element(this.page, at));
    return index === undefined ? all : all[index < 0 ? all.length + index : index];
  }
  toArray() { return this.places.map((at) => this.with([at])); }
  index(given) {
    if (given === undefined) return this.places.length === 0 ? -1 : this.beside(this.places[0], false).length;
    if (given instanceof Element) return this.places.indexOf(given.place);
    if (given instanceof Selection) return this.places.indexOf(given.places[0]);
    return this.places.length === 0 ? -1 : [...this.page.matching(String(given))].indexOf(this.places[0]);
  }
  each(work) {
    if (typeof work !== "function") fault("the argument to each() must be a function");
    for (let index = 0; index < this.places.length; index += 1) {
      if (work(index, new Element(this.page, this.places[index])) === false) break;
    }
    return this;
  }
  map(work) {
    if (typeof work !== "function") fault("the argument to map() must be a function");
    const all = this.places.map((at, index) => work(index, new Element(this.page, at)));
    return all.filter((value) => value !== undefined && value !== null);
  }

  text() { return this.places.map((at) => this.page.textOf(at)).join(""); }
  html() { return this.places.length === 0 ? undefined : this.page.inner(this.places[0]); }
  attr(name, instead) {
    const value = this.places.length === 0 ? undefined : this.page.attribute(this.places[0], String(name).toLowerCase());
    return value === undefined ? instead : value;
  }
  data(key) {
    if (key !== undefined) {
      const name = `data-${String(key).replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`;
      const value = this.attr(name);
      return value === undefined ? undefined : converted(value);
    }
    const attributes = this.places.length > 0 && this.page.isElement(this.places[0]) ? this.page.nodes[this.places[0]][2] : {};
    const all = Object.entries(attributes).filter(([name]) => name.startsWith("data-"));
    return Object.fromEntries(all.map(([name, value]) => [name.slice(5).replace(/-([a-z])/g, (_, c) => c.toUpperCase()), converted(value)]));
  }
  val() {
    if (this.places.length === 0) return undefined;
    const at = this.places[0];
    switch (this.page.name(at)) {
      case "input": return this.attr("value", this.attr("type") === "radio" || this.attr("type") === "checkbox" ? "on" : "");
      case "button": return this.attr("value", "");
      case "textarea": return this.page.textOf(at);
      case "option": return valueOfOption(this.page, at);
      case "select": {
        const options = this.first().find("option").places;
        const chosen = options.filter((option) => this.page.attribute(option, "selected") !== undefined);
        if (this.attr("multiple") !== undefined) return chosen.map((option) => valueOfOption(this.page, option));
        const one = chosen.length > 0 ? chosen[chosen.length - 1] : options[0];
        return one === undefined ? undefined : valueOfOption(this.page, one);
      }
      default: return undefined;
    }
  }

  // The fields of a form that it would send.
  serializeArray() {
    const fields = this.find("input, select, textarea, keygen").add(this.filter("input, select, textarea, keygen"));
    const sent = [];
    for (const field of fields.toArray()) {
      const type = String(field.attr("type", "")).toLowerCase();
      const name = field.attr("name");
      const isOff = field.attr("disabled") !== undefined || field.closest("fieldset[disabled]").size() > 0;
      const isUnchecked = (type === "checkbox" || type === "radio") && field.attr("checked") === undefined;
      if (!name || isOff || isUnchecked || ["submit", "button", "reset", "image", "file"].includes(type)) continue;
      const value = field.val();
      for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) sent.push({ name, value: one });
    }
    return sent;
  }
  serializeObject() { return Object.fromEntries(this.serializeArray().map(({ name, value }) => [name, value])); }
  serialize() {
    const encode = (text) => encodeURIComponent(text).replace(/%20/g, "+");
    const pairs = this.serializeArray().map(({ name, value }) => [encode(name), encode(value)]);
    // As Go's url.Values: sorted by key.
    return pairs.sort(([a], [b]) => (a < b ? -1 : Number(a > b))).map((pair) => pair.join("=")).join("&");
  }
}
const valueOfOption = (page, at) => {
  const value = page.attribute(at, "value");
  return value === undefined ? page.textOf(at) : value;
};

class Element {
  constructor(page, place) {
    Object.defineProperty(this, "page", { value: page });
    Object.defineProperty(this, "place", { value: place });
  }
  selection() { return new Selection(this.page, [this.place]); }
  nodeName() { return this.page.isElement(this.place) ? this.page.name(this.place) : ["#document", "#text"][this.page.nodes[this.place].length - 1]; }
  nodeType() { return this.page.isElement(this.place) ? "1" : this.place === 0 ? "9" : "3"; }
  nodeValue() { return this.page.nodes[this.place].length === 2 ? this.page.nodes[this.place][1] : undefined; }
  id() { return this.page.attribute(this.place, "id") || ""; }
  className() { return this.page.attribute(this.place, "class"); }
  classList() { return (this.className() || "").split(/\s+/).filter((name) => name !== ""); }
  getAttribute(name) { return this.page.attribute(this.place, String(name).toLowerCase()); }
  hasAttribute(name) { return this.getAttribute(name) !== undefined; }
  hasAttributes() { return this.page.isElement(this.place) && Object.keys(this.page.nodes[this.place][2]).length > 0; }
  attributes() {
    const all = this.page.isElement(this.place) ? this.page.nodes[this.place][2] : {};
    return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, { name, value }]));
  }
  textContent() { return this.page.textOf(this.place); }
  innerHTML() { return this.page.inner(this.place); }
  toString() { return this.page.outer(this.place); }
  value() { return this.selection().val(); }
  href() { return this.getAttribute("href") || ""; }
  name() { return this.getAttribute("name") || ""; }
  type() { return this.getAttribute("type") || ""; }
  list(places) { return places.map((at) => new Element(this.page, at)); }
  one(places) { return places.length === 0 ? undefined : new Element(this.page, places[0]); }
  children() { return this.list(this.page.elements(this.place)); }
  childNodes() { return this.list(this.page.inside[this.place]); }
  childElementCount() { return this.page.elements(this.place).length; }
  hasChildNodes() { return this.page.inside[this.place].length > 0; }
  firstChild() { return this.one(this.page.inside[this.place]); }
  lastChild() { return this.one(this.page.inside[this.place].slice(-1)); }
  firstElementChild() { return this.one(this.page.elements(this.place)); }
  lastElementChild() { return this.one(this.page.elements(this.place).slice(-1)); }
  parentElement() { return this.one(this.selection().parent().places); }
  parentNode() { return this.place === 0 ? undefined : new Element(this.page, this.page.parent(this.place)); }
  nextElementSibling() { return this.one(this.selection().next().places); }
  previousElementSibling() { return this.one(this.selection().prev().places); }
  querySelector(selector) { return this.one(this.selection().find(selector).places); }
  querySelectorAll(selector) { return this.list(this.selection().find(selector).places); }
  getElementsByTagName(name) { return this.querySelectorAll(name); }
  getElementsByClassName(name) { return this.querySelectorAll(`.${name}`); }
  matches(selector) { return this.selection().is(selector); }
  contains(other) { return other instanceof Element && this.page.contains(this.place, other.place); }
  isSameNode(other) { return (other instanceof Element && other.page === this.page && other.place === this.place) || (other instanceof Selection && other.places[0] === this.place); }
  isEqualNode(other) { return other instanceof Element && other.toString() === this.toString(); }
  ownerDocument() { return new Element(this.page, 0); }
}

export const parseHTML = (text) => new Selection(new Page(String(text)), [0]);
export { Selection, Element };

// A URL as a link on a page means it.
export const resolved = (base, link) => {
  if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return link;
  const [, scheme, authority, path, query] = /^([a-z]+:)\/\/([^/?#]*)([^?#]*)(\?[^#]*)?/i.exec(base) || fault(`${base} is no URL`);
  if (link.startsWith("//")) return scheme + link;
  const origin = `${scheme}//${authority}`;
  if (link === "") return `${origin}${path || "/"}${query || ""}`;
  if (link.startsWith("#")) return `${origin}${path || "/"}${query || ""}${link}`;
  if (link.startsWith("?")) return `${origin}${path || "/"}${link}`;
  const end = link.search(/[?#]/);
  const [own, rest] = end < 0 ? [link, ""] : [link.slice(0, end), link.slice(end)];
  const whole = own.startsWith("/") ? own : `${path.slice(0, path.lastIndexOf("/") + 1) || "/"}${own}`;
  const parts = [];
  const pieces = whole.split("/").slice(1);
  pieces.forEach((piece, at) => {
    if (piece === "..") parts.pop();
    if (piece !== "." && piece !== "..") parts.push(piece);
    else if (at === pieces.length - 1) parts.push("");
  });
  return `${origin}/${parts.join("/")}${rest}`;
};
// The request that a form stands for: method, URL and fields.
export const formOf = (page, address, given) => {
  const { formSelector = "form", submitSelector = '[type="submit"]', fields = {} } = given || {};
  const form = page.find(formSelector);
  if (form.size() === 0) fault(`no form found for selector '${formSelector}' in response '${address}'`);
  const method = String(form.attr("method", "GET")).toUpperCase();
  const action = form.attr("action");
  const values = form.serializeObject();
  const submit = form.find(submitSelector);
  if (submit.attr("name") !== undefined && submit.val() !== undefined) values[submit.attr("name")] = submit.val();
  Object.assign(values, fields);
  return { method, url: action === undefined ? address : resolved(address, action), values };
};
export const linkOf = (page, address, given) => {
  const { selector = "a[href]" } = given || {};
  const link = page.find(selector);
  if (link.size() === 0) fault(`no element found for selector '${selector}' in response '${address}'`);
  const href = link.attr("href");
  if (href === undefined) fault(`no valid href attribute value found on element '${selector}' in response '${address}'`);
  return resolved(address, href);
};
export default { parseHTML };
