// `k6/ws`: a WebSocket that is waited for until it is closed.
import { Queue, fault, host, receive } from "throng:core";
import { headersOf } from "throng:http";
import { Connection, OPEN } from "throng:sockets";

class Socket {
  constructor(connection) {
    this.connection = connection;
    this.handlers = {};
    this.timers = new Map();
    this.timersCount = 0;
    // Nobody hears of it any more.
    this.isOver = false;
  }
  on(name, call) {
    if (typeof call !== "function") throw new TypeError("the handler of an event is a function");
    (this.handlers[name] = this.handlers[name] || []).push(call);
  }
  emit(name, ...values) {
    for (const call of this.handlers[name] || []) call(...values);
  }
  send(data) { this.say(() => this.connection.send(String(data))); }
  sendBinary(data) {
    if (!(data instanceof ArrayBuffer)) throw new TypeError("expected ArrayBuffer as argument");
    this.say(() => this.connection.send(data));
  }
  ping() { this.say(() => this.connection.ping()); }
  say(what) {
    if (this.connection.state === OPEN) what();
    else this.emit("error", { error: () => "websocket: close sent" });
  }
  close(code) {
    if (this.connection.state !== OPEN) return;
    this.connection.close(code);
    this.connection.end();
    this.isOver = true;
    this.emit("close", code === undefined ? 1000 : Number(code));
  }
  setTimeout(call, delay) { return this.timer(call, delay, false); }
  setInterval(call, delay) { return this.timer(call, delay, true); }
  timer(call, delay, repeats) {
    if (!(Number(delay) > 0)) fault("setInterval and setTimeout require a timeout above 0");
    this.timersCount += 1;
    const after = Math.max(1, Number(delay));
    this.timers.set(this.timersCount, { at: host.elapsed() + after, every: repeats ? after : undefined, call });
  }
  // Runs what is due; returns when the next timer is, below 0: there is none.
  runTimers() {
    let next = -1;
    for (const [id, timer] of this.timers) {
      if (timer.at <= host.elapsed()) {
        if (timer.every === undefined) this.timers.delete(id);
        else timer.at = host.elapsed() + timer.every;
        timer.call();
        if (this.isOver) return -1;
        if (timer.every === undefined) continue;
      }
      if (next < 0 || timer.at < next) next = timer.at;
    }
    return next;
  }
}

const connect = (url, given, setUp) => {
  const [params, call] = typeof given === "function" ? [undefined, given] : [given, setUp];
  if (typeof call !== "function") fault("invalid number of arguments to ws.connect: the last one is a function");
  const events = new Queue();
  const connection = new Connection(url, params, (event) => events.push(event), true);
  const socket = new Socket(connection);
  while (events.isEmpty) receive(-1);
  const opened = events.take();
  const response = { url: String(url), status: opened.status, headers: headersOf(opened.headers), body: "", error: opened.error };
  if (opened.type === "failed") {
    host.log("warn", `Attempt to establish a WebSocket connection failed error=${JSON.stringify(opened.error)}`);
    if (connection.throws) throw new Error(opened.error);
    return response;
  }
  try {
    call(socket);
    if (connection.state === OPEN) socket.emit("open");
    while (!socket.isOver) {
      if (events.isEmpty) {
        const next = socket.runTimers();
        if (!socket.isOver) receive(next);
        continue;
      }
      const event = events.take();
      switch (event.type) {
        case "message": socket.emit(typeof event.data === "string" ? "message" : "binaryMessage", event.data); break;
        case "ping": socket.emit("ping"); break;
        case "pong": socket.emit("pong"); break;
        case "close":
          socket.isOver = true;
          if (event.code === 1006) socket.emit("error", { error: () => event.reason || "websocket: close 1006 (abnormal closure)" });
          socket.emit("close", event.code);
          break;
        default:
      }
    }
  } catch (error) {
    connection.close(1001);
    connection.end();
    throw error;
  }
  return response;
};

const ws = { connect };
export { connect };
export default ws;
