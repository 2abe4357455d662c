// WebSockets whose events come beside the function, as in browsers.
import { check } from 'k6';
import { WebSocket } from 'k6/websockets';

export const options = { iterations: 2 };

const URL = 'ws://target.test/echo';

export default function () {
  const heard = [];
  for (const name of ['a', 'b']) {
    const socket = new WebSocket(URL, 'chat', { tags: { kind: 'echo' } });
    socket.onopen = () => socket.send(`hello ${name}`);
    socket.addEventListener('message', (event) => {
      heard.push(`${event.data} by ${socket.protocol}`);
      socket.send('bye');
    });
    socket.onclose = (event) => {
      heard.push(`close ${event.code} ${event.reason}`);
      if (heard.length < 4) return;
      check(heard.join(), {
        'both hear their own': (all) => all === 'hello a by chat,hello b by chat,close 4001 enough,close 4001 enough',
      });
      later();
    };
  }
}

function later() {
  const socket = new WebSocket(URL, ['chat']);
  socket.binaryType = 'arraybuffer';
  const began = Date.now();
  socket.onopen = () => socket.send(new Uint8Array([51, 51]));
  socket.onmessage = (event) => {
    check(event, { 'bytes are bytes': ({ data }) => new Uint8Array(data).join() === '51' });
    setTimeout(() => socket.close(1000, 'done'), 50);
  };
  socket.onclose = (event) => check(event, {
    'it is closed by the script': ({ code, wasClean }) => code === 1000 && wasClean && socket.readyState === WebSocket.CLOSED,
    'it waits for the other': () => Date.now() - began >= 50,
  });
}
