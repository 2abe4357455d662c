/**
 * Zooming by hand: a drag across a figure shows that part of its axis in all figures of the axis; a double
 * click shows all of it again. A bar at the bottom of the window does the same by keyboard and touch.
 */

import type { Chart } from './chart/echarts';
import { el } from './dom';
import { isZoomed, onZoom, show, showAll, stepped, windowOf, type Zoom } from './zoom';

/** A shorter drag is a click; pixels. */
const DRAG_MIN = 5;

/** Lets a drag across a plot choose a part of the horizontal axis of its chart. */
export function brush(
  plot: HTMLElement,
  chart: () => Chart | undefined,
  zoom: () => Zoom | undefined,
): void {
  const mark = el('div', { class: 'brush', hidden: true });
  let from: number | undefined;
  const place = (event: PointerEvent) => event.clientX - plot.getBoundingClientRect().left;
  const value = (x: number) => Number(chart()?.convertFromPixel({ xAxisIndex: 0 }, x));
  plot.addEventListener('pointerdown', (event) => {
    // A finger scrolls the page.
    if (event.button !== 0 || event.pointerType === 'touch' || !zoom()) return;
    const top = event.clientY - plot.getBoundingClientRect().top;
    if (!chart()?.containPixel('grid', [place(event), top])) return;
    event.preventDefault();
    plot.append(mark);
    plot.setPointerCapture(event.pointerId);
    from = place(event);
  });
  plot.addEventListener('pointermove', (event) => {
    if (from === undefined) return;
    const to = place(event);
    mark.hidden = Math.abs(to - from) < DRAG_MIN;
    mark.style.left = `${Math.min(from, to)}px`;
    mark.style.width = `${Math.abs(to - from)}px`;
  });
  const end = (event: PointerEvent) => {
    const [begun, of] = [from, zoom()];
    from = undefined;
    mark.hidden = true;
    if (begun === undefined || !of || event.type === 'pointercancel') return;
    const to = place(event);
    if (Math.abs(to - begun) >= DRAG_MIN) choose(of, [value(begun), value(to)]);
  };
  plot.addEventListener('pointerup', end);
  plot.addEventListener('pointercancel', end);
  plot.addEventListener('dblclick', () => zoom() && showAll());
}

/** A button that shows the middle half of an axis. */
export function zoomButton(title: string, zoom: () => Zoom | undefined): HTMLButtonElement {
  const press = () => {
    const of = zoom();
    if (of) choose(of, stepped(of, windowOf(of), 'in'));
  };
  const label = `Zoom into “${title}”, and all figures with the same axis`;
  return el('button', { type: 'button', 'aria-label': label, onclick: press }, 'Zoom');
}

/** The axis that the bar is for: the one that was zoomed last. */
let last: Zoom | undefined;

export function choose(zoom: Zoom, window: [number, number]): void {
  last = zoom;
  show(zoom, window);
}

/** The bar that says which part is shown. It is there while a part is. */
export function zoomBar(): HTMLElement {
  const text = el('p', { role: 'status' });
  const button = (name: string, label: string, act: () => void) =>
    el('button', { type: 'button', 'aria-label': label, onclick: act }, name);
  const step = (name: string, label: string, by: Parameters<typeof stepped>[2]) =>
    button(name, label, () => last && choose(last, stepped(last, windowOf(last), by)));
  const bar = el(
    'div',
    { class: 'zoom', role: 'region', 'aria-label': 'Zoom', hidden: true },
    text,
    step('+', 'Zoom in', 'in'),
    step('−', 'Zoom out', 'out'),
    step('←', 'Show what is before', 'earlier'),
    step('→', 'Show what is after', 'later'),
    button('Show all', 'Show all of the axis', showAll),
  );
  onZoom(() => {
    bar.hidden = !isZoomed();
    const window = windowOf(last);
    const [from, to] = window ?? [0, 0];
    text.textContent = window && last ? `${last.shown(from)} to ${last.shown(to)}` : '';
  });
  document.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape' && isZoomed()) showAll();
  });
  return bar;
}
