'use strict';
// One room over the transport of the visitor's choice: /chat?transport=streaming&room=lobby
const settings = new URLSearchParams(location.search);
const element = (id) => document.getElementById(id);
const room = settings.get('room') || 'lobby';
const transport = settings.get('transport') || 'websocket';
const RETRY_MS = 2000;
const POLL_MS = 1000;
const HOLD_S = 25;
let after = 0;
let last_ms = 0;
let socket = null;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const state = (text) => { element('state').value = text; };
const path = (name, fields) => `/chat/${name}?${new URLSearchParams({ room, ...fields })}`;

function show(message) {
  // A stream that reconnects may repeat messages; a server that restarted counts from one.
  if (message.id <= after && message.sent_at_ms <= last_ms) return;
  after = message.id;
  last_ms = message.sent_at_ms;
  const line = document.createElement('li');
  const from = document.createElement('b');
  from.textContent = message.from || 'somebody';
  line.dataset.id = message.id;
  line.append(from, message.message);
  element('messages').append(line);
  line.scrollIntoView({ block: 'nearest' });
}

async function poll(fields, rest_ms) {
  for (;;) {
    try {
      const answer = await fetch(path('poll', { after, ...fields }));
      if (!answer.ok) throw new Error(await answer.text());
      const { messages, last } = await answer.json();
      // A lower number is of a server that restarted.
      if (last < after) after = 0;
      messages.forEach(show);
      state('connected');
      await pause(rest_ms);
    } catch {
      state('connecting');
      await pause(RETRY_MS);
    }
  }
}

function listen() {
  const source = new EventSource(path('stream', { after }));
  source.onopen = () => state('connected');
  source.onerror = () => state('connecting');
  source.onmessage = (event) => show(JSON.parse(event.data));
}

function connect() {
  const address = new URL(path('socket', { after }), location.href);
  address.protocol = address.protocol.replace('http', 'ws');
  socket = new WebSocket(address);
  socket.onopen = () => state('connected');
  socket.onmessage = (event) => {
    const message = JSON.parse(event.data);
    if (message.error) state(message.error.message);
    else show(message);
  };
  socket.onclose = () => {
    state('connecting');
    setTimeout(connect, RETRY_MS);
  };
}

async function speak(said) {
  if (socket) {
    socket.send(JSON.stringify(said));
    return;
  }
  const answer = await fetch(path('speak'), { method: 'POST', body: JSON.stringify(said) });
  if (!answer.ok) throw new Error((await answer.json()).error.message);
}

element('transport').value = transport;
element('room').value = room;
for (const id of ['transport', 'room']) {
  element(id).addEventListener('change', () => {
    settings.set(id, element(id).value);
    location.search = settings;
  });
}
element('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  try {
    await speak({ message: element('message').value, from: element('from').value });
    element('message').value = '';
  } catch (error) {
    state(error.message);
  }
});

if (transport === 'polling') poll({}, POLL_MS);
else if (transport === 'long-polling') poll({ wait: HOLD_S }, 0);
else if (transport === 'streaming') listen();
else connect();
