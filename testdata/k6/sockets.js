// A WebSocket that is waited for until it is closed.
import ws from 'k6/ws';
import { check } from 'k6';

export const options = { iterations: 2 };

export default function () {
  const heard = [];
  const params = { headers: { 'X-Own': 'yes' }, tags: { kind: 'echo' } };
  const response = ws.connect('ws://target.test/echo?a=1', params, (socket) => {
    socket.on('open', () => {
      heard.push('open');
      socket.send('one');
      socket.setTimeout(() => socket.send('two'), 100);
    });
    socket.on('message', (text) => {
      heard.push(text);
      if (text === 'two') socket.ping();
    });
    socket.on('pong', () => {
      heard.push('pong');
      socket.sendBinary(new Uint8Array([51]).buffer);
    });
    socket.on('binaryMessage', (bytes) => {
      heard.push(`${bytes.byteLength} byte`);
      socket.close();
    });
    socket.on('close', (code) => heard.push(`close ${code}`));
  });
  check(response, { 'status is 101': (r) => r.status === 101 });
  if (response.status !== 101) console.log(`declined with ${response.status}`);
  check(heard.join(), { 'all is heard': (all) => all === 'open,one,two,pong,1 byte,close 1000' });

  const lost = [];
  ws.connect('ws://target.test/echo', (socket) => {
    socket.on('open', () => { socket.send('last'); socket.send('drop'); });
    socket.on('message', (text) => lost.push(text));
    socket.on('error', () => lost.push('error'));
    socket.on('close', (code) => lost.push(code));
  });
  check(lost.join(), { 'a loss is heard': (all) => all === 'last,error,1006' });
}
