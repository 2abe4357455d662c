/** The document of a run: `crates/results/report/src/page/run.rs`, and `crates/results/judge/src/course`. */

export type Numbers = (number | null)[];

export type Severity = 'good' | 'note' | 'warning' | 'fatal';

export interface Finding {
  severity: Severity;
  code: string;
  text: string;
  evidence: Record<string, number>;
}

export interface Threshold {
  text: string;
  passed: boolean;
  value: number | null;
  shown: string;
  interval?: { low_ns: number | null; high_ns: number | null; high_is_bound?: boolean };
  /** The limit lies within the interval. */
  within_interval?: boolean;
}

/** A column of the seconds: mean, and least and greatest where several seconds make a slot. */
export interface Track {
  name: string;
  mean: Numbers;
  min?: Numbers;
  max?: Numbers;
}

/** The share that took longer, and how long. */
export type Share = [number, number];

export interface Bin {
  from_ns: number;
  to_ns: number;
  count: number;
}

export interface MeasureCourse {
  name: string;
  kind: string;
  count: number;
  per_s: Numbers;
  p50: Numbers;
  p90: Numbers;
  p99: Numbers;
  p999: Numbers;
  max: Numbers;
  /** Column, row (tenths of a decade of nanoseconds), count. */
  heat: [number, number, number][];
  bins: Bin[];
  response: Share[];
}

export interface ProbeLine {
  role: string;
  region: string;
  source: string;
  metric: string;
  unit: string;
  at_s: number[];
  mean: Numbers;
  min?: Numbers;
  max?: Numbers;
}

export interface Course {
  slot_s: number;
  slots: number;
  heat_slot_s: number;
  seconds: Track[];
  measures: MeasureCourse[];
  measures_left_out: number;
  errors: { kind: string; count: number; per_s: Numbers }[];
  probes: { lines: ProbeLine[]; left_out: number };
}

export interface Phase {
  name: string;
  kind: string;
  start_s: number;
  end_s: number;
  users_planned: number;
  users_started: number | null;
}

/** Mean, least, p50, p90, p95, p98, p99, p99.9, greatest; nanoseconds. */
export type Times = [number, number, number, number, number, number, number, number, number];

/** How far a percentile may lie from the true one, at 95 %; nanoseconds. */
export interface Range {
  low: number | null;
  high: number | null;
  /** The upper end is a lower bound. */
  is_bound?: boolean;
  /** Why an end is missing. */
  missing?: 'few' | 'short' | 'dependent' | 'unanswered';
}

export interface Step {
  phase: number | null;
  name: string;
  kind: string;
  count: number;
  rate_per_s: number;
  errors: number;
  errors_by_kind: Record<string, number>;
  /** Operations among the response times that were never answered. */
  unanswered: number;
  /** Percentiles of `response` above this share are lower bounds. */
  bound_above: number | null;
  response: Times | null;
  /** Of p50, p90, p95, p98, p99 and p99.9; empty if the record does not say. */
  intervals: Range[];
  service: Times | null;
  lag: Times | null;
}

/** A pause of arrivals, or a fault; null: to the end. */
export interface Highlight {
  name: string;
  from_s: number;
  to_s: number | null;
}

/** The last three: the run is in progress, and nothing in the document is final. */
export type RunVerdict =
  'measured' | 'passed' | 'failed' | 'untrusted' | 'imported' | 'running' | 'paused' | 'stopping';

/** The first figures of a run: `crates/results/judge/src/totals.rs`. */
export interface Totals {
  operations: number;
  errors: number;
  error_share: number | null;
  unfinished: number;
  /** Operations of steps, without connections, pushed messages and transactions. */
  offered_per_s: number | null;
  begun_per_s: number | null;
  completed_per_s: number | null;
  /** The step that users wait for most often. */
  step: {
    name: string;
    p50_ns: number;
    p95_ns: number;
    p99_ns: number;
    /** Percentiles above this share are lower bounds. */
    bound_above: number | null;
  } | null;
}

export interface RunDocument {
  kind: 'run';
  format: number;
  throng: string;
  run: {
    id: string;
    name: string;
    target: string;
    status: 'running' | 'complete' | 'interrupted' | 'failed';
    seed: string;
    started_unix_ms: number;
    ended_s: number;
    mode: string;
    loops: number;
    cores: number;
    workers: number;
    lag_max_ns: number;
    overrides: string[];
    host: Record<string, string>;
  };
  verdict: RunVerdict;
  totals: Totals;
  missing: string[];
  findings: Finding[];
  thresholds: Threshold[];
  users: Record<
    | 'planned'
    | 'started'
    | 'unstarted'
    | 'refused'
    | 'connected'
    | 'finished'
    | 'failed'
    | 'stopped'
    | 'cut_off'
    | 'peak'
    | 'lost'
    | 'never_came',
    number
  >;
  health: Record<string, number>;
  phases: Phase[];
  highlights: Highlight[];
  steps: Step[];
  steps_left_out: number;
  /** The requests with a tag taken as one, each. */
  tags: Step[];
  course: Course;
  examples: { at_s: number; measure: string; outcome: string; detail: string }[];
  regions: {
    name: string;
    clients: number;
    unreachable: number;
    users_planned: number;
    connected: number;
    failed: number;
  }[];
}
