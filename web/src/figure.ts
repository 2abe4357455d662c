/**
 * A figure: a chart, its numbers as a table, and buttons to save both. Charts are drawn when they come into view,
 * so that a page with many of them opens quickly.
 */

import { brush, zoomButton } from './brush';
import { type Chart, echarts, type Option } from './chart/echarts';
import { DARK, LIGHT, lineColour, lineDash, type Theme } from './chart/theme';
import { append, el, save, slug } from './dom';
import { csv, type Frame, rows, shown } from './frame';
import { darkNow, onLook } from './look';
import { onZoom, type Window, windowOf, type Zoom } from './zoom';

/** Most rows of a table in the page; the CSV has all. */
const ROWS_MAX = 1000;
/** The size of saved pictures, and the width on paper, in pixels. */
const PICTURE = { width: 960, height: 380 };
const PAPER_WIDTH = 680;

export interface FigureSpec {
  title: string;
  /** One sentence below the title. */
  note?: string | undefined;
  /** Names and styles of lines. No legend if left out. */
  legend?: { name: string; style: number; dots?: boolean }[];
  /** The numbers. */
  frame: () => Frame;
  /** The chart, without `hidden` lines, of a part of its axis or of all of it. */
  option: (theme: Theme, hidden: ReadonlySet<string>, window?: Window) => Option;
  /** The horizontal axis, if a part of it can be shown. */
  zoom?: Zoom | undefined;
  /** Pixels. */
  height?: number;
  /** Figures of one group share the pointer. */
  group?: string;
  /** Selectors above the chart. */
  controls?: HTMLElement[];
  /** Unique in the page; made from the title if left out. */
  id?: string;
}

/** All figures of the page by id. */
const figures = new Map<string, Figure>();

/** Returns the figure of this id: a new one, or the existing one, updated. */
export function figure(spec: FigureSpec): HTMLElement {
  const id = spec.id ?? slug(spec.title);
  const known = figures.get(id);
  if (known) {
    known.update(spec);
    return known.element;
  }
  const made = new Figure(spec, id);
  figures.set(id, made);
  return made.element;
}

class Figure {
  readonly element: HTMLElement;
  #spec: FigureSpec;
  #chart: Chart | undefined;
  readonly #plot: HTMLElement;
  readonly #note: HTMLElement;
  readonly #legend: HTMLElement;
  readonly #data: HTMLDetailsElement;
  readonly #hidden = new Set<string>();
  #legendNames = '';

  constructor(spec: FigureSpec, id: string) {
    this.#spec = spec;
    this.#plot = el('div', { class: 'plot', role: 'img' });
    this.#plot.style.height = `${spec.height ?? 240}px`;
    this.#note = el('p', { class: 'note' });
    this.#legend = el('div', { class: 'legend', role: 'group', 'aria-label': 'Lines shown' });
    this.#data = el(
      'details',
      { class: 'numbers', ontoggle: () => this.#table() },
      el('summary', {}, 'Table'),
    );
    const button = (name: string, what: string, act: () => void) =>
      el('button', { type: 'button', 'aria-label': what, onclick: act }, name);
    this.element = el(
      'figure',
      { class: 'figure', id },
      el('figcaption', {}, el('h3', {}, spec.title), this.#note),
      spec.controls && el('div', { class: 'controls' }, ...spec.controls),
      this.#legend,
      this.#plot,
      el(
        'div',
        { class: 'tools' },
        this.#data,
        spec.zoom && zoomButton(spec.title, () => this.#spec.zoom),
        button('CSV', `Save the numbers of “${spec.title}” as CSV`, () => this.#saveCsv()),
        button('SVG', `Save the chart “${spec.title}” as SVG`, () => this.#saveSvg()),
      ),
    );
    if (spec.zoom)
      brush(
        this.#plot,
        () => this.#chart,
        () => this.#spec.zoom,
      );
    this.#describe();
    seen.observe(this.#plot);
  }

  /** Draws new numbers. */
  update(spec: FigureSpec): void {
    this.#spec = spec;
    this.#describe();
    this.redraw();
    if (this.#data.open) this.#table();
  }

  /** Draws again, if it has been drawn. */
  redraw(): void {
    // Without a width, as in a part of the page that is closed, it is drawn when that is opened.
    if (!this.#chart || !(printing || this.#plot.clientWidth > 0)) return;
    const width = printing ? PAPER_WIDTH : this.#plot.clientWidth;
    this.#chart.setOption(this.#option({ ...theme(), width }), { notMerge: true });
  }

  /** Draws again if it shows this axis. */
  zoomed(axis: string): void {
    if (this.#spec.zoom?.axis === axis) this.redraw();
  }

  #option(theme: Theme): Option {
    return this.#spec.option(theme, this.#hidden, windowOf(this.#spec.zoom));
  }

  /** Draws for the first time. */
  draw(): void {
    if (this.#chart) return;
    seen.unobserve(this.#plot);
    this.#chart = echarts.init(this.#plot, null, { renderer: 'svg' });
    if (this.#spec.group) {
      this.#chart.group = this.#spec.group;
      echarts.connect(this.#spec.group);
    }
    this.redraw();
    // The element around the chart describes it for screen readers.
    this.#plot.firstElementChild?.setAttribute('aria-hidden', 'true');
  }

  /** Fits the chart to its place on the screen or on paper, and draws it at once. */
  fit(): void {
    if (!printing && this.#plot.clientWidth === 0) return;
    this.#chart?.resize({ width: printing ? PAPER_WIDTH : 'auto' });
    // A chart that is resized is drawn with the next frame, which never comes before a page is printed.
    this.redraw();
  }

  #describe(): void {
    const { title, note } = this.#spec;
    this.#note.textContent = note ?? '';
    this.#note.hidden = !note;
    const label = `Chart: ${title}. ${note ?? ''} The table below has its numbers.`;
    this.#plot.setAttribute('aria-label', label);
    this.#drawLegend();
  }

  #drawLegend(): void {
    const entries = this.#spec.legend ?? [];
    // An unchanged legend is not touched: one of its buttons may be focused.
    const names = JSON.stringify(entries);
    if (names === this.#legendNames) return;
    this.#legendNames = names;
    this.#legend.hidden = entries.length < 2;
    this.#legend.replaceChildren();
    for (const { name, style, dots } of entries.length < 2 ? [] : entries) {
      const item = el(
        'button',
        {
          type: 'button',
          'aria-pressed': String(!this.#hidden.has(name)),
          onclick: () => {
            if (!this.#hidden.delete(name)) this.#hidden.add(name);
            item.setAttribute('aria-pressed', String(!this.#hidden.has(name)));
            this.redraw();
          },
        },
        name,
      );
      item.prepend(swatch(style, dots ?? false));
      append(this.#legend, item);
    }
  }

  #table(): void {
    this.#data.querySelector('.scroll')?.remove();
    if (!this.#data.open) return;
    const frame = this.#spec.frame();
    const all = rows(frame);
    const isText = (one: Frame[number]) => one.values.some((cell) => typeof cell === 'string');
    const head = frame.map((one) =>
      el('th', { scope: 'col', class: isText(one) ? 'text' : '' }, one.name),
    );
    const body = el('tbody');
    for (let row = 0; row < Math.min(all, ROWS_MAX); row += 1) {
      const cells = frame.map((one) => {
        const cell = one.values[row];
        return el('td', { class: isText(one) ? 'text' : '' }, shown(cell, one.unit));
      });
      append(body, el('tr', {}, ...cells));
    }
    const more =
      all > ROWS_MAX && el('p', {}, `The first ${ROWS_MAX} of ${all} rows; the CSV has them all.`);
    const table = el('table', {}, el('thead', {}, el('tr', {}, ...head)), body);
    const label = `Numbers of ${this.#spec.title}`;
    const scroll = { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label };
    append(this.#data, el('div', scroll, table, more));
  }

  #saveCsv(): void {
    save(`${slug(this.#spec.title)}.csv`, 'text/csv', csv(this.#spec.frame()));
  }

  #saveSvg(): void {
    save(`${slug(this.#spec.title)}.svg`, 'image/svg+xml', this.svg());
  }

  /** The chart on its own, on white, with its title and its legend. */
  svg(): string {
    const { title, legend = [] } = this.#spec;
    const names = legend.map((one) => one.name).filter((name) => !this.#hidden.has(name));
    const height = PICTURE.height + (names.length > 1 ? 30 : 0);
    const picture = echarts.init(null, null, {
      renderer: 'svg',
      ssr: true,
      width: PICTURE.width,
      height,
    });
    const option = this.#option({ ...LIGHT, width: PICTURE.width });
    const grid = option.grid as { top: number; bottom: number } | undefined;
    picture.setOption({
      ...option,
      backgroundColor: LIGHT.ground,
      title: { text: title, left: 12, top: 8, textStyle: { fontSize: 15, color: LIGHT.ink } },
      ...(grid ? { grid: { ...grid, top: grid.top + 36 } } : {}),
      ...(names.length > 1
        ? { legend: { show: true, bottom: 6, data: names, textStyle: { color: LIGHT.ink } } }
        : {}),
    });
    if (names.length > 1 && grid) picture.setOption({ grid: { bottom: grid.bottom + 34 } });
    const text = picture.renderToSVGString();
    picture.dispose();
    return text;
  }
}

/** A short piece of a line as it is drawn. */
function swatch(style: number, dots: boolean): SVGElement {
  const ns = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(ns, 'svg');
  svg.setAttribute('viewBox', '0 0 26 10');
  svg.setAttribute('width', '26');
  svg.setAttribute('height', '10');
  svg.setAttribute('aria-hidden', 'true');
  const dash = lineDash(style);
  const line = document.createElementNS(ns, dots ? 'circle' : 'line');
  const shape: Record<string, string> = dots
    ? { cx: '13', cy: '5', r: '4' }
    : { x1: '1', y1: '5', x2: '25', y2: '5', 'stroke-width': '2.5' };
  for (const [name, value] of Object.entries(shape)) line.setAttribute(name, value);
  if (!dots && dash !== 'solid') line.setAttribute('stroke-dasharray', dash.join(' '));
  line.setAttribute('class', `line-${style % LIGHT.lines.length}`);
  svg.append(line);
  return svg;
}

function theme(): Theme {
  return printing || !darkNow() ? LIGHT : DARK;
}

/** Which colour a line of this style has now. */
export function colour(style: number): string {
  return lineColour(theme(), style);
}

const seen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      for (const figure of figures.values()) {
        if (figure.element.contains(entry.target)) figure.draw();
      }
    }
  },
  { rootMargin: '300px' },
);

let printing = false;

/** Fits all figures to their places, such as after a part of the page was opened. */
export function fitAll(): void {
  for (const figure of figures.values()) figure.fit();
}

/** Has all figures follow the window, the look and the printer. */
export function follow(): void {
  let due = 0;
  window.addEventListener('resize', () => {
    cancelAnimationFrame(due);
    due = requestAnimationFrame(() => {
      if (!printing) fitAll();
    });
  });
  onLook(() => {
    for (const figure of figures.values()) figure.redraw();
  });
  onZoom((axis) => {
    for (const figure of figures.values()) figure.zoomed(axis);
  });
  // Paper is white, and shows what was never scrolled to.
  window.addEventListener('beforeprint', () => {
    printing = true;
    for (const figure of figures.values()) {
      figure.draw();
      figure.fit();
    }
  });
  window.addEventListener('afterprint', () => {
    printing = false;
    fitAll();
  });
}
