// Cookie jars: that of the user, which the host keeps, and jars of the script's own.
import { fault, host, outsideOfInit } from "throng:core";

export const cookieOf = (text) => {
  const [pair, ...attributes] = text.split(";").map((part) => part.trim());
  const at = pair.indexOf("=");
  const cookie = { name: pair.slice(0, at), value: pair.slice(at + 1), domain: "", path: "", http_only: false, secure: false, max_age: 0, expires: 0 };
  for (const attribute of attributes) {
    const [key, ...rest] = attribute.split("=");
    const value = rest.join("=");
    switch (key.toLowerCase()) {
      case "domain": cookie.domain = value.replace(/^\./, ""); break;
      case "path": cookie.path = value; break;
      case "httponly": cookie.http_only = true; break;
      case "secure": cookie.secure = true; break;
      case "max-age": cookie.max_age = Number(value) || 0; break;
      case "expires": cookie.expires = Date.parse(value) || 0; break;
      default:
    }
  }
  return cookie;
};

const placeOf = (address) => {
  const found = /^(https?):\/\/(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)(?::\d+)?([^?#]*)/i.exec(String(address));
  if (found === null) return fault(`${address} is no URL`);
  return { isSecure: found[1].toLowerCase() === "https", name: found[2].toLowerCase(), path: found[3] || "/" };
};
// What `Set-Cookie` would say.
const lineOf = (name, value, options) => {
  let line = `${name}=${value}`;
  const given = options === undefined || options === null ? {} : options;
  for (const key of Object.keys(given)) {
    switch (key.toLowerCase()) {
      case "domain": line += `; Domain=${given[key]}`; break;
      case "path": line += `; Path=${given[key]}`; break;
      case "expires":
        if (given[key] === "") break;
        if (Number.isNaN(Date.parse(given[key]))) fault(`unable to parse "expires" date string "${given[key]}"`);
        line += `; Expires=${new Date(Date.parse(given[key])).toUTCString()}`;
        break;
      // As in Go, 0 says nothing.
      case "max_age": if (Number(given[key]) !== 0) line += `; Max-Age=${Math.trunc(Number(given[key]))}`; break;
      case "secure": if (given[key]) line += "; Secure"; break;
      case "http_only": if (given[key]) line += "; HttpOnly"; break;
      default:
    }
  }
  return line;
};
const directory = (path) => (path.lastIndexOf("/") > 0 ? path.slice(0, path.lastIndexOf("/")) : "/");
const fitsPath = (path, own) => path === own || (path.startsWith(own) && (own.endsWith("/") || path[own.length] === "/"));

// A jar that the script has made.
class OwnStore {
  constructor() { this.cookies = []; }
  set(address, line) {
    const place = placeOf(address);
    const cookie = cookieOf(line);
    const domain = (cookie.domain || place.name).toLowerCase();
    if (domain !== place.name && !place.name.endsWith(`.${domain}`)) return;
    const isPast = /;\s*max-age=\s*-?0*\s*(;|$)|;\s*max-age=\s*-/i.test(line);
    let expires = Infinity;
    if (isPast) expires = -Infinity;
    else if (cookie.max_age > 0) expires = Date.now() + 1000 * cookie.max_age;
    else if (cookie.expires > 0) expires = cookie.expires;
    const path = cookie.path.startsWith("/") ? cookie.path : directory(place.path);
    const kept = { name: cookie.name, value: cookie.value, domain, isOpen: cookie.domain !== "", path, isSecure: cookie.secure, expires };
    const at = this.cookies.findIndex((old) => old.name === kept.name && old.domain === domain && old.path === path);
    if (expires <= Date.now()) {
      if (at >= 0) this.cookies.splice(at, 1);
    } else if (at >= 0) {
      this.cookies[at] = kept;
    } else {
      this.cookies.push(kept);
    }
  }
  list(address) {
    const place = placeOf(address);
    const belongs = (cookie) => (place.name === cookie.domain || (cookie.isOpen && place.name.endsWith(`.${cookie.domain}`)))
      && fitsPath(place.path, cookie.path) && (place.isSecure || !cookie.isSecure) && cookie.expires > Date.now();
    return this.cookies.filter(belongs).sort((a, b) => b.path.length - a.path.length).map(({ name, value }) => [name, value]);
  }
}
// The user's, which the host keeps: it sends and stores cookies by itself.
const userStore = {
  set: (address, line) => { placeOf(address); host.setCookie(String(address), line); },
  list: (address) => {
    placeOf(address);
    const flat = host.cookies(String(address));
    return flat.filter((_, at) => at % 2 === 0).map((name, at) => [name, flat[2 * at + 1]]);
  },
};

const STORE = Symbol("store");
export class CookieJar {
  constructor(store) {
    outsideOfInit("making cookie jars");
    Object.defineProperty(this, STORE, { value: store === userStore ? userStore : new OwnStore() });
  }
  cookiesForURL(address) {
    const all = {};
    for (const [name, value] of this[STORE].list(address)) (all[name] = all[name] || []).push(value);
    return all;
  }
  set(address, name, value, options) {
    this[STORE].set(address, lineOf(name, value, options));
    return true;
  }
  clear(address) {
    for (const [name, value] of this[STORE].list(address)) this[STORE].set(address, `${name}=${value}; Max-Age=-1`);
  }
  delete(address, name) {
    if (name === undefined || name === "") fault("cookie: is null");
    this[STORE].set(address, `${name}=; Max-Age=-1`);
  }
}
export const cookieJar = () => new CookieJar(userStore);
// The jar of a request's own; `undefined`: the user's is meant.
export const ownJar = (given) => {
  if (given === undefined || given === null) return undefined;
  if (!(given instanceof CookieJar)) return fault("`jar` is no cookie jar");
  return given[STORE] === userStore ? undefined : given[STORE];
};
