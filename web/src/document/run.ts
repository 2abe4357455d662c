// Written by `UPDATE=1 cargo test -p report --features full`, from the types in Rust: do not edit.

/** A bin of a histogram. */
export type Bin = {
  /** Lower edge, in nanoseconds. */
  from_ns: number;
  /** Upper edge, in nanoseconds. */
  to_ns: number;
  /** Number of response times in the bin. */
  count: number;
};

/** The course of a run, slot by slot. */
export type Course = {
  /** Length of a slot in seconds; slot `i` begins at `i · slot_s`. */
  slot_s: number;
  /** Number of slots. */
  slots: number;
  /** Length of a column of the heat maps in seconds. */
  heat_slot_s: number;
  /** The columns of the run's seconds, without those that were 0 throughout. */
  seconds: Array<Track>;
  /** The measures with the most operations, and the one in focus, in the order of the run's list. */
  measures: Array<MeasureCourse>;
  /** Number of further measures, which are left out. */
  measures_left_out: number;
  /** Seconds between two points of a line of few points. */
  line_slot_s: number;
  /** Lines of few points, of more measures than those above; those of several regions also as one. */
  lines: Array<StepLine>;
  /** Failures by step, kind and detail, the most frequent first. */
  errors: Array<ErrorTrack>;
  /** Number of further failures, which are left out. */
  errors_left_out: number;
  /** The values of the probes. */
  probes: ProbeLines;
};

/** A line of `samples.jsonl`: one failure as its user saw it. Secrets are removed, and texts are bounded. */
export type ErrorSample = {
  /** When it failed, since the run's start. */
  at_ns: number;
  /** Index into `RunInfo::measures`; `null`: the step is no operation. */
  measure?: number | null;
  /** The step that is no operation. */
  own_step?: string | null;
  /** `crate::Outcome::name`. */
  kind: string;
  /** As in `ErrorCount::detail`. */
  detail?: string | null;
  /** The number of the user. */
  user: number;
  /** The failure in words. */
  text: string;
  /**
   * The request's method and path, without its query, such as `GET /cart`; what was computed or drawn for it is `…`.
   * `null` if there was none.
   */
  request?: string | null;
  /** The answer's status line, or another protocol's code. */
  status?: string | null;
  /** The answer's headers, by name. */
  headers?: Array<[string, string]>;
  /** The first 2 KiB of the answer's body, with what is no UTF-8 replaced. */
  body?: string | null;
};

/** Failures of one kind with one detail at one step, over time. */
export type ErrorTrack = {
  /** Name of the step's measure; of a step that is no operation the step, with its line in the scenario. */
  step: string;
  /** Name of the outcome. */
  kind: string;
  /** A status code, a close code, the check that failed; `null`: the kind says all, or the record does not say more. */
  detail: string | null;
  /** Number of failures. */
  count: number;
  /** Failures a second, by slot; empty but for the twelve most frequent. */
  per_s: Array<number>;
  /** Failures a second in the points of the lines of steps: of several slots the mean. */
  line: Array<number>;
};

/** One of the first errors of a kind. */
export type Example = {
  at_s: number;
  measure: string;
  outcome: string;
  detail: string;
};

/** Failures of one kind with one detail at one step. */
export type Failure = {
  step: string;
  /** The names of its rows among the steps, and of its lines in the course. */
  rows: Array<string>;
  kind: string;
  /** A status code, a close code, the check that failed; `null`: the kind says all. */
  detail: string | null;
  count: number;
  /** `count` by the operations of the step that succeeded or failed, 0..=1; `null` if the step is no operation. */
  share: number | null;
  /** When the first and the last failed; `null` if the record does not say. */
  first_s: number | null;
  last_s: number | null;
  /** `count` by phase; empty if the record does not say. */
  by_phase: Array<number>;
  /** Failures a second, in the points of `Course::lines`; empty if the record does not say. */
  line: Array<number>;
  samples: Array<ErrorSample>;
};

/** The failures of a run. */
export type Failures = {
  /** The most frequent first. */
  list: Array<Failure>;
  /** Number of further ones. */
  left_out: number;
  /** Number of samples that only the record has. */
  samples_left_out: number;
};

/** A sentence with a figure, its evidence and what it means. */
export type Finding = {
  /** How grave it is. */
  severity: Severity;
  /** Stable, for machines: `generator-healthy`, `generator-cpu`, `generator-files`, …. */
  code: string;
  /** For people. */
  text: string;
  /** Figures behind it by name. */
  evidence: Record<string, number>;
};

/** The place of a finding in a report. */
export type FindingPlace = 'broke' | 'limit' | 'more' | 'nowhere';

/** The step that the first figures are of. */
export type Focus = {
  name: string;
  reason: FocusReason;
  count: number;
  errors: number;
  /** `null`: it has no response times. */
  totals: StepTotals | null;
};

/** Why a step is shown first. */
export type FocusReason = 'threshold' | 'errors' | 'slowest';

/** The generator's own state. */
export type HealthSummary = {
  /** Median of the lag of all operations. */
  lag_p50_ns: number;
  /** 99th percentile of the lag. */
  lag_p99_ns: number;
  /** Greatest lag. */
  lag_max_ns: number;
  /** Mean over the run of the busiest loop's share of a core. */
  loop_busy_mean: number;
  /** Greatest share of a core in any interval. */
  loop_busy_max: number;
  /** CPU time of the process. */
  cpu_process_ns: number;
  /** Time the loops' threads were ready but another ran on their core. */
  cpu_wait_ns: number;
  /** Greatest resident memory of the process. */
  rss_peak_bytes: number;
  /** Share of rows kept in `requests.parquet`, 0..=1. */
  rows_kept: number;
  /** TCP segments that the host retransmitted. */
  host_retransmits: number;
  /** Connections that the host dropped at full accept queues. */
  host_listen_drops: number;
  /** SYNs that the host retransmitted. */
  host_syn_retransmits: number;
  /** Packets that the host dropped at full packet queues. */
  host_packet_drops: number;
  /** How often TCP began to save memory. */
  host_memory_pressures: number;
  /** Connections that the host aborted for lack of TCP memory. */
  host_memory_aborts: number;
};

/** A time that stands out on the axes of time. */
export type Highlight = {
  name: string;
  kind: HighlightKind;
  from_s: number;
  /** `null`: to the end. */
  to_s: number | null;
};

/** The reason why a time stands out. */
export type HighlightKind = 'pause' | 'fault' | 'incident';

/** A step within some time. */
export type IncidentFigures = {
  /** Operations that succeeded or failed. */
  operations: number;
  /** Those of them that failed. */
  errors: number;
  /** Operations that began and had no answer. */
  unanswered: number;
  /** Median of the response times of successes; `null`: there were none. */
  p50_ns: number | null;
  /** The 90th percentile of them. */
  p90_ns: number | null;
  /** `operations` by second. */
  per_s: number;
};

/** In what a step was worse. */
export type IncidentKind = 'errors' | 'unanswered' | 'response' | 'throughput';

/** How the interval of a percentile was found. */
export type IntervalMethod = 'order_statistics' | 'effective_size';

/** Why an end of an interval is not determined. */
export type IntervalMissing = 'few' | 'short' | 'dependent' | 'unanswered';

/**
 * A measure's response times over time and as a distribution, of all operations: nanoseconds; `null` where
 * there were none. Percentiles that fall among operations that were never answered are lower bounds.
 */
export type MeasureCourse = {
  /** Name of the measure, as in `run.json`. */
  name: string;
  /** Kind of the measure, as in `run.json`. */
  kind: string;
  /** Operations that succeeded. */
  count: number;
  /** Operations that succeeded per second, by slot; `null` if the last slot is too short to have a rate. */
  per_s: Array<number | null>;
  /** Median by slot. */
  p50: Array<number | null>;
  /** 95th percentile by slot. */
  p95: Array<number | null>;
  /** 99th percentile by slot. */
  p99: Array<number | null>;
  /** 99.9th percentile by slot. */
  p999: Array<number | null>;
  /** Greatest by slot. */
  max: Array<number | null>;
  /** Counts of answered operations by time and latency: column, row, count. Row `r` holds times from `10^(r/10)` on. */
  heat: Array<[number, number, number]>;
  /** The distribution of response times, by bin. */
  bins: Array<Bin>;
  /** The distribution function, as far as it is known. */
  response: Array<[number, number]>;
};

/**
 * Figures of a metric of the scenario's own. Those that its kind does not have, or that nothing was recorded for, are left
 * out.
 */
export type MetricSummary = {
  /** As the scenario calls it. */
  name: string;
  /** `counter`, `gauge`, `share` or `quantity`. */
  kind: 'counter' | 'gauge' | 'share' | 'quantity';
  /** Behind its numbers, for people; may be empty. */
  unit: string;
  /** How often it was recorded. */
  count: number;
  /** The sum of a counter or of quantities. */
  sum?: number | null;
  /** The sum of a counter by second of the planned load. */
  rate_per_s?: number | null;
  /** How often a share was true, of all times; 0..=1. */
  share?: number | null;
  /** The last number of a gauge. */
  last?: number | null;
  /** The mean of quantities. */
  mean?: number | null;
  /** The least number of a gauge or quantity. */
  min?: number | null;
  /** The median of quantities, as the others that follow. */
  p50?: number | null;
  /** The 95th percentile. */
  p95?: number | null;
  /** The 99th percentile. */
  p99?: number | null;
  /** The greatest number of a gauge or quantity. */
  max?: number | null;
};

/** The confidence interval, at 95 %, of a percentile. */
export type PercentileInterval = {
  /** The percentile, in 0..1. */
  share: number;
  /** How it was found; `null` where no method applies. */
  method?: IntervalMethod | null;
  /** How many independent operations would show as much. */
  effective?: number | null;
  /** The lower end; `null`: not determined. */
  low_ns: number | null;
  /** The upper end; `null`: not determined. */
  high_ns: number | null;
  /** True if the upper end is only known to be at least `high_ns`, since operations were never answered. */
  high_is_bound?: boolean;
  /** Why an end is not determined. */
  missing?: IntervalMissing | null;
};

export type Phase = {
  name: string;
  kind: string;
  start_s: number;
  end_s: number;
  users_planned: number;
  users_started: number | null;
};

/** The values of one probe. */
export type ProbeLine = {
  /** Seconds since the run's start; before it where negative. */
  at_s: Array<number>;
  /** Mean of the values from that time until the next; `null` where values are missing. */
  mean: Array<number | null>;
  /** Least of these values; empty if nothing was thinned. */
  min?: Array<number | null>;
  /** Greatest of these values; empty if nothing was thinned. */
  max?: Array<number | null>;
  /** Role of the source in the system: `servers`, `redis`, `mysql`, `host`, …. */
  role: string;
  /** Region of the source; may be empty. */
  region: string;
  /** The source's own name, as an address. */
  source: string;
  /** The metric, as the source names it. */
  metric: string;
  /** Unit of the metric: `%`, `B`, `B/s`, `s`, `1`, `1/s`, `s/s`, …. A counter is recorded as its rate. */
  unit: string;
  /** How the source was queried: `host`, `process`, `redis`, …; empty if that is not known. */
  via: string;
};

/** The lines of all probes. */
export type ProbeLines = {
  /** The lines in the order of the record. */
  lines: Array<ProbeLine>;
  /** Number of further probes with values, which are left out. */
  left_out: number;
};

/** How far a percentile may lie from the true one, at 95 %; nanoseconds. */
export type Range = {
  low: number | null;
  high: number | null;
  /** True if the upper end is a lower bound. */
  is_bound?: boolean;
  /** Why an end is missing. */
  missing?: IntervalMissing | null;
};

/** The clients of one region. */
export type Region = {
  name: string;
  clients: number;
  unreachable: number;
  users_planned: number;
  connected: number;
  failed: number;
};

export type RunDocument = {
  /** The kind of result, which decides how it is drawn. */
  kind: 'run';
  /** Version of the documents. */
  format: number;
  /** The version that made the page. */
  throng: string;
  run: RunHead;
  verdict: RunVerdict;
  totals: Totals;
  /** The step that the first figures are of. */
  focus: Focus | null;
  missing: Array<string>;
  findings: Array<Finding>;
  /** The place of each of them, in the same order. */
  places: Array<FindingPlace>;
  thresholds: Array<ThresholdResult>;
  failures: Failures;
  /** The gravest first. */
  incidents: Array<RunIncident>;
  incidents_left_out: number;
  users: UsersSummary;
  health: HealthSummary;
  phases: Array<Phase>;
  highlights: Array<Highlight>;
  /** The steps: those of the complete run first, the worst of them first. */
  steps: Array<Step>;
  steps_left_out: number;
  /** The requests with a tag taken as one, each. */
  tags: Array<Step>;
  /** The scenario's own metrics; left out if it has none. */
  metrics?: Array<MetricSummary>;
  course: Course;
  examples: Array<Example>;
  regions: Array<Region>;
};

export type RunHead = {
  id: string;
  name: string;
  target: string;
  status: RunStatus;
  /** As text: it may exceed the range of a number in JavaScript. */
  seed: string;
  started_unix_ms: number;
  ended_s: number;
  mode: string;
  loops: number;
  cores: number;
  workers: number;
  lag_max_ns: number;
  overrides: Array<string>;
  host: Record<string, string>;
};

/** An incident with the names of what it is drawn in. */
export type RunIncident = {
  /** The names of its rows among the steps, and of its lines in the course. */
  rows: Array<string>;
  /** The step's name. */
  step: string;
  /** The tag whose operations were worse, if others of its key were not: `region=sydney`. */
  tag: string | null;
  /** In what it was worse, the clearest first. */
  kinds: Array<IncidentKind>;
  /** The window's begin, since the run's start. */
  begin_ns: number;
  /** The window's end. */
  end_ns: number;
  /** True if it had not ended when the load ended. */
  to_the_end: boolean;
  /** The step outside of the step's incidents. */
  usual: IncidentFigures;
  /** The step in the window. */
  during: IncidentFigures;
  /** Whatever else began, ended or was at its limit then, in words, the nearest first. */
  beside: Array<string>;
  /** The incident in one sentence: "checkout: p50 8 ms → 401 ms, 30 % failed, from 0:15 to 0:25 (82 of 273)". */
  text: string;
};

/** The status of a run. */
export type RunStatus = 'running' | 'complete' | 'interrupted' | 'aborted' | 'until' | 'failed';

/** The verdict on a run, or what is known instead of one. */
export type RunVerdict = 'measured' | 'passed' | 'failed' | 'untrusted' | 'imported' | 'running' | 'paused' | 'stopping';

/** Why a session did not reach the end of its program. */
export type SessionEnd = 'failed' | 'stopped' | 'cut_off';

/** How grave a finding is, least first. */
export type Severity = 'good' | 'note' | 'warning' | 'fatal';

/** A measure over the run, or in one phase. */
export type Step = {
  /** Index of the phase; `null`: the complete run. */
  phase: number | null;
  name: string;
  kind: string;
  count: number;
  rate_per_s: number;
  errors: number;
  errors_by_kind: Record<string, number>;
  /** True if a threshold on it does not hold: in the complete run one for any phase, in a phase one for this phase. */
  breaks_threshold: boolean;
  /** Operations among the response times that were never answered. */
  unanswered: number;
  /** Percentiles of `response` above this share are lower bounds. */
  bound_above: number | null;
  /** Mean, min, p50, p90, p95, p98, p99, p99.9 and max; nanoseconds. So are `service` and `lag`. */
  response: [number, number, number, number, number, number, number, number, number] | null;
  /** Intervals of the percentiles of `response`, p50 to p99.9; empty if the record does not say. */
  intervals: Array<Range>;
  service: [number, number, number, number, number, number, number, number, number] | null;
  lag: [number, number, number, number, number, number, number, number, number] | null;
};

/** A measure's response times over time, of all operations, in few points. */
export type StepLine = {
  /** Name of the measure, as in `run.json`, or that of the same measure over all regions. */
  name: string;
  /** The 95th percentile by slot, of several slots the greatest: nanoseconds; `null` where there were no operations. */
  p95: Array<number | null>;
};

/** The response times of one step. */
export type StepTotals = {
  /** The name of its measure. */
  name: string;
  /** Median. */
  p50_ns: number;
  /** 95th percentile. */
  p95_ns: number;
  /** 99th percentile. */
  p99_ns: number;
  /** Percentiles above this share are lower bounds. */
  bound_above: number | null;
};

/** One threshold's outcome. */
export type ThresholdResult = {
  /** As written in the scenario. */
  text: string;
  /** True if it holds. */
  passed: boolean;
  /** In the figure's base unit; `null`: nothing was measured, which fails. */
  value: number | null;
  /** True if the figure is only known to be at least `value`. */
  is_bound?: boolean;
  /** The value for people, as `31.2 ms`. */
  shown: string;
  /** Confidence interval of the figure, if it is a percentile. */
  interval?: PercentileInterval | null;
  /** True if the limit lies within that interval: another run like this one may come to the other result. */
  within_interval?: boolean;
};

/** The first figures of a run. */
export type Totals = {
  /** Operations of steps that ended, successful or failed. */
  operations: number;
  /** Operations of steps that failed, and `own_failures`. */
  errors: number;
  /** Failures that are no operation's: steps, conditions, times and meetings that failed of themselves. */
  own_failures: number;
  /** `errors` as a share of `operations` and `own_failures`, 0..=1; `null`: there were none. */
  error_share: number | null;
  /** Operations of steps that the end of the run interrupted: begun, and neither successful nor failed. */
  unfinished: number;
  /** Operations of steps that were due while load was planned, by second of that time. `null` if the record does not say. */
  offered_per_s: number | null;
  /** Operations of steps that began in that time, by second of it; `null` if the record does not say. */
  begun_per_s: number | null;
  /** Operations of steps that the target answered in that time, by second of it; `null` if it is not known when that was. */
  completed_per_s: number | null;
  /** Operations of steps that it answered after that time, in the drain. */
  drained: number;
  /** Response times of the step that users wait for most often. */
  step: StepTotals | null;
};

/** One column over time; `null` where nothing was recorded. */
export type Track = {
  /** Name of the column, as in `series.parquet`. */
  name: string;
  /** Mean of the slot. */
  mean: Array<number | null>;
  /** Least of its seconds; empty where a slot is one second. */
  min?: Array<number | null>;
  /** Greatest of its seconds; empty where a slot is one second. */
  max?: Array<number | null>;
};

/** Sessions that did not reach the end of their program, of one kind. */
export type UnfinishedSessions = {
  /** Index into `RunInfo::sessions`. */
  session: number;
  /** Index into `RunInfo::measures`: the step that the sessions were in, or would have come to next. */
  step: number | null;
  /** State of their users. */
  state: UserState;
  /** Why they ended. */
  end: SessionEnd;
  /** `crate::Outcome::name` of the failure that ended them; `null`: they were cut off, or the record does not say. */
  outcome: string | null;
  /** The step that failed, if it is no operation and has no measure: "`set` of `code`". */
  own_step: string | null;
  /** How many. */
  users: number;
};

/** The state of a user when its session ends. */
export type UserState = 'thinking' | 'connecting' | 'retrying' | 'waiting' | 'working';

/** Users over the complete run. */
export type UsersSummary = {
  /** Users the plan starts; the expected number if arrivals are random. */
  planned: number;
  /**
   * Users that fell due before the end, each once: those that started, and those of `refused`, `paused` and
   * `unstarted`. Whoever is refused and tries again is in `refused` each time. `null` in records that do not say so.
   */
  due?: number | null;
  /** Users that were due in a pause of arrivals and never started. */
  paused: number;
  /** Users that did start, each once. */
  started: number;
  /** Their sessions: more than users if a closed population restarts them. */
  sessions: number;
  /** Not started for lack of files, ports or memory. */
  refused: number;
  /** Users whose first connection was made. */
  connected: number;
  /** Sessions that came to the end of their program. */
  finished: number;
  /** Sessions that ended because a step failed. */
  failed: number;
  /** Sessions that ended because the generator had no file, port or memory for a step. */
  stopped: number;
  /** Sessions that were cut off at the end of the run. */
  cut_off: number;
  /** Users that were due before the end and had not started by then. */
  unstarted: number;
  /** Places of the sessions that did not come to their end. */
  endings: Array<UnfinishedSessions>;
  /** Largest number at once. */
  peak: number;
  /** Users that were there when their worker was lost. They count as started, and not as connected. */
  lost: number;
  /** Users that never came since their worker was lost before they were due. */
  never_came: number;
  /** Users that other workers had to start since theirs was lost before they were due. */
  dealt?: number;
};
