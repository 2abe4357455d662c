// `k6/http`.
import { bytesOf, currentGroup, fault, host, isBytes, missing, outsideOfInit, sample, systemTags } from "throng:core";
import { CookieJar, cookieJar, cookieOf, ownJar } from "throng:cookies";
import { formOf, linkOf, parseHTML } from "throng:html";
import { ask, askAll, begin } from "throng:policy";

const STATUS = {
  100: "Continue", 101: "Switching Protocols", 200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information",
  204: "No Content", 205: "Reset Content", 206: "Partial Content", 300: "Multiple Choices", 301: "Moved Permanently", 302: "Found",
  303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request",
  401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
  406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
  411: "Length Required", 412: "Precondition Failed", 413: "Request Entity Too Large", 414: "Request URI Too Long",
  415: "Unsupported Media Type", 416: "Requested Range Not Satisfiable", 417: "Expectation Failed", 418: "I'm a teapot",
  422: "Unprocessable Entity", 425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
  431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons", 500: "Internal Server Error",
  501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
  505: "HTTP Version Not Supported", 511: "Network Authentication Required",
};
const TIMINGS = ["blocked", "looking_up", "connecting", "tls_handshaking", "sending", "waiting", "receiving"];

// A URL whose name is that of its template.
const TEMPLATE = Symbol("template");
const url = (parts, ...values) => {
  let whole = parts[0];
  let name = parts[0];
  values.forEach((value, at) => {
    whole += String(value) + parts[at + 1];
    name += "${}" + parts[at + 1];
  });
  return { [TEMPLATE]: true, url: whole, name, toString: () => whole };
};

// Which statuses are expected.
class ExpectedStatuses {
  constructor(ranges) { this.ranges = ranges; }
}
const expectedStatuses = (...statuses) => {
  if (statuses.length === 0) fault("no arguments");
  return new ExpectedStatuses(statuses.flatMap((one) => {
    if (Number.isInteger(one)) return [one, one];
    if (one !== null && typeof one === "object" && Number.isInteger(one.min) && Number.isInteger(one.max)) return [one.min, one.max];
    return fault("argument to expectedStatuses was neither an integer nor an object like {min: 100, max: 329}");
  }));
};
const DEFAULT = new ExpectedStatuses([200, 399]);
let callback = DEFAULT;
const setResponseCallback = (value) => {
  if (value !== null && !(value instanceof ExpectedStatuses)) fault("unsupported argument, expected http.expectedStatuses");
  callback = value;
};

// Bodies.
class FileData {
  constructor(data, filename, content_type) {
    this.data = data;
    this.filename = filename;
    this.content_type = content_type;
  }
}
const file = (data, filename, contentType) =>
  new FileData(data, filename === undefined ? String(Math.floor(host.now() * 1e6)) : String(filename),
    contentType === undefined ? "application/octet-stream" : String(contentType));
const escaped = (text) =>
  encodeURIComponent(String(text)).replace(/%20/g, "+").replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
const form = (fields) => {
  const pairs = [];
  // As Go's url.Values: sorted by key.
  for (const key of Object.keys(fields).sort()) {
    const values = Array.isArray(fields[key]) ? fields[key] : [fields[key]];
    for (const value of values) pairs.push(`${escaped(key)}=${escaped(value)}`);
  }
  return pairs.join("&");
};
const joined = (pieces) => {
  const all = pieces.map((piece) => new Uint8Array(typeof piece === "string" ? host.encode(piece) : bytesOf(piece)));
  const whole = new Uint8Array(all.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of all) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole.buffer;
};
const quoted = (text) => String(text).replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/[\r\n]/g, " ");
const multipart = (fields) => {
  const boundary = Array.from(new Uint8Array(host.randomBytes(30)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const pieces = [];
  for (const key of Object.keys(fields).sort()) {
    const value = fields[key];
    pieces.push(`--${boundary}\r\n`);
    if (value instanceof FileData) {
      pieces.push(`Content-Disposition: form-data; name="${quoted(key)}"; filename="${quoted(value.filename)}"\r\nContent-Type: ${value.content_type}\r\n\r\n`);
      pieces.push(value.data);
    } else {
      pieces.push(`Content-Disposition: form-data; name="${quoted(key)}"\r\n\r\n${value}`);
    }
    pieces.push("\r\n");
  }
  pieces.push(`--${boundary}--\r\n`);
  return { body: joined(pieces), type: `multipart/form-data; boundary=${boundary}` };
};
// The bytes of a body, and the type that they have where the script says none.
const bodyOf = (value) => {
  if (value === null || value === undefined) return { body: null };
  if (typeof value === "string") return { body: value };
  if (isBytes(value)) return { body: bytesOf(value) };
  if (typeof value === "object") {
    if (Object.values(value).some((field) => field instanceof FileData)) return multipart(value);
    return { body: form(value), type: "application/x-www-form-urlencoded" };
  }
  return { body: String(value) };
};

// Headers.
const canonical = (name) => name.toLowerCase().replace(/(^|-)[a-z]/g, (c) => c.toUpperCase());
const durationOf = (value) => {
  if (typeof value === "number") return value;
  const UNITS = { ms: 1, s: 1e3, m: 6e4, h: 36e5 };
  const found = String(value).match(/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/) ? String(value).match(/(\d+(?:\.\d+)?)(ms|s|m|h)/g) : null;
  if (found === null) return fault(`invalid timeout value: ${value}`);
  return found.reduce((sum, part) => {
    const [, number, unit] = part.match(/^([\d.]+)(.*)$/);
    return sum + Number(number) * UNITS[unit];
  }, 0);
};
// gjson's paths, as far as names, numbers and `#` go.
const selected = (value, selector) => {
  const parts = selector.replace(/\\\./g, "\u0000").split(".").map((part) => part.replace(/\u0000/g, "."));
  for (const part of parts) if (/[*?|@(){}!]/.test(part)) missing(`the selector \`${selector}\``, "names, numbers and `#` are");
  const walk = (from, at) => {
    if (at === parts.length) return from;
    const part = parts[at];
    if (Array.isArray(from)) {
      if (part === "#") return at + 1 === parts.length ? from.length : from.map((item) => walk(item, at + 1)).filter((item) => item !== undefined);
      return /^\d+$/.test(part) ? walk(from[Number(part)], at + 1) : undefined;
    }
    if (from === null || typeof from !== "object") return undefined;
    return Object.prototype.hasOwnProperty.call(from, part) ? walk(from[part], at + 1) : undefined;
  };
  return walk(value, 0);
};

export class Response {
  json(selector) {
    if (this.body === null || this.body === undefined) {
      fault("the body is null so we can't transform it to JSON - this likely was because of a request error getting the response");
    }
    const text = typeof this.body === "string" ? this.body : host.decode(this.body);
    let value;
    try {
      value = JSON.parse(text);
    } catch (error) {
      return fault(`cannot parse json due to an error: ${error === null ? "out of memory" : error.message}`);
    }
    return selector === undefined ? value : selected(value, String(selector));
  }
  html(selector) {
    if (this.body === null || this.body === undefined) {
      fault("the body is null so we can't transform it to HTML - this likely was because of a request error getting the response");
    }
    const page = parseHTML(typeof this.body === "string" ? this.body : host.decode(this.body));
    return selector === undefined ? page : page.find(selector);
  }
  submitForm(given) {
    const { method, url: address, values } = formOf(this.html(), this.url, given);
    const params = given === undefined || given === null ? undefined : given.params;
    if (method !== "GET") return send(method, address, values, params);
    return send(method, `${address.replace(/[?#].*$/, "")}?${form(values)}`, null, params);
  }
  clickLink(given) {
    return send("GET", linkOf(this.html(), this.url, given), null, given === undefined || given === null ? undefined : given.params);
  }
}

// The samples of a request.
const measured = (times, tags, failed) => {
  sample("http_reqs", 1, tags);
  sample("http_req_duration", times[4] + times[5] + times[6], tags);
  ["blocked", undefined, "connecting", "tls_handshaking", "sending", "waiting", "receiving"].forEach((part, at) => {
    if (part !== undefined) sample(`http_req_${part}`, times[at], tags);
  });
  if (failed !== undefined) sample("http_req_failed", failed, tags);
};

// A request that is ready to be sent, with what its answer needs.
export const prepared = (method, target, given, params) => {
  outsideOfInit(`making http requests`);
  const options = params === null || params === undefined ? {} : params;
  if (typeof options !== "object") fault("the parameters of a request are an object");
  const isTemplate = target !== null && typeof target === "object" && target[TEMPLATE];
  const address = isTemplate ? target.url : String(target);
  const { body, type } = bodyOf(given);
  const headers = [];
  let hasType = false;
  for (const key of Object.keys(options.headers || {})) {
    const value = options.headers[key];
    if (value === undefined || value === null) continue;
    if (key.toLowerCase() === "content-type") hasType = true;
    headers.push(key, String(value));
  }
  if (type && !hasType) headers.push("Content-Type", type);
  const jar = ownJar(options.jar);
  const cookies = Object.assign(jar === undefined ? {} : Object.fromEntries(jar.list(address)), options.cookies);
  const own = Object.keys(cookies).map((key) => {
    const cookie = cookies[key];
    return `${key}=${cookie !== null && typeof cookie === "object" ? cookie.value : cookie}`;
  });
  if (own.length > 0) headers.push("Cookie", own.join("; "));
  if (options.auth) missing("`auth` of a request", "write the header `Authorization`, or user and password in the URL");
  const kind = options.responseType || (host.discards() ? "none" : "text");
  if (!["text", "binary", "none"].includes(kind)) fault(`invalid responseType "${kind}"`);
  const expected = options.responseCallback === undefined ? callback : options.responseCallback;
  const tags = Object.assign({}, options.tags);
  const name = tags.name !== undefined ? String(tags.name) : isTemplate ? target.name : address;
  return {
    method,
    url: address,
    headers,
    body,
    given: {
      timeout: options.timeout === undefined ? 60000 : durationOf(options.timeout),
      redirects: options.redirects === undefined ? -1 : Number(options.redirects),
      expected: expected === null ? [] : expected.ranges,
      name,
      kind,
      compression: options.compression === undefined ? "" : String(options.compression),
      bare: jar !== undefined,
    },
    jar,
    isGrouped: isTemplate || tags.name !== undefined,
    isJudged: expected !== null,
    group: currentGroup(),
    throws: options.throw === undefined ? host.throws() : Boolean(options.throw),
    tags,
  };
};

// The server chooses names of headers and cookies: those of `Object.prototype`, too.
const has = (object, key) => Object.prototype.hasOwnProperty.call(object, key);
const setOwn = (object, key, value) =>
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
export const headersOf = (flat) => {
  const headers = {};
  for (let at = 0; at < flat.length; at += 2) {
    const key = canonical(flat[at]);
    setOwn(headers, key, has(headers, key) ? `${headers[key]}, ${flat[at + 1]}` : flat[at + 1]);
  }
  return headers;
};

// The response that a request has got.
const answered = (asked, raw) => {
  const { method, url: address, headers, body, tags, isJudged } = asked;
  const { name } = asked.given;
  const response = new Response();
  response.remote_ip = "";
  response.remote_port = 0;
  response.url = raw.url;
  response.status = raw.status;
  response.status_text = raw.status === 0 ? "" : `${raw.status} ${STATUS[raw.status] || ""}`.trim();
  response.proto = raw.proto;
  response.headers = headersOf(raw.headers);
  response.cookies = {};
  for (let at = 0; at < raw.headers.length; at += 2) {
    if (canonical(raw.headers[at]) !== "Set-Cookie") continue;
    const value = raw.headers[at + 1];
    const cookie = cookieOf(value);
    const before = has(response.cookies, cookie.name) ? response.cookies[cookie.name] : [];
    setOwn(response.cookies, cookie.name, [...before, cookie]);
    if (asked.jar !== undefined) asked.jar.set(raw.url, value);
  }
  response.body = raw.body;
  response.timings = { duration: raw.timings[4] + raw.timings[5] + raw.timings[6] };
  TIMINGS.forEach((key, at) => { response.timings[key] = raw.timings[at]; });
  response.error = raw.error;
  response.error_code = raw.error_code || (raw.status >= 400 ? 1000 + raw.status : 0);
  response.request = { method, url: address, headers: {}, body: typeof body === "string" ? body : "", cookies: {} };
  for (let at = 0; at < headers.length; at += 2) response.request.headers[canonical(headers[at])] = [headers[at + 1]];

  const system = { method, url: raw.url, name, proto: raw.proto, status: String(raw.status), group: asked.group };
  if (asked.isGrouped) system.url = name;
  if (raw.error) system.error = raw.error;
  if (response.error_code) system.error_code = String(response.error_code);
  if (isJudged) system.expected_response = String(raw.isExpected);
  const all = Object.assign(systemTags(system), tags);
  // Each redirect is a request of its own, which is expected.
  for (const [status, ...times] of raw.hops) {
    const hop = Object.assign({}, all, { status: String(status) });
    if (isJudged) hop.expected_response = "true";
    delete hop.error;
    delete hop.error_code;
    measured(times, hop, isJudged ? 0 : undefined);
  }
  measured(raw.timings, all, isJudged ? Number(!raw.isExpected) : undefined);
  if (raw.error) {
    host.log("warn", `Request Failed error=${JSON.stringify(`${method} ${address}: ${raw.error}`)}`);
    if (asked.throws) throw new Error(raw.error);
  }
  return response;
};

const send = (method, target, body, params) => {
  const asked = prepared(method, target, body, params);
  return answered(asked, ask(asked));
};

// Requests at the same time: a list of them, or an object.
const batch = (requests) => {
  outsideOfInit(`making http requests`);
  if (requests === null || typeof requests !== "object") fault("`batch` takes an array or an object of requests");
  const keys = Object.keys(requests);
  const asked = keys.map((key) => {
    const one = requests[key];
    if (Array.isArray(one)) return prepared(String(one[0]).toUpperCase(), one[1], one[2], one[3]);
    if (one !== null && typeof one === "object" && !one[TEMPLATE]) {
      return prepared(String(one.method || "GET").toUpperCase(), one.url, one.body, one.params);
    }
    return prepared("GET", one, null, undefined);
  });
  const answers = askAll(asked);
  const responses = Array.isArray(requests) ? [] : {};
  keys.forEach((key, at) => { responses[key] = answered(asked[at], answers[at]); });
  return responses;
};

// A request whose response a promise is of.
const asyncRequest = (method, target, body, params) => {
  const asked = prepared(String(method).toUpperCase(), target, body, params);
  return new Promise((resolve, reject) => {
    begin(asked, (raw) => {
      try {
        resolve(answered(asked, raw));
      } catch (error) {
        reject(error);
      }
    });
  });
};

const request = (method, target, body, params) => send(String(method).toUpperCase(), target, body, params);
const plain = (verb) => (target, params) => send(verb, target, null, params);
const withBody = (verb) => (target, body, params) => send(verb, target, body, params);

const http = {
  request, asyncRequest, batch, url, file, expectedStatuses, setResponseCallback, Response, FileData,
  get: plain("GET"), head: plain("HEAD"),
  post: withBody("POST"), put: withBody("PUT"), patch: withBody("PATCH"),
  del: withBody("DELETE"), options: withBody("OPTIONS"),
  cookieJar, CookieJar,
  TLS_1_0: "tls1.0", TLS_1_1: "tls1.1", TLS_1_2: "tls1.2", TLS_1_3: "tls1.3",
};
export default http;
