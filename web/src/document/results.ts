// Written by `UPDATE=1 cargo test -p report --features full`, from the types in Rust: do not edit.

/** One result. */
export type Entry = {
  /** 16 hexadecimal digits that follow from its path. */
  id: string;
  /** The id of the experiment or search that contains it. */
  parent: string | null;
  /** Kind of the entry. */
  kind: EntryKind;
  /** The scenario's name, or its own. */
  name: string;
  /** Path of the entry below the root, for people. */
  path: string;
  /** Outcome of the entry. */
  state: EntryState;
  /** Further information as text; may be empty. */
  detail: string;
  /** Note that somebody wrote about the run. */
  note: string | null;
  /** When it started, milliseconds since the Unix epoch. */
  started_unix_ms: number | null;
  /** Duration of the run, or of the model's log. */
  seconds: number | null;
  /** Users that started; for a model the sessions of its log. */
  users: number | null;
  /** Operations per second; for a model sessions. */
  rate_per_s: number | null;
  /** Failed operations as a share of all, 0..=1. */
  error_share: number | null;
  /** The step with the percentiles: the one that users wait for most often. */
  step: string | null;
  /** Median response time of the step. */
  p50_ns: number | null;
  /** 99th percentile of the step's response time. */
  p99_ns: number | null;
  /** Percentiles above this share are lower bounds. */
  bound_above: number | null;
  /** Whether it can be compared with others. */
  comparable: boolean;
};

/** The kind of a result. */
export type EntryKind = 'run' | 'experiment' | 'duet' | 'search' | 'model' | 'page';

/** The outcome of a result. */
export type EntryState = 'measured' | 'passed' | 'failed' | 'untrusted' | 'imported' | 'running' | 'unfinished' | 'damaged' | 'done';

export type IndexDocument = {
  /** The kind of result, which decides how it is drawn. */
  kind: 'index';
  /** Version of the documents. */
  format: number;
  /** The version that made the page. */
  throng: string;
  root: string;
  /** Newest first. */
  entries: Array<Entry>;
  /** Directories that were left out, a sentence each. */
  omitted: Array<string>;
};
