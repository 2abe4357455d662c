import { expect, test } from 'vitest';
import { column, csv, shown } from './frame';

test('a frame is a table by RFC 4180', () => {
  const frame = [
    column('time', 's', [0, 1]),
    column('a "name", quoted', '', ['x', null]),
    column('p99', 'ns', [1500, null]),
  ];
  expect(csv(frame)).toBe('time (s),"a ""name"", quoted",p99 (ns)\r\n0,x,1500\r\n1,,\r\n');
});

test('names from elsewhere are no formulas', () => {
  const names = ['=HYPERLINK("x")', '+1', '-1', '@x'];
  expect(csv([column('name', '', names)])).toBe(
    'name\r\n"\'=HYPERLINK(""x"")"\r\n\'+1\r\n\'-1\r\n\'@x\r\n',
  );
});

test('what was not measured is a dash', () => {
  expect(shown(null, 'ns')).toBe('–');
  expect(shown(0, 'ns')).toBe('0 ns');
  expect(shown('text', 'ns')).toBe('text');
});
