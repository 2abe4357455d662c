// `k6-summary` of k6's library: a summary as text, and as JUnit XML.
const UNITS = { s: ["s", 0.001, 2], ms: ["ms", 1, 2], us: ["µs", 1000, 2] };
const PREFIXES = ["B", "kB", "MB", "GB", "TB", "PB"];
// At most this many decimals, without zeros at the end.
const fixed = (number, digits) => String(Number(number.toFixed(digits)));
const bytes = (count) => {
  let power = 0;
  let number = count;
  while (Math.abs(number) >= 1000 && power < PREFIXES.length - 1) {
    number /= 1000;
    power += 1;
  }
  return power === 0 ? `${fixed(number, 0)} B` : `${number.toFixed(number < 10 ? 1 : 0)} ${PREFIXES[power]}`;
};
const duration = (ms, unit) => {
  if (unit && UNITS[unit]) {
    const [name, factor, digits] = UNITS[unit];
    return `${(ms * factor).toFixed(digits)}${name}`;
  }
  if (ms === 0) return "0s";
  if (ms < 0.001) return `${fixed(ms * 1e6, 0)}ns`;
  if (ms < 1) return `${fixed(ms * 1e3, 2)}µs`;
  if (ms < 1e3) return `${fixed(ms, 2)}ms`;
  if (ms < 6e4) return `${fixed(ms / 1e3, 2)}s`;
  const seconds = Math.round(ms / 1e3);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  return `${hours > 0 ? `${hours}h` : ""}${String(minutes).padStart(hours > 0 ? 2 : 1, "0")}m${String(seconds % 60).padStart(2, "0")}s`;
};
export const humanizeValue = (value, metric, unit) => {
  if (metric.type === "rate") return `${(Math.trunc(value * 1e4) / 1e2).toFixed(2)}%`;
  if (metric.contains === "data") return bytes(value);
  if (metric.contains === "time") return duration(value, unit);
  return fixed(value, 6);
};

const CODES = { bold: 1, faint: 2, red: 31, green: 32, cyan: 36 };
const lineOf = (name, metric, unit, stats, paint) => {
  const show = (value) => humanizeValue(value, metric, unit);
  const { values } = metric;
  const cyan = (text) => paint(text, "cyan");
  switch (metric.type) {
    case "trend": return stats.filter((stat) => stat in values).map((stat) => `${stat}=${cyan(stat === "count" ? String(values[stat]) : show(values[stat]))}`).join(" ");
    case "counter": {
      const rate = metric.contains === "data" ? bytes(values.rate) : fixed(values.rate, 6);
      return `${cyan(metric.contains === "data" ? bytes(values.count) : fixed(values.count, 6))} ${paint(`${rate}/s`, "faint")}`;
    }
    case "gauge": return `${cyan(show(values.value))} ${paint(`min=${show(values.min)} max=${show(values.max)}`, "faint")}`;
    default: return `${cyan(show(values.rate))} ${paint(`✓ ${values.passes} ✗ ${values.fails}`, "faint")}`;
  }
};
const groupLines = (group, indent, paint) => {
  const lines = [];
  for (const check of group.checks || []) {
    if (check.fails === 0) {
      lines.push(paint(`${indent}✓ ${check.name}`, "green"));
      continue;
    }
    const share = Math.floor((100 * check.passes) / (check.passes + check.fails));
    lines.push(paint(`${indent}✗ ${check.name}`, "red"), paint(`${indent} ↳  ${share}% — ✓ ${check.passes} / ✗ ${check.fails}`, "red"));
  }
  for (const inner of group.groups || []) {
    lines.push("", `${indent}█ ${paint(inner.name, "bold")}`, "", ...groupLines(inner, `${indent}  `, paint));
  }
  return lines;
};
export const textSummary = (data, options) => {
  const given = Object.assign({ indent: " ", enableColors: !(data.options && data.options.noColor) }, data.options, options);
  const paint = (text, code) => (given.enableColors ? `\u001b[${CODES[code]}m${text}\u001b[0m` : text);
  const stats = given.summaryTrendStats || ["avg", "min", "med", "max", "p(90)", "p(95)"];
  const { indent } = given;
  const lines = groupLines(data.root_group, `${indent}    `, paint);
  if (lines.length > 0) lines.push("");
  const names = Object.keys(data.metrics).sort();
  // A part of a metric stands below it.
  const label = (name) => (name.includes("{") ? `  { ${name.slice(name.indexOf("{") + 1, -1)} }` : name);
  const width = Math.max(0, ...names.map((name) => label(name).length)) + 3;
  for (const name of names) {
    const metric = data.metrics[name];
    const ends = Object.values(metric.thresholds || {});
    let mark = " ";
    if (ends.length > 0) mark = ends.every((end) => end.ok) ? paint("✓", "green") : paint("✗", "red");
    lines.push(`${indent}  ${mark} ${label(name)}${paint(`${".".repeat(width - label(name).length)}:`, "faint")} ${lineOf(name, metric, given.summaryTimeUnit, stats, paint)}`);
  }
  return lines.join("\n");
};

const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;").replace(/'/g, "&#39;");
export const jUnit = (data, options) => {
  const suite = escaped((options && options.name) || "k6 thresholds");
  const cases = [];
  let failures = 0;
  for (const name of Object.keys(data.metrics)) {
    const { thresholds } = data.metrics[name];
    for (const text of Object.keys(thresholds || {})) {
      const title = escaped(`${name} - ${text}`);
      if (thresholds[text].ok) {
        cases.push(`<testcase name="${title}" />`);
      } else {
        failures += 1;
        cases.push(`<testcase name="${title}"><failure message="failed" /></testcase>`);
      }
    }
  }
  return `<?xml version="1.0"?>\n<testsuites tests="${cases.length}" failures="${failures}">\n<testsuite name="${suite}" tests="${cases.length}" failures="${failures}">\n${cases.join("\n")}\n</testsuite>\n</testsuites>`;
};
export default { humanizeValue, textSummary, jUnit };
