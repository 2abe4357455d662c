/**
 * Figures written for people, as the terminal writes them: grouped digits, fitting units, three
 * significant digits.
 */

/** The unit of a number. Unknown units are appended as they are. */
export type Unit = string;

/** Puts a comma before every third digit from the right. */
function group(digits: string): string {
  const [whole = '', fraction] = digits.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** Other numbers would be more zeros than anybody counts. */
const WRITTEN_OUT = [1e-9, 1e15] as const;

/**
 * This many significant digits, never fewer than the integer part has; zero is `0`. What is beyond `WRITTEN_OUT` has an
 * exponent: `1.00e100`.
 */
export function significant(x: number, digits = 3): string {
  if (x === 0) return '0';
  if (Math.abs(x) < WRITTEN_OUT[0] || Math.abs(x) >= WRITTEN_OUT[1]) {
    return x.toExponential(Math.max(0, digits - 1)).replace('e+', 'e');
  }
  const decimals = (value: number) =>
    Math.min(100, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
  // Rounding may add an integer digit: 9.999 is 10.0, not 10.00.
  const rounded = Number(x.toFixed(decimals(x)));
  return group(x.toFixed(decimals(rounded === 0 ? x : rounded)));
}

/** `12,345`. */
export function count(n: number): string {
  return group(n.toFixed(0));
}

/** `1 search`, `2 searches`. */
export function counted(n: number, one: string): string {
  const many = one.endsWith('ch') ? `${one}es` : `${one}s`;
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** A latency in nanoseconds: `512 ns`, `87.2 µs`, `31.0 ms`, `5.70 s`. */
export function duration(ns: number, digits = 3): string {
  const edge = 1000 - 0.5 * 10 ** (3 - Math.max(3, digits));
  for (const [unit, per] of [
    ['ns', 1],
    ['µs', 1e3],
    ['ms', 1e6],
  ] as const) {
    if (Math.abs(ns) / per < edge) {
      return `${significant(ns / per, per === 1 && Number.isInteger(ns) ? 1 : digits)} ${unit}`;
    }
  }
  return `${significant(ns / 1e9, digits)} s`;
}

/** A duration in seconds: `2.5 s`, `3 min 20 s`, `1 h 33 min`. */
export function span(seconds: number): string {
  if (Math.abs(seconds) < 10) return `${Number(seconds.toFixed(1))} s`;
  const sign = seconds < 0 ? '−' : '';
  const s = Math.round(Math.abs(seconds));
  const [h, min, rest] = [Math.floor(s / 3600), Math.floor(s / 60) % 60, s % 60];
  if (h === 0 && min === 0) return `${sign}${rest} s`;
  if (h === 0) return rest === 0 ? `${sign}${min} min` : `${sign}${min} min ${rest} s`;
  return min === 0 ? `${sign}${h} h` : `${sign}${h} h ${min} min`;
}

/** A time of a run on an axis: `0:07`, `12:30`, `1:02:03`. */
export function clock(seconds: number): string {
  const s = Math.round(Math.abs(seconds));
  const two = (n: number) => String(n).padStart(2, '0');
  const [h, min, rest] = [Math.floor(s / 3600), Math.floor(s / 60) % 60, s % 60];
  const text = h > 0 ? `${h}:${two(min)}:${two(rest)}` : `${min}:${two(rest)}`;
  return seconds < 0 ? `−${text}` : text;
}

/** `512 B`, `4.00 KiB`, `212 MiB`. */
export function bytes(n: number): string {
  if (Number.isInteger(n) && Math.abs(n) < 1024) return `${n} B`;
  let value = n;
  let unit = 'B';
  for (const next of ['KiB', 'MiB', 'GiB', 'TiB']) {
    if (Math.abs(value) < 1023.5) break;
    value /= 1024;
    unit = next;
  }
  return `${significant(value)} ${unit}`;
}

/** A share of 0..1: `99.98 %`, `1.26 %`; 100 % and 0 % only if exact. */
export function share(x: number): string {
  const percent = 100 * x;
  if (percent > 10 && percent < 100) {
    const below = Math.min(Math.round(percent * 100), 9999) / 100;
    return `${below} %`;
  }
  return `${significant(percent, percent === 100 ? 1 : 3)} %`;
}

/** A p-value: `0.032`, `below 0.001`. */
export function probability(p: number): string {
  return p < 0.001 ? 'below 0.001' : significant(p, 2).replace(/\.0$/, '');
}

/** `+` or `−`, and nothing for zero. */
function sign(value: number): string {
  return value > 0 ? '+' : value < 0 ? '−' : '';
}

/** A number in its unit. A unit with `±` before it is that of a difference; `×` is that of a factor. */
export function formatUnit(value: number, unit: Unit): string {
  if (unit.startsWith('±')) return sign(value) + formatUnit(Math.abs(value), unit.slice(1));
  switch (unit) {
    case 'ns':
      return duration(value);
    case 's':
      return span(value);
    case 'count':
      return count(value);
    case 'share':
      return share(value);
    case 'B':
      return bytes(value);
    case 'B/s':
      return `${bytes(value)}/s`;
    case '1/s':
      return `${significant(value)}/s`;
    case 'p':
      return probability(value);
    case 'change':
      return `${sign(value)}${significant(100 * Math.abs(value), 2)} %`;
    case '×':
      return `×${significant(value)}`;
    case '':
    case '1':
      return significant(value);
    default:
      return `${significant(value)} ${unit}`;
  }
}

/** The same on an axis, where round numbers need no decimals. */
export function tick(value: number, unit: Unit): string {
  const short = (x: number) => group(String(Number(x.toPrecision(3)))).replace('-', '−');
  if (unit.startsWith('±')) return sign(value) + tick(Math.abs(value), unit.slice(1));
  switch (unit) {
    case 'ns': {
      const [name, per] =
        Math.abs(value) < 1e3
          ? ['ns', 1]
          : Math.abs(value) < 1e6
            ? ['µs', 1e3]
            : Math.abs(value) < 1e9
              ? ['ms', 1e6]
              : ['s', 1e9];
      return value === 0 ? '0' : `${short(value / Number(per))} ${name}`;
    }
    case 's':
      return clock(value);
    case 'share':
      return `${short(100 * value)} %`;
    case 'B':
    case 'B/s': {
      const text = bytes(value).replace(/\.0+(?= )/, '');
      return value === 0 ? '0' : unit === 'B' ? text : `${text}/s`;
    }
    case '%':
      return `${short(value)} %`;
    case '×':
      return `×${short(value)}`;
    case 'change':
      return value === 0 ? '0' : `${value > 0 ? '+' : '−'}${short(100 * Math.abs(value))} %`;
    default:
      return Math.abs(value) >= 1e6 ? `${short(value / 1e6)} M` : short(value);
  }
}

/** A value of a finding's evidence in its unit, which the suffix of its name says. */
export function evidence(name: string, value: number): string {
  if (name.endsWith('_ns')) return duration(value);
  if (name.endsWith('_bytes')) return bytes(value);
  if (name.endsWith('per_s')) return `${significant(value)}/s`;
  if (name.endsWith('_s')) return span(value);
  if (/(^|_)(share|busy)(_|$)/.test(name)) return share(value);
  return Number.isInteger(value) ? count(value) : significant(value, 4);
}
