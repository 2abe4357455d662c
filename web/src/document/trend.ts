// Written by `UPDATE=1 cargo test -p report --features full`, from the types in Rust: do not edit.

export type TrendDocument = {
  /** The kind of result, which decides how it is drawn. */
  kind: 'trend';
  /** Version of the documents. */
  format: number;
  /** The version that made the page. */
  throng: string;
  /** The scenario's name. */
  name: string;
  /** The step of the percentiles. */
  step: string | null;
  /** The runs in the order in which they started. */
  runs: Array<TrendRun>;
  /** Their figures. */
  figures: Array<TrendFigure>;
  /** Older runs than these, which are left out. */
  older: number;
  /** Runs that cannot be trusted, which are left out. */
  untrusted: number;
};

/** A figure of all runs. */
export type TrendFigure = {
  /** `p99`. */
  name: string;
  /** `ns`, `1/s` or `share`. */
  unit: string;
  /** Values by run; `null`: a run does not have it. */
  values: Array<number | null>;
  /** The parts between changes; one part if there are none. */
  parts: Array<TrendPart>;
};

/** Consecutive runs in which a figure scatters around one value. */
export type TrendPart = {
  /** First run of the part. */
  from: number;
  /** Last run of the part. */
  to: number;
  /** The median of its values. */
  median: number;
  /** The p-value of the change that it begins with; `null` of the first part. */
  p: number | null;
  /** The change as a share of the median before; `null` if that is 0. */
  change: number | null;
};

/** A run of a trend. */
export type TrendRun = {
  /** The id of its entry. */
  id: string;
  /** Path of the entry below the root. */
  path: string;
  /** When it started, milliseconds since the Unix epoch. */
  started_unix_ms: number;
  /** Note that somebody wrote about the run. */
  note: string | null;
};
