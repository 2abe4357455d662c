// `k6/websockets`: WebSockets as in browsers, whose events come in turns of the user's loop.
import { fault, host, isBytes } from "throng:core";
import { CLOSED, CLOSING, CONNECTING, Connection, OPEN } from "throng:sockets";

const EVENTS = ["open", "message", "error", "close", "ping", "pong"];

// Bytes with a type.
class Blob {
  #bytes;
  constructor(parts, options) {
    const pieces = (parts || []).map((part) => {
      if (part instanceof Blob) return new Uint8Array(part.#bytes);
      if (typeof part === "string") return new Uint8Array(host.encode(part));
      return ArrayBuffer.isView(part) ? new Uint8Array(part.buffer, part.byteOffset, part.byteLength) : new Uint8Array(part);
    });
    const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    this.#bytes = whole.buffer;
    this.type = options && options.type ? String(options.type) : "";
  }
  get size() { return this.#bytes.byteLength; }
  static bytesOf(blob) { return blob.#bytes; }
  arrayBuffer() { return Promise.resolve(this.#bytes); }
  text() { return Promise.resolve(host.decode(this.#bytes)); }
}

class WebSocket {
  #connection;
  #kind = "blob";
  #listeners = new Map(EVENTS.map((name) => [name, []]));
  constructor(url, protocols, params) {
    const list = protocols === undefined || protocols === null ? [] : [].concat(protocols);
    const headers = Object.assign({}, (params || {}).headers);
    if (list.length > 0) headers["Sec-WebSocket-Protocol"] = list.join(", ");
    this.url = String(url);
    this.protocol = "";
    this.extensions = "";
    this.bufferedAmount = 0;
    for (const name of EVENTS) this[`on${name}`] = null;
    this.#connection = new Connection(url, Object.assign({}, params, { headers }), (event) => this.hear(event), false);
  }
  get readyState() { return this.#connection.state; }
  get binaryType() { return this.#kind; }
  set binaryType(kind) {
    if (kind !== "blob" && kind !== "arraybuffer") fault(`unsupported binaryType "${kind}", it must be either "blob" or "arraybuffer"`);
    this.#kind = kind;
  }
  addEventListener(name, call) {
    const known = this.#listeners.get(name);
    if (known === undefined) fault(`unknown event type: ${name}`);
    if (typeof call !== "function") throw new TypeError("the listener of an event is a function");
    known.push(call);
  }
  emit(type, more) {
    const event = Object.assign({ type, target: this, timestamp: host.now() }, more);
    const own = this[`on${type}`];
    if (typeof own === "function") own.call(this, event);
    for (const call of this.#listeners.get(type)) call.call(this, event);
  }
  hear(event) {
    switch (event.type) {
      case "open":
        this.protocol = event.protocol;
        if (this.#connection.state === OPEN) this.emit("open");
        break;
      case "failed":
        this.emit("error", { error: event.error });
        this.emit("close", { code: 1006, reason: event.error, wasClean: false });
        break;
      case "message": {
        const data = typeof event.data === "string" || this.#kind === "arraybuffer" ? event.data : new Blob([event.data]);
        this.emit("message", { data, origin: "" });
        break;
      }
      case "close":
        if (event.code === 1006) this.emit("error", { error: event.reason || "websocket: close 1006 (abnormal closure)" });
        this.emit("close", { code: event.code, reason: event.reason, wasClean: event.code !== 1006 });
        break;
      default:
        this.emit(event.type);
    }
  }
  send(data) {
    if (this.#connection.state !== OPEN) fault("InvalidStateError: the WebSocket is not open");
    if (data instanceof Blob) this.#connection.send(Blob.bytesOf(data));
    else if (typeof data === "string" || isBytes(data)) this.#connection.send(data);
    else fault("unsupported send type: a text, bytes or a Blob are sent");
  }
  ping() {
    if (this.#connection.state !== OPEN) fault("InvalidStateError: the WebSocket is not open");
    this.#connection.ping();
  }
  close(code, reason) { this.#connection.close(code, reason); }
}
Object.assign(WebSocket, { CONNECTING, OPEN, CLOSING, CLOSED });
Object.assign(WebSocket.prototype, { CONNECTING, OPEN, CLOSING, CLOSED });

export { Blob, WebSocket };
export default { Blob, WebSocket };
