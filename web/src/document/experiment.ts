// Written by `UPDATE=1 cargo test -p report --features full`, from the types in Rust: do not edit.

import type { Finding } from './run';

/** The mean of one combination. */
export type Bar = {
  /** The level, from 0. */
  level: number;
  /** How many runs it is of. */
  runs: number;
  /** The mean; the geometric mean for a multiplicative model. */
  mean: number;
  /** The lower end of its interval; `null` without repetitions, and if the mean is a bound. */
  low: number | null;
  /** The upper one. */
  high: number | null;
  /** True if the mean is only known to be at least this. */
  is_bound?: boolean;
  /** The value that others published. */
  published?: number | null;
};

/** The means of one combination of the other factors. */
export type BarGroup = {
  /** By factor, from 0; `null` of the factor whose levels stand side by side. */
  levels: Array<number | null>;
  /**
   * True if one scatter of all its runs determines the intervals; false if each bar has its own, because the
   * scatter differs.
   */
  pooled: boolean;
  /** Bars by level. */
  bars: Array<Bar>;
};

/** The values of one combination, as they were measured. */
export type CellFigures = {
  /** Levels by factor, from 0. */
  levels: Array<number>;
  /** Values in the order in which they were measured. */
  values: Array<number>;
  /** How many of them are only lower bounds; then the mean is one, too. */
  bounds?: number;
  /** Their mean. */
  mean: number;
  /** Their standard deviation; `null` of a single one, and if there are bounds. */
  deviation: number | null;
};

/** A claim at one combination of the other factors. */
export type ClaimPlace = {
  /** By factor, from 0; `null` of the factor whose levels are ordered. */
  levels: Array<number | null>;
  /** Whether it holds there. */
  verdict: ClaimVerdict;
  /** The two means that decide it. */
  why: string;
};

/** Whether a claim holds. Two means are separable if their intervals part. */
export type ClaimVerdict = 'holds' | 'not-measured' | 'not-separable' | 'does-not-hold';

/** Variation that the model does not explain. */
export type ErrorFigures = {
  /** Degrees of freedom. */
  df: number;
  /** Sum of squares. */
  ss: number;
  /** The error's share of the total variation. */
  share: number;
  /** The standard deviation of errors. */
  deviation: number;
};

/** An estimate. */
export type EstimateFigures = {
  /** The best guess. */
  value: number;
  /** The estimate's standard deviation, if it is known. */
  standard_error: number | null;
  /** The lower bound of its interval. */
  low: number | null;
  /** The upper one. */
  high: number | null;
};

export type ExperimentDocument = {
  /** The kind of result, which decides how it is drawn. */
  kind: 'experiment';
  /** Version of the documents. */
  format: number;
  /** The version that made the page. */
  throng: string;
  name: string;
  confidence: number;
  factors: Array<FactorFigures>;
  observations: number;
  confounded: Array<string>;
  missing: Array<MissingCell>;
  left_out: Array<LeftOut>;
  findings: Array<Finding>;
  responses: Array<Response>;
  responses_left_out: number;
  ensembles: Array<ShownEnsemble>;
  ensembles_left_out: number;
};

/** A factor. */
export type FactorFigures = {
  /** It stands for the factor in the names of terms. */
  letter: string;
  /** Name of the factor. */
  name: string;
  /** The factor's levels; of two the first is low. */
  levels: Array<string>;
};

export type Fit = {
  mean: EstimateFigures;
  mean_aliases: Array<string>;
  terms: Array<TermFigures>;
  order_max: number;
  shares_add_up: boolean;
  error: ErrorFigures | null;
  fitted: Array<number>;
  residuals: Array<number>;
  observations_left_out: number;
  interactions: Array<InteractionTable>;
};

/** Operations by bin; those beyond the bins are in the outermost. */
export type Histogram = {
  /** Operations by bin. */
  counts: Array<number>;
};

/** Means by the levels of two factors, of the values as they were measured. */
export type InteractionTable = {
  /** Rows and columns, from 0. */
  factors: [number, number];
  /** By the first factor's level, then the second's; `null` where nothing was measured. */
  means: Array<Array<number | null>>;
};

/** A run that does not count. */
export type LeftOut = {
  /** Which. */
  run: string;
  /** Why. */
  why: string;
};

/** A level of a factor. */
export type LevelFigures = {
  /** Name of the level. */
  level: string;
  /** The mean at this level. */
  mean: EstimateFigures;
  /** The level's effect: the difference from the mean of all. */
  effect: EstimateFigures;
};

/** A combination that was measured too rarely. */
export type MissingCell = {
  /** Levels by factor. */
  levels: Array<string>;
  /** How often it should be there. */
  planned: number;
  /** How often it is. */
  found: number;
};

/** Runs of which each is like each. */
export type Mode = {
  /** Numbers in the experiment. */
  runs: Array<number>;
  /** Number of all operations of these runs. */
  count: number;
  /** Median of all their operations together, nanoseconds. */
  median_ns: number;
  /** Histogram of all their operations together. */
  histogram: Histogram;
};

/** A main effect or an interaction of values that others measured. */
export type PublishedTerm = {
  /** Letters of the term's factors. */
  name: string;
  /** Jain's q; of factors with two levels. */
  effect: number | null;
  /** The term's share of the total variation. */
  share: number;
};

export type Response = {
  name: string;
  unit: Unit;
  model: 'additive' | 'multiplicative';
  cells: Array<CellFigures>;
  cells_left_out: number;
  bars: ShownBars;
  findings: Array<Finding>;
  fit: Fit | null;
  published?: ShownPublished | null;
};

export type ShownBars = {
  factor: number;
  groups: Array<BarGroup>;
  groups_left_out: number;
};

export type ShownClaim = {
  text: string;
  order: string;
  verdict: ClaimVerdict;
  places: Array<ClaimPlace>;
  places_left_out: number;
};

/** The runs of a combination, without the pairs that they were compared in. */
export type ShownEnsemble = {
  levels: Array<string>;
  runs: Array<number>;
  why: string | null;
  measures: Array<ShownMeasure>;
  measures_left_out: number;
};

export type ShownMeasure = {
  name: string;
  counts: Array<number>;
  medians_ns: Array<number>;
  tested: Array<ShownModes>;
  edges_ns: Array<number>;
};

export type ShownModes = {
  tests: Array<string>;
  modes: Array<Mode>;
  modes_left_out: number;
};

export type ShownPublished = {
  source: string;
  mean: number | null;
  terms: Array<PublishedTerm>;
  claims: Array<ShownClaim>;
};

/** A main effect or an interaction. */
export type TermFigures = {
  /** Letters of the term's factors. */
  name: string;
  /** Numbers of the term's factors, from 0. */
  factors: Array<number>;
  /** Terms that it cannot be separated from; with a sign where theirs is the other. */
  aliases: Array<string>;
  /** Jain's q: half of the way from low to high; of factors with two levels. */
  effect: EstimateFigures | null;
  /** The levels, for the term of a single factor. */
  levels: Array<LevelFigures>;
  /** Degrees of freedom. */
  df: number;
  /** Sum of squares. */
  ss: number;
  /** The term's share of the total variation. */
  share: number;
  /** F ratio. */
  f: number | null;
  /** The probability of a greater one by chance. */
  p: number | null;
};

/** The unit of a figure: decides how it is written. */
export type Unit = 'ns' | '1/s' | 'share' | 'count' | '';
