/** The document of a model: `crates/results/report/src/page/model.rs`, and `crates/workload/model`. Times are in seconds. */

import type { Finding } from './run';

export interface Durations {
  name: string;
  count: number;
  mean_s: number;
  step_s: number;
  outcome: 'fits' | 'near' | 'no-fit' | 'too-few';
  fits: {
    family: string;
    parameters: { name: string; value: number; low: number | null; high: number | null }[];
    aic: number;
  }[];
  test: {
    count: number;
    distance: number;
    at_s: number;
    p_distance: number;
    anderson: number;
    p_anderson: number;
    rounds: number;
  } | null;
  curves: {
    at_s: number[];
    seen: number[];
    bars: { from_s: number; upto_s: number; share: number }[];
    fits: { family: string; upto: number[]; bars: number[] }[];
  } | null;
}

export interface Scale {
  window_s: number;
  windows: number;
  mean: number;
  index: number;
  p_dispersion: number;
  autocorrelation: number[];
  band: number;
  outside: number;
  p_dependence: number;
  picture: number[];
}

export interface Arrivals {
  name: string;
  users: number;
  span_s: number;
  rate_per_s: number;
  rate_low: number;
  rate_high: number;
  bin_s: number;
  by_hour: number[];
  scales: Scale[];
  cycle: { rates: number[] } | null;
  hurst: {
    estimates: {
      method: string;
      about_cycle: boolean;
      from_s: number;
      upto_s: number;
      h: number;
      low: number | null;
      high: number | null;
      p_straight: number | null;
    }[];
    octaves: [number, number, number][];
  } | null;
  process: 'poisson' | 'cycle' | 'trace';
  process_requested: boolean;
  process_fits: boolean;
  pictures: {
    slot_s: number;
    users: number[];
    expected: number[];
    counts: {
      window_s: number;
      bars: { from: number; upto: number; windows: number; poisson: number }[];
    }[];
  };
  between: Durations | null;
}

export interface Behaviour {
  name: string;
  starts: number[];
  exits: number[];
  transitions: {
    from: number;
    to: number;
    count: number;
    p: number;
    low: number;
    high: number;
    mean_think_s: number | null;
    fit: string | null;
    p_fit: number | null;
  }[];
  transitions_left_out: number;
  thinks: Durations[];
  thinks_left_out: number;
  lengths: [number, number][];
}

export interface ModelDocument {
  kind: 'model';
  format: number;
  throng: string;
  name: string;
  findings: Finding[];
  log: {
    lines: number;
    requests: number;
    without: number;
    step_s: number;
    first_unix_s: number;
    last_unix_s: number;
    files: { name: string; format: string; lines: number; cut_off: string | null }[];
    files_left_out: number;
    problems: { text: string; is_bad: boolean; lines: number; examples: [string, string][] }[];
  };
  key: string;
  segment_by: string | null;
  users: number;
  gap: {
    seconds: number;
    why: 'given' | 'valley' | 'usual';
    others: [number, number][];
    histogram: [number, number][];
  } | null;
  classes: { name: string; state: string; requests: number; target: string }[];
  arrivals: Arrivals[];
  segments: {
    name: string;
    sessions: number;
    requests: number;
    per_s: number;
    single: number;
    mean_think_s: number;
    fit: string | null;
  }[];
  behaviours: Behaviour[];
  segments_left_out: number;
  check: {
    level: number;
    sessions: [number, number];
    holds: boolean;
    tests: {
      quantity: string;
      what: string;
      distance: number;
      p: number;
      p_adjusted: number;
      rejected: boolean;
    }[];
    tests_left_out: number;
  } | null;
}
