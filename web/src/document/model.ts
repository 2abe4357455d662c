// Written by `UPDATE=1 cargo test -p report --features full`, from the types in Rust: do not edit.

import type { Finding } from './run';

/** How users arrive. */
export type ArrivalProcess = 'poisson' | 'cycle' | 'trace';

/** Durations in a bin. */
export type Bar = {
  /** Lower edge, seconds. */
  from_s: number;
  /** Upper edge, which is in the next, seconds. */
  upto_s: number;
  /** The share of them. */
  share: number;
};

/** A day from which on the cycle is shifted against the clock: recordings were joined, or the clock was set. */
export type Break = {
  /** The first shifted day, from 0. */
  day: number;
  /** Hours by which the day is moved, −12 to 12. */
  hours: number;
  /** P(as great a one in days of any order). */
  p: number;
};

/** A test of a check. */
export type CheckTest = {
  /** `arrivals`, `segments`, `starts`, `transitions`, `thinks`, `mean thinks` or `lengths`. */
  quantity: string;
  /** The segment, and the two classes of a transition. */
  what: string;
  /** The greatest difference of two shares, or Kolmogorov's distance; the relative difference of a number or a mean. */
  distance: number;
  /** P(as different). */
  p: number;
  /** `p`, adjusted for the number of tests (Holm 1979). */
  p_adjusted: number;
  /** Below the level. */
  rejected: boolean;
};

/** A bar of the histogram. */
export type CountsBar = {
  /** Minimum number of users. */
  from: number;
  /** Maximum number of users, inclusive. */
  upto: number;
  /** Windows with such a count. */
  windows: number;
  /** Expected number of windows if arrivals are Poisson with one rate. */
  poisson: number;
};

/** The distribution of counts at one scale. */
export type CountsPicture = {
  /** A window's length, seconds. */
  window_s: number;
  /** Bars, by how many users came. */
  bars: Array<CountsBar>;
};

/** Durations beside their fits. */
export type Curves = {
  /** Places, seconds. */
  at_s: Array<number>;
  /** The share of the durations that are no longer. */
  seen: Array<number>;
  /** Shares in bins of equal width; those beyond the last are left out. */
  bars: Array<Bar>;
  /** Each fit, the best first. */
  fits: Array<FittedCurve>;
};

/** A rate that follows the clock on the wall. */
export type Cycle = {
  /** Users per second in each hour of the day; or of the week, from Monday, where the week matters. */
  rates: Array<number>;
  /** Whether hours of the day have different rates. */
  day: DaysTest;
  /** Whether days of the week have. */
  week: DaysTest | null;
  /** From which second of the recording to which it was taken. */
  from_s: number;
  /** To this second. */
  upto_s: number;
  /** The place at which the day is moved against the clock, if it is. */
  broken: Break | null;
};

/** An analysis of variance of hours' counts (their roots, whose variance does not depend on the rate). */
export type DaysTest = {
  /** Fisher's F. */
  f: number;
  /** P(as great), hours being independent: too small where neighbouring hours are not. */
  p: number;
  /** The share of the variance that it explains. */
  explained: number;
};

/** Durations and their fits. Times are in seconds. */
export type Durations = {
  /** How many there were. */
  count: number;
  /** Their mean. */
  mean_s: number;
  /** The clock's step that they were seen by. */
  step_s: number;
  /** Distinct values with how often, of a sample of at most 2,000. */
  values: Array<[number, number]>;
  /**
   * All families that could be fitted, the likeliest for its number of parameters first (Akaike). If there are more
   * durations than were fitted, the times of the one that is used are scaled so that its mean is that of all.
   */
  fits: Array<Fit>;
  /** The test of the first. */
  test: Test | null;
  /** The result. */
  outcome: Outcome;
};

/** A family with its most likely parameters. */
export type Fit = {
  /** Which. */
  family: string;
  /** Parameters by name. */
  parameters: Array<Parameter>;
  /** ln of the likelihood. */
  log_likelihood: number;
  /** Akaike's criterion: the less the better. */
  aic: number;
};

/** A fit at the same places. */
export type FittedCurve = {
  /** Which. */
  family: string;
  /** P(no longer), as the clock shows it. */
  upto: Array<number>;
  /** P(in the bin), likewise. */
  bars: Array<number>;
};

/** The inactivity gap, and why it is that. */
export type Gap = {
  /** Seconds. */
  seconds: number;
  /** `given`, `valley` or `usual`. */
  why: GapReason;
  /** How many sessions there would be with other gaps: seconds, sessions. */
  others: Array<[number, number]>;
  /** How often a session was cut because it had the maximum number of requests. */
  cuts: number;
  /** Times between two requests of one user: from seconds, how many; four bins in each doubling. */
  histogram: Array<[number, number]>;
};

/** Why a gap was taken. */
export type GapReason = 'given' | 'valley' | 'usual';

/** Estimates of Hurst's H. */
export type Hurst = {
  /** Numbers of the series, and how long each is, seconds. */
  numbers: number;
  /** Seconds. */
  number_s: number;
  /** Each estimate. */
  estimates: Array<HurstEstimate>;
  /** Scatter that the counts' Poisson noise hides. */
  hidden: Array<HurstHidden>;
  /** log₂ energy of the wavelet's octaves, with standard error: seconds, energy, error. */
  octaves: Array<[number, number, number]>;
};

/** One estimate of H. */
export type HurstEstimate = {
  /** `aggregated-variance`, `rescaled-range`, `local-whittle`, `wavelet`. */
  method: string;
  /** The cycle was taken out of the series before. */
  about_cycle: boolean;
  /** The scales it speaks of, seconds. */
  from_s: number;
  /** Upper end of the scales, seconds. */
  upto_s: number;
  /** H; not between 0 and 1 where the counts are not stationary at these scales, or too few. */
  h: number;
  /** Lower bound of its 95 % interval, where the method has one. */
  low: number | null;
  /** Upper bound. */
  high: number | null;
  /**
   * P(octaves as far from a straight line), if the method has it: small if H differs between
   * scales.
   */
  p_straight: number | null;
};

/** An estimate that could not be made: the counts vary no more than those of a Poisson process of one rate. */
export type HurstHidden = {
  /** As of an estimate. */
  method: string;
  /** The cycle was taken out of the series before. */
  about_cycle: boolean;
};

export type ModelDocument = {
  /** The kind of result, which decides how it is drawn. */
  kind: 'model';
  /** Version of the documents. */
  format: number;
  /** The version that made the page. */
  throng: string;
  name: string;
  findings: Array<Finding>;
  log: ShownLog;
  key: string;
  segment_by: string | null;
  users: number;
  gap: Gap | null;
  classes: Array<ShownClass>;
  /** All together first, then segments of their own. */
  arrivals: Array<ShownArrivals>;
  segments: Array<SegmentRow>;
  behaviours: Array<ShownBehaviour>;
  segments_left_out: number;
  check: ShownCheck | null;
};

/** Why there is no cycle. */
export type NoCycle = 'bins' | 'short' | 'flat';

/** The result of fitting. */
export type Outcome = 'fits' | 'near' | 'no-fit' | 'too-few';

/** A parameter with its 95 % interval. */
export type Parameter = {
  /** As in `stats::fit::Family::parameters`. */
  name: string;
  /** Seconds where it is a time. */
  value: number;
  /** Lower bound. */
  low: number | null;
  /** Upper bound. */
  high: number | null;
};

/** Pictures of arrivals. */
export type Pictures = {
  /** A slot's length, seconds. */
  slot_s: number;
  /** Users in each slot, from the beginning on. */
  users: Array<number>;
  /** The expected number in each; empty if the process repeats the recording. */
  expected: Array<number>;
  /** The distribution of counts, at each scale with enough windows. */
  counts: Array<CountsPicture>;
};

/** Counts after the cycle has been taken out of time. */
export type RescaledCounts = {
  /** Windows. */
  windows: number;
  /** Variance over mean; 1 for Poisson. */
  index: number;
  /** P(as far from 1). */
  p: number;
  /** Ljung's and Box's test of dependence over ten windows: P(as great). */
  p_dependence: number;
};

/** Counts at one scale. */
export type Scale = {
  /** A window's length, seconds. */
  window_s: number;
  /** How many. */
  windows: number;
  /** Users in a window. */
  mean: number;
  /** Variance over mean: 1 for a Poisson process. */
  index: number;
  /** P(as far from 1), the counts being Poisson with one rate. */
  p_dispersion: number;
  /** Autocorrelation at lags 0, 1, … */
  autocorrelation: Array<number>;
  /** Half the width of the band that holds 95 % of the correlations of independent counts. */
  band: number;
  /** How many correlations lie outside of it. */
  outside: number;
  /** Ljung's and Box's test of the first ten lags: P(as great). */
  p_dependence: number;
  /**
   * Counts about the moment when half of the users have come, for the picture of one scale beside
   * the others.
   */
  picture: Array<number>;
};

export type SegmentRow = {
  name: string;
  sessions: number;
  requests: number;
  per_s: number;
  single: number;
  mean_think_s: number;
  fit: string | null;
};

export type ShownArrivals = {
  name: string;
  /** Instead of all that is known of the gaps: what is drawn of them. */
  between: ShownDurations | null;
  /** How many. */
  users: number;
  /** Length of the recording, seconds. */
  span_s: number;
  /** Users per second, over all of it. */
  rate_per_s: number;
  /** The rate's 95 % interval, for a Poisson process: too narrow if there are bursts. */
  rate_low: number;
  /** Upper bound. */
  rate_high: number;
  /**
   * Users in all bins but the first and the last, which have somebody by definition: those between are
   * as many as a Poisson process brings in that time.
   */
  between_users: number;
  /** How long the bins between are together, seconds. */
  between_s: number;
  /** A bin of the finest counts, seconds. */
  bin_s: number;
  /** The clock on the wall at the beginning, as seconds since 1970. */
  local_s: number;
  /** Users by the hour of the day. */
  by_hour: Array<number>;
  /** Counts at 1, 10, 100 and 1,000 bins. */
  scales: Array<Scale>;
  /** Whether the rate rises or falls; missing for few users. */
  trend: Trend | null;
  /** The day and the week. */
  cycle: Cycle | null;
  /** Why there is no cycle, if there is none. */
  no_cycle: NoCycle | null;
  /**
   * Counts in windows of equal expected users, time rescaled by the cycle: of a Poisson process whose
   * rate is the cycle's they are Poisson.
   */
  rescaled: RescaledCounts | null;
  /** Self-similarity. */
  hurst: Hurst | null;
  /** Stretches without anybody that the rate does not explain, the longest first. */
  silences: Array<Silence>;
  /** The share of all time that such stretches take. */
  silent_share: number;
  /** Users that came long after all others, who are not counted here; missing: there are none. */
  stragglers: Stragglers | null;
  /** Times between arrivals. */
  gaps: Durations | null;
  /** The process in the scenario. */
  process: ArrivalProcess;
  /** It was requested, not found. */
  process_requested: boolean;
  /** A cycle was requested, and there is none. */
  cycle_requested: boolean;
  /** The process is not rejected. */
  process_fits: boolean;
  /** Bin length of the trace, if the process is one, seconds. */
  trace_bin_s: number;
  /** Points that pictures are drawn from. */
  pictures: Pictures;
};

export type ShownBehaviour = {
  name: string;
  starts: Array<number>;
  exits: Array<number>;
  transitions: Array<ShownTransition>;
  transitions_left_out: number;
  thinks: Array<ShownDurations>;
  thinks_left_out: number;
  /** Requests, and how many sessions had that number; the last stands for all that had more. */
  lengths: Array<[number, number]>;
};

export type ShownCheck = {
  level: number;
  sessions: [number, number];
  holds: boolean;
  tests: Array<CheckTest>;
  tests_left_out: number;
};

export type ShownClass = {
  name: string;
  state: string;
  requests: number;
  target: string;
};

/** Durations with their fits and curves. */
export type ShownDurations = {
  name: string;
  count: number;
  mean_s: number;
  step_s: number;
  outcome: Outcome;
  fits: Array<Fit>;
  test: Test | null;
  curves: Curves | null;
};

export type ShownFile = {
  name: string;
  format: string;
  lines: number;
  cut_off: string | null;
};

export type ShownLog = {
  lines: number;
  requests: number;
  without: number;
  step_s: number;
  first_unix_s: number;
  last_unix_s: number;
  files: Array<ShownFile>;
  files_left_out: number;
  problems: Array<ShownProblem>;
};

/** Lines with a problem. */
export type ShownProblem = {
  text: string;
  is_bad: boolean;
  lines: number;
  examples: Array<[string, string]>;
};

export type ShownTransition = {
  from: number;
  to: number;
  count: number;
  p: number;
  low: number;
  high: number;
  mean_think_s: number | null;
  fit: string | null;
  p_fit: number | null;
};

/** A stretch without anybody. */
export type Silence = {
  /** Start of the silence, in seconds from the recording's beginning. */
  from_s: number;
  /** How long, seconds. */
  length_s: number;
};

/** Users that came long after all others and are no part of the arrivals, such as one who left a page open. */
export type Stragglers = {
  /** How many. */
  users: number;
  /** How long after the others the first of them came, seconds. */
  after_s: number;
};

/** A test of a fit, its p-values by parametric bootstrap. */
export type Test = {
  /** How many durations were tested. */
  count: number;
  /** Kolmogorov's distance. */
  distance: number;
  /** Time of the greatest distance, seconds. */
  at_s: number;
  /** P(as far). */
  p_distance: number;
  /** Anderson's and Darling's A². */
  anderson: number;
  /** P(as great). */
  p_anderson: number;
  /** Samples redrawn. */
  rounds: number;
};

/** Laplace's test of a trend. */
export type Trend = {
  /**
   * The users' mean time after the middle of the recording, in standard deviations: above 0 where they
   * become more.
   */
  z: number;
  /** P(as far either way), arrivals being Poisson with one rate. */
  p: number;
};
