// Written by `UPDATE=1 cargo test -p report --features full`, from the types in Rust: do not edit.

import type { Finding } from './run';

/**
 * Response times of all operations of a run, those that failed included. Operations that were never
 * answered took at least as long as they were waited for: what falls among them is a lower bound
 * (Kaplan and Meier 1958).
 */
export type AllOperations = {
  /** How many ended. */
  count: number;
  /** Operations among these that were never answered. */
  unanswered: number;
  /** The chosen quantiles, nanoseconds. */
  quantiles_ns: Array<number>;
  /** True for each quantile that is a lower bound. */
  is_bound: Array<boolean>;
};

/** A run that was compared. */
export type ComparedRun = {
  /** `B1`, `C1`, … (`R1`, … without a baseline). */
  label: string;
  /** Which side it is on. */
  side: Side;
  /** The run's id. */
  id: string;
  /** The run's directory as it was given. */
  directory: string;
  /** The system under load. */
  target: string;
  /** The run's zero, since the Unix epoch. */
  started_unix_ns: number;
  /** How much of it was compared. */
  seconds: number;
  /** False where the record does not say when operations started; then `seconds` means nothing. */
  timed: boolean;
  /** False where its own verdict is that it cannot be trusted. */
  trusted: boolean;
};

export type ComparisonDocument = {
  /** The kind of result, which decides how it is drawn. */
  kind: 'comparison';
  /** Version of the documents. */
  format: number;
  /** The version that made the page. */
  throng: string;
  verdict: string;
  /** True for a verdict that a continuous integration job accepts. */
  accepted: boolean;
  /** The decision in one sentence. */
  sentence: string;
  rule: Rule | null;
  time: string;
  alpha: number;
  tolerance: number;
  quantiles: Array<number>;
  phase: string | null;
  /** The difference for which `Detect::runs` are. */
  detect: number;
  /** Those measures that differ, the greatest relative change first. */
  changed: Array<ShownMeasure>;
  unchanged: Unchanged | null;
  errors: Array<ShownErrors>;
  /** Findings beside the changes that matter to every reader. */
  remarks: Array<Finding>;
  /** The other findings. */
  notes: Array<Finding>;
  runs: Array<ComparedRun>;
  measures: Array<Measure>;
  measures_left_out: number;
};

/** The curves of a measure. */
export type Curves = {
  /** The distribution function of each run; empty of too many runs. */
  runs: Array<Array<[number, number]>>;
  /**
   * The distribution function of each side's operations together; of all runs if there is no
   * baseline.
   */
  sides: Array<[Side, Array<[number, number]>]>;
  /**
   * Differences of quantiles from the 5th to the 99th percentile, and of the 99.9th where there
   * are operations for it; empty without a baseline.
   */
  differences: Array<QuantileChange>;
  /** The baseline's quantiles that these are from, mean over its runs, nanoseconds. */
  baseline_ns: Array<number>;
};

/** How many runs would show a difference. */
export type Detect = {
  /** The figure whose difference is to be detected. */
  figure: string;
  /** How runs of one thing scatter: the deviation of the figure's logarithm. */
  scatter: number;
  /**
   * Runs a side that would show the difference requested four times in five; `null` where more
   * than can be counted are needed.
   */
  runs: number | null;
  /** The further runs needed. */
  more: number | null;
  /**
   * The least difference that the runs there are would show four times in five, as a share of the baseline; never
   * less than the tolerance.
   */
  share: number | null;
  /** The same with twice as many runs on each side. */
  share_doubled: number | null;
};

/** In which way failures differ from side to side. */
export type ErrorTrend = 'new' | 'gone' | 'more' | 'fewer';

/**
 * Tests that take operations for the unit, all runs of a side together. They say how the two
 * samples differ, not whether other runs would: the decision does not rest on them.
 */
export type Evidence = {
  /** Two-sample Kolmogorov–Smirnov. */
  ks: Test;
  /** k-sample Anderson–Darling (Scholz and Stephens 1987). */
  ad: Test;
  /** Mann–Whitney. */
  mann_whitney: Test;
  /** Hodges–Lehmann: the median of all differences candidate − baseline, nanoseconds. */
  shift_ns: number;
  /** Interval of the shift, with confidence 1 − α; `null` if there are too few operations. */
  shift_interval_ns: [number, number] | null;
  /** Cliff's delta: P(candidate is longer) − P(candidate is shorter), −1 to 1. */
  cliffs_delta: number;
  /** Interval of Cliff's delta, with confidence 1 − α. */
  cliffs_delta_interval: [number, number];
  /** Differences of the chosen quantiles, by bootstrap. */
  quantiles: Array<QuantileChange>;
};

/** Runs that are alike, and their groups. */
export type Graph = {
  pairs: Array<Pair>;
  pairs_left_out: number;
  /** Runs by number, where the Kolmogorov–Smirnov test sees no difference. */
  ks_edges: Array<[number, number]>;
  /** Runs by number, where the Anderson–Darling test sees no difference. */
  ad_edges: Array<[number, number]>;
  ks_cliques: Array<Array<number>>;
  ad_cliques: Array<Array<number>>;
  cut_off: boolean;
};

export type Measure = {
  name: string;
  kind: string;
  verdict: string;
  text: string;
  error_bound: number;
  runs: Array<RunFigures>;
  changes: Array<ShownChange>;
  evidence: Evidence | null;
  modes: Array<SideModes>;
  detect: Array<Detect>;
  serial: Array<Serial>;
  direct: Graph | null;
  published: Graph | null;
  curves: Curves | null;
};

/** A pair of runs. */
export type Pair = {
  /** Number of the one. */
  a: number;
  /** Number of the other. */
  b: number;
  /** Two-sample Kolmogorov–Smirnov. */
  ks: PairTest;
  /** Two-sample Anderson–Darling. */
  ad: PairTest;
};

/** A test of a pair of runs. */
export type PairTest = {
  /** As the test defines it, on all operations. */
  statistic: number;
  /** As if all operations were independent. */
  p: number;
  /** The p-value of so few operations, evenly spaced, that they can be taken for independent. */
  p_effective: number;
  /** `p_effective`, corrected for all pairs by the correction of the options. */
  p_adjusted: number;
  /** No difference is seen at the level, or none beyond the tolerance. */
  alike: boolean;
};

/** A peak: a mode of one distribution. */
export type Peak = {
  /** The time at which the density is highest, nanoseconds. */
  at_ns: number;
  /** Share of all operations between the valleys around it. */
  share: number;
};

/**
 * The difference of a quantile with an interval by bootstrap: of runs and of operations within
 * them where each side has several, else of operations.
 */
export type QuantileChange = {
  /** Which, 0 to 1. */
  q: number;
  /** Candidate minus baseline, nanoseconds. */
  difference_ns: number;
  /** With confidence 1 − α; `null` where there are too few runs or operations. */
  interval_ns: [number, number] | null;
};

/** Observations that the decision rests on. */
export type Rule = 'permutation' | 'student' | 'windows';

/** The figures of a measure in one run. */
export type RunFigures = {
  /** Operations that succeeded. */
  count: number;
  /**
   * Operations that the target completed, with success or with a failure, per second of the load; `null` where the
   * record does not say when they started.
   */
  rate: number | null;
  /** Share of operations that failed; `null` if the record does not have it. */
  error_rate: number | null;
  /**
   * The response times of all operations, as `throng show` states them; `null` if none failed, and of
   * service times, which only operations that succeeded have.
   */
  all: AllOperations | null;
  /** Nanoseconds; `null` where none succeeded. */
  mean_ns: number | null;
  /** The chosen quantiles, nanoseconds; empty where none succeeded. */
  quantiles_ns: Array<number>;
};

/** How the operations of a run hang together in time. */
export type Serial = {
  /** Operations. */
  count: number;
  /** Independent ones that would say as much about the mean. */
  effective: number;
};

/** A change, with its values as text. */
export type ShownChange = {
  baseline_shown: string | null;
  candidate_shown: string | null;
  difference_shown: string;
  interval_shown: string | null;
  /** The figure that changed. */
  figure: string;
  /** The figure in the words of people (`Figure::label`). */
  label: string;
  /** True of the measure's primary figure, which is corrected less than all others. */
  primary: boolean;
  /**
   * Mean over the baseline's runs, each with all of its operations: nanoseconds, per second, or a
   * share; `null` of a shape.
   */
  baseline: number | null;
  /** Mean over the candidate's runs, as for the baseline. */
  candidate: number | null;
  /**
   * The figure's mean over the windows of each run, where these are compared (one run a side). A
   * quantile of a run is not the mean of its windows' quantiles.
   */
  windows: WindowMeans | null;
  /**
   * Candidate minus baseline: of runs, or of the means of their windows if these are compared; of a
   * shape the mean Kolmogorov–Smirnov distance between runs of the two sides.
   */
  difference: number;
  /**
   * Confidence interval of this difference alone, with confidence 1 − α, over runs (Student's t,
   * Welch 1947); over pairs of windows where each side is one run.
   */
  interval: [number, number] | null;
  /**
   * The difference as a share of the baseline, or of the mean of its windows; of a shape the greatest among quantiles. `null`
   * where the baseline is 0.
   */
  relative: number | null;
  /**
   * Confidence interval of the relative difference, with confidence 1 − α: that of the difference of logarithms
   * (Welch 1947; of pairs of windows Student's). `null` of shares and shapes, and where there is no interval.
   */
  relative_interval: [number, number] | null;
  /**
   * Student's t of the figure's logarithm, of a shape the root of a pseudo-F; but for Student's own
   * rule with a floor under the standard error.
   */
  t: number;
  /** The p-value by the rule, for this figure alone. */
  p: number;
  /** Corrected for all figures of all measures, by their weights. */
  p_adjusted: number;
  /**
   * How neighbouring pairs of windows are correlated, −1 to 1; `null` where these do not decide, or all
   * differ by the same.
   */
  neighbours: number | null;
  /** `p_adjusted` is at most α. */
  seen: boolean;
  /** Seen, and greater than the tolerance. */
  counts: boolean;
};

/** Failures that differ, with their values as text. */
export type ShownErrors = {
  /** From baseline to candidate. */
  moved: string;
  /** In which way they differ, and how surely. */
  result: string;
  /** The step's name. */
  step: string;
  /** `record::Outcome::name`. */
  kind: string;
  /** As in `record::schema::ErrorCount::detail`. */
  detail: string | null;
  /** In the words of people: `status 503 at checkout`. */
  name: string;
  /** True of shares of the step's operations that ended; false of failures by run, where the step is no operation. */
  is_share: boolean;
  /** Mean over the baseline's runs. */
  baseline: number;
  /** Mean over the candidate's runs. */
  candidate: number;
  /** In which way they differ. */
  trend: ErrorTrend;
  /** The p-value by the rule, for these failures alone. */
  p: number;
  /** Corrected together with all figures; of single runs for all failures. */
  p_adjusted: number;
  /** `p_adjusted` is at most α. */
  seen: boolean;
  /** Seen, and greater than the tolerance. */
  counts: boolean;
};

/** A measure that differs, by the figure that its verdict names first. */
export type ShownMeasure = {
  /** Index into the document's measures. */
  measure: number;
  /** Index of the figure into the measure's changes. */
  change: number;
  /** True for a verdict that a continuous integration job accepts. */
  accepted: boolean;
  /** The verdict, and the other figures that changed. */
  text: string;
  /** The figure from baseline to candidate; `null` of a shape. */
  moved: string | null;
  /** The relative change with its interval. */
  by: string;
};

/** Which side a run is on. */
export type Side = 'baseline' | 'candidate';

/** Peaks of a distribution. */
export type SideModes = {
  /** The side. */
  side: Side;
  /** The peaks, from the shortest time. */
  peaks: Array<Peak>;
};

/** A test's outcome. */
export type Test = {
  /** As the test defines it. */
  statistic: number;
  /** Alone. */
  p: number;
  /** Corrected for all measures by the correction of the options. */
  p_adjusted: number;
};

/** Figures without a difference. */
export type Unchanged = {
  /** Figures in which no difference counts. */
  figures: number;
  /** In one sentence, with the differences that would have been seen if that is known. */
  text: string;
};

/** A figure's means over the windows of two runs, in the figure's unit. */
export type WindowMeans = {
  /** Mean of the window in the baseline's run. */
  baseline: number;
  /** Mean of the window in the candidate's run. */
  candidate: number;
};
