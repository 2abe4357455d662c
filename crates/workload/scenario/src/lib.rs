//! Scenarios and experiments, checked with diagnostics and compiled to plans.
//!
//! [`compile`] reads a scenario's text: [`crate::document::yaml`] makes a tree of it that remembers places
//! ([`crate::document::node`]), `include` adds to it what other files have, `overrides` changes it, `check` turns it into a [`plan::Plan`]. What keys there are
//! is said once, in the module `keys`; unknown-key checks, [`schema`] and the tables of `docs/scenario-reference.md`
//! follow from it. [`mod@experiment`] reads experiments by the same means. The crate does no I/O: texts of files and of the environment are handed in.

mod check;
pub mod document;
pub mod experiment;
pub mod expression;
pub mod keys;
mod load_setting;
mod overrides;
mod schema;
mod tables;
mod url;

use crate::document::yaml;
use units::parse;

pub use crate::document::{Diagnostic, Severity, Source, render};
pub use crate::expression::is_name;
pub use crate::schema::{experiment_schema, schema};
pub use crate::tables::{experiment_reference, reference};
pub use check::{
    BINARY, CheckSystem, PROXY_VARIABLES, Settings, SystemPart, SystemProblem, USERS_MAX, compile,
    compile_checking, figure, is_token_byte, probes as probe_list,
};
pub use experiment::{Experiment, experiment};
pub use load_setting::{LoadSettingError, length_path, load_setting};
pub use url::{Load, UrlRun, UrlScenario, split_url, url_scenario};

/// The text that an override's value stands for, without quotes and escapes; `None` if it is none.
pub fn plain_text(value: &str) -> Option<String> {
    yaml::parse_value(value).text().map(str::to_owned)
}

/// A size as scenarios write it (`16MiB`), in bytes. The error says what was expected.
pub fn parse_size(text: &str) -> Result<u64, String> {
    parse::size(text).map_err(|error| format!("{error}; {}", error.hint))
}

/// A percentage as scenarios write it (`99.9%`), as a share of 1. The error says what was expected.
pub fn parse_share(text: &str) -> Result<f64, String> {
    parse::share(text).map_err(|error| format!("{error}; {}", error.hint))
}

/// A rate as scenarios write it (`120/s`, `30/min`), in events a second. The error says what was expected.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    parse::rate(text).map_err(|error| error.to_string())
}

/// A distribution of durations as scenarios write it (`20ms`, `10ms..30ms`, `exponential: 20ms`), in seconds. The
/// error says what was expected.
pub fn parse_distribution(text: &str) -> Result<stats::dist::Dist, String> {
    let settings = Settings {
        overrides: &[],
        env: &|_| None,
        files: &|_| Err("values must be written out here".to_owned()),
    };
    let (dist, diagnostics) = check::distribution(text, &settings);
    let problem = diagnostics.into_iter().find(|diagnostic| diagnostic.severity == Severity::Error);
    match (dist, problem) {
        (Some(dist), None) => Ok(dist),
        (_, Some(problem)) => Err(match problem.hint {
            Some(hint) => format!("{}; {hint}", problem.message),
            None => problem.message,
        }),
        (None, None) => Err("expected a duration or a distribution".to_owned()),
    }
}

/// A duration as scenarios write it (`250ms`, `1h30m`), in nanoseconds. The error says what was
/// expected.
pub fn parse_duration(text: &str) -> Result<u64, String> {
    let seconds = parse::duration(text).map_err(|error| error.to_string())?;
    parse::seconds_to_ns(seconds).ok_or_else(|| format!("{text} is too long"))
}
