//! Renders a run and its findings for people: the live screen, plain lines, the verdict, pages.
//!
//! Everything returns text or writes to the given writer; standard output belongs to the caller. All figures come
//! from `judge`, except those of the live view, which are sums over the last seconds.

mod analyze;
mod capacity;
mod compare;
mod csv;
mod duet;
mod experiment;
mod findings;
#[cfg(feature = "pages")]
pub mod html;
mod intervals;
mod json;
mod junit;
mod live;
mod markdown;
mod meters;
mod metrics;
// Tests look at all documents.
#[cfg(any(test, feature = "full"))]
pub mod model;
mod over_time;
mod page;
mod planned;
mod probes;
#[cfg(test)]
mod sample;
mod screen;
mod style;
mod sweep;
mod table;
mod times;
mod trend;
mod tsung;
mod verdict;

pub use self::compare::{comparison, comparison_junit, comparison_markdown};
pub use analyze::analysis;
pub use capacity::{capacity, recovers, trial};
pub use csv::{errors_csv, measures_csv, metrics_csv, probes_csv, series_csv};
pub use duet::{duet, duet_junit, duet_markdown};
pub use experiment::{experiment, experiment_claims_csv, experiment_means_csv};
pub use json::{json, run_json};
pub use junit::run_junit;
pub use live::{
    HeatColumn, Live, LiveMeasure, LiveState, RATE_WINDOW_NS, Stage, plain_line, rate_window,
};
pub use markdown::run_markdown;
pub use meters::meters;
pub use over_time::over_time;
pub use page::{LiveReport, Page, RunReport};
pub use planned::planned;
pub use probes::{probes, probes_json};
pub use screen::Screen;
pub use style::{COLUMNS, INDENT, Line, Style, Tone, visible, wrap};
pub use sweep::sweep;
pub use table::Table;
pub use trend::{trend, trend_json};
pub use tsung::{TsungLog, TsungRequest};
pub use verdict::{VerdictText, finding_lines, verdict};
