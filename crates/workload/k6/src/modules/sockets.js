// What `k6/ws` and `k6/websockets` share.
import { beginTask, bytesOf, fault, host, outsideOfInit, sample, setTimeout, systemTags } from "throng:core";
import { prepared } from "throng:http";
import { refusal } from "throng:policy";

export const CONNECTING = 0;
export const OPEN = 1;
export const CLOSING = 2;
export const CLOSED = 3;

// A WebSocket: `hear` is called with each of its events, in a turn of the loop, or as soon as they are there.
export class Connection {
  constructor(address, params, hear, isAtOnce) {
    outsideOfInit("using WebSockets");
    const url = String(address);
    if (!/^wss?:\/\//i.test(url)) throw new SyntaxError(`invalid WebSocket URL: ${url}: it begins with ws:// or wss://`);
    const { compression, ...others } = params || {};
    if (compression) fault("compression of WebSockets is not supported here");
    const asked = prepared("GET", url.replace(/^ws/i, "http"), null, others);
    asked.given.isSocket = true;
    this.began = host.now();
    this.state = CONNECTING;
    this.hear = hear;
    this.throws = asked.throws;
    // When the pings were sent that have no pong yet.
    this.pings = new Map();
    this.pingsCount = 0;
    this.tagged = (status, subproto) => Object.assign(systemTags({ url, group: asked.group, status, subproto }), asked.tags);
    this.tags = this.tagged("0", "");
    const refused = refusal(asked);
    if (refused === undefined) this.id = beginTask(asked, (event) => this.take(event), isAtOnce);
    else if (isAtOnce) this.take({ ...refused, type: "failed" });
    else setTimeout(() => this.take({ ...refused, type: "failed" }), 0);
  }
  take(event) {
    switch (event.type) {
      case "open":
        this.tags = this.tagged(String(event.status), event.protocol);
        sample("ws_connecting", host.now() - this.began, this.tags);
        sample("ws_sessions", 1, this.tags);
        if (this.state === CLOSING) host.closeSocket(this.id, this.code, this.reason);
        else this.state = OPEN;
        break;
      case "failed":
        this.state = CLOSED;
        break;
      case "message":
        sample("ws_msgs_received", 1, this.tags);
        break;
      case "pong": {
        const sent = this.pings.get(event.data);
        if (sent !== undefined) sample("ws_ping", host.now() - sent, this.tags);
        this.pings.delete(event.data);
        break;
      }
      case "close":
        this.end();
        break;
      default:
    }
    this.hear(event);
  }
  // The session is over.
  end() {
    if (this.state === CLOSED) return;
    this.state = CLOSED;
    sample("ws_session_duration", host.now() - this.began, this.tags);
  }
  send(data) {
    host.sendMessage(this.id, typeof data === "string" ? data : bytesOf(data));
    sample("ws_msgs_sent", 1, this.tags);
  }
  ping() {
    this.pingsCount += 1;
    const data = String(this.pingsCount);
    this.pings.set(data, host.now());
    host.sendPing(this.id, data);
  }
  close(code, reason) {
    if (this.state === CLOSING || this.state === CLOSED) return;
    this.code = code === undefined ? 1000 : Number(code);
    this.reason = reason === undefined ? "" : String(reason);
    if (this.state === OPEN) host.closeSocket(this.id, this.code, this.reason);
    this.state = CLOSING;
  }
}
