import { beforeEach, describe, expect, test } from 'vitest';
import {
  fitted,
  isZoomed,
  onZoom,
  show,
  showAll,
  stepped,
  windowOf,
  within,
  type Window,
  type Zoom,
} from './zoom';

const time: Zoom = { axis: 'time', whole: [0, 60], least: 2, shown: String };
const latency: Zoom = { axis: 'ns', whole: [1e3, 1e9], least: 2, log: true, shown: String };

beforeEach(() => showAll());

describe('a window of an axis', () => {
  test('stays within the axis and is never too short', () => {
    expect(fitted(time, [10, 20])).toEqual([10, 20]);
    expect(fitted(time, [20, 10])).toEqual([10, 20]);
    expect(fitted(time, [-8, 12])).toEqual([0, 20]);
    expect(fitted(time, [55, 75])).toEqual([40, 60]);
    expect(fitted(time, [30, 30.1])?.map((at) => Number(at.toFixed(2)))).toEqual([29.05, 31.05]);
    expect(fitted(time, [-5, 70]), 'the whole axis is no window').toBeUndefined();
    expect(fitted(time, [NaN, 3])).toBeUndefined();
  });

  test('is halved, doubled and moved', () => {
    expect(stepped(time, undefined, 'in')).toEqual([15, 45]);
    expect(stepped(time, [10, 20], 'out')).toEqual([5, 25]);
    expect(stepped(time, [12, 24], 'earlier')).toEqual([8, 20]);
    expect(stepped(time, [12, 24], 'later')).toEqual([16, 28]);
  });

  test('is a ratio on a logarithmic axis', () => {
    const [from, to] = stepped(latency, undefined, 'in') as Window;
    expect(Math.log10(from)).toBeCloseTo(4.5);
    expect(Math.log10(to)).toBeCloseTo(7.5);
    const short = fitted(latency, [1e6, 1e6]) as Window;
    expect(short[1] / short[0]).toBeCloseTo(2);
  });
});

describe('figures of one axis', () => {
  test('share its window, and get changes', () => {
    const received: string[] = [];
    onZoom((axis) => received.push(axis));
    show(time, [10, 20]);
    expect(windowOf({ ...time, whole: [0, 70] })).toEqual([10, 20]);
    expect(windowOf(latency)).toBeUndefined();
    expect(isZoomed()).toBe(true);
    show(latency, [1e4, 1e5]);
    showAll();
    expect([windowOf(time), windowOf(latency), isZoomed()]).toEqual([undefined, undefined, false]);
    expect(received).toEqual(['time', 'ns', 'time', 'ns']);
  });
});

describe('points within a window', () => {
  const points = [0, 1, 2, 3, 4, 5].map((at): [number, number] => [at, 10 * at]);
  const at = (window: Window) => within(points, window).map(([x]) => x);

  test('include one more at each end', () => {
    expect(at([1.5, 3.5])).toEqual([1, 2, 3, 4]);
    expect(at([-1, 1])).toEqual([0, 1, 2]);
    expect(at([0, 5])).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('are the neighbours of a window between two points', () => {
    expect(at([2.2, 2.8])).toEqual([2, 3]);
    expect(at([6, 7])).toEqual([]);
  });
});
