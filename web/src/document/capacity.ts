// Written by `UPDATE=1 cargo test -p report --features full`, from the types in Rust: do not edit.

import type { Finding } from './run';

/** When each sign was seen first at the load that did not hold. */
export type Bend = {
  /** The load that did not hold. */
  load: number;
  /** The run that was looked at. */
  run: string;
  /** The earliest first; times since the run's start. */
  signs: Array<[Sign, number]>;
};

export type CapacityDocument = {
  /** The kind of result, which decides how it is drawn. */
  kind: 'capacity';
  /** Version of the documents. */
  format: number;
  /** The version that made the page. */
  throng: string;
  name: string;
  /** The loads as text, by level. */
  shown: Array<string>;
  /** The trials in the order of execution. */
  trials: Array<Trial>;
  /** The law: in flight, throughput by second, mean response in nanoseconds. */
  law_curve: Array<[number, number, number]>;
  /** The setting that was varied, as `--set` knows it. */
  of: string;
  /** The unit behind its numbers. */
  unit: string;
  /** How the search ended. */
  ending: Ending;
  /** The highest load that holds; `null`: none does. */
  holds: number | null;
  /** The lowest above it that does not; `null`: all hold. */
  breaks: number | null;
  /**
   * The load at which the first threshold reaches its limit: estimate, and lower and upper bound with 95 %
   * confidence; `null` where the runs near the knee do not show it.
   */
  crossing: [number, number, number] | null;
  /** The most important first. */
  findings: Array<Finding>;
  /** All loads, the lowest first. */
  levels: Array<LevelFigures>;
  /** The universal scalability law of the target; `null`: see `law_problem`. */
  law: Law | null;
  /** Why no law was fitted. */
  law_problem: string | null;
  /** The first sign of overload at the lowest load that does not hold. */
  bend: Bend | null;
};

/** How a search ended. */
export type Ending = 'found' | 'all_hold' | 'none_holds' | 'load_is_not_the_cause' | 'untrusted' | 'down' | 'out_of_steps' | 'out_of_time' | 'interrupted';

/** X(N) = λN/(1 + σ(N − 1) + κN(N − 1)), N in flight. */
export type Law = {
  /** λ: throughput by second with one in flight on average; value, lower and upper bound. */
  lambda: [number, number, number | null];
  /** σ: contention. */
  sigma: [number, number, number | null];
  /** κ: coherency. */
  kappa: [number, number, number | null];
  /** Trials it was fitted to. */
  trials: number;
  /** The greatest number in flight among them; beyond, the law is a guess. */
  in_flight_max: number;
  /** Share of the throughputs' scatter that it explains. */
  r_squared: number;
  /** In flight where throughput is greatest, lower and upper bound; `null`: it never falls. */
  peak_in_flight: [number, number, number | null] | null;
  /** The throughput that is never passed; `null`: there is none. */
  limit_per_s: number | null;
};

/** A load with its trials and their mean figures. */
export type LevelFigures = {
  /** The load. */
  load: number;
  /** Trials that kept the thresholds. */
  holds: number;
  /** Trials that did not. */
  breaks: number;
  /** Trials that could not be trusted. */
  untrusted: number;
  /** True if the load holds; `null`: not known yet. */
  held: boolean | null;
  /** X, mean of the trials that measured something; `null` where none did. */
  per_s: number | null;
  /** N = X · R, the same. */
  in_flight: number | null;
  /** Median of the trials' medians of all operations; `null` where nothing took time. */
  p50_ns: number | null;
  /** True if it is only known to be at least that, since operations were never answered. */
  p50_is_bound: boolean;
  /** Median of their 99th percentiles. */
  p99_ns: number | null;
  /** As `p50_is_bound`. */
  p99_is_bound: boolean;
  /** Mean of their shares of errors. */
  error_share: number | null;
};

/** Outcome of a trial. */
export type Outcome = 'holds' | 'breaks' | 'untrusted';

/** Signs of overload. Those of the generator come first: they explain the others. */
export type Sign = 'generator_lag' | 'generator_cpu' | 'errors' | 'responses' | 'backlog';

/** One run at one load. */
export type Trial = {
  /** The load. */
  load: number;
  /** The trial's outcome. */
  outcome: Outcome;
  /** The name of its run directory; `null`: it could not be begun. */
  run: string | null;
  /** Thresholds that do not hold, or why it is not trusted. */
  why: Array<string>;
  /** The figures measured; `null`: there are none. */
  figures: TrialFigures | null;
  /**
   * By threshold, the logarithm of its figure over its limit, or of limit over figure where the figure
   * must be greater: below 0 where it holds. `null` where the figure is 0, unknown, or a lower bound.
   */
  margins: Array<number | null>;
  /** The thresholds with their own figures; empty where there are none. */
  thresholds: Array<TrialThreshold>;
  /** True of a run that was longer than the scenario says, to confirm that the load is sustained. */
  is_longer: boolean;
  /** The most users present at once, if the search is for them; `null`: it is for another load, or nothing ran. */
  present_max: number | null;
};

/**
 * Figures of a run: rates and times in service from the phase in which most operations ended, percentiles and errors from
 * the whole run, as thresholds take them.
 */
export type TrialFigures = {
  /** Requests and handshakes that succeeded, by second: X. */
  per_s: number;
  /** Their mean number in flight, by Little's law: N = X · R. */
  in_flight: number;
  /** Their mean time from being sent to their end: R. */
  service_ns: number;
  /** Median of the responses of all requests and handshakes, which count from when they were due; 0: there are none. */
  p50_ns: number;
  /** True if the median is only known to be at least that, since operations were never answered. */
  p50_is_bound: boolean;
  /** 99th percentile of the same. */
  p99_ns: number;
  /** As `p50_is_bound`. */
  p99_is_bound: boolean;
  /** The summary's `error_rate`: the share that failed in the whole run. */
  error_share: number;
};

/** A threshold and its own figure in a run. */
export type TrialThreshold = {
  /** As written in the scenario. */
  text: string;
  /** The value of its figure for people. */
  shown: string;
  /** True if it holds. */
  passed: boolean;
  /** The margins of both ends of the figure's interval, the lower one first; `null` where it has none. */
  margin_ends: [number, number] | null;
  /** Operations that its percentile was taken from; 0: it is none of a percentile. */
  operations: number;
  /** Operations that such a percentile takes at least. */
  operations_min: number;
};
