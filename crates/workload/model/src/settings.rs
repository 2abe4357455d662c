//! Settings of modelling.

use std::collections::HashSet;
use std::path::PathBuf;

use regex::bytes::Regex;

use crate::format::FormatSpec;
use crate::line_part::LinePart;

/// Recorded sessions of each segment in a model whose users follow a chain: examples.
const CHAIN_SEQUENCES: usize = 60;

/// Settings of modelling.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How its lines are written.
    pub format: FormatSpec,
    /// Meanings ([`MEANINGS`](crate::MEANINGS)) and the log's own names for them.
    pub fields: Vec<(String, String)>,
    /// The part of a line that identifies a user; `None`: address and agent, or the format's
    /// default.
    pub key: Option<LinePart>,
    /// The part of a line that separates segments; `None`: all sessions are in one.
    pub segment: Option<LinePart>,
    /// Maximum number of segments with a model of their own; the smaller ones share one.
    pub segments_max: usize,
    /// A user that did nothing for longer begins a new session, seconds; `None`: found in the log.
    pub gap_s: Option<f64>,
    /// Classes of requests by name, tried in this order on `METHOD target`; what none matches is
    /// grouped by path.
    pub rules: Vec<Rule>,
    /// Classes that paths are grouped to, at most.
    pub classes_max: usize,
    /// Lines of which this part matches are left out.
    pub without: Vec<LinePart>,
    /// Requests of robots are left out, and those of users that have far more than others have.
    pub without_robots: bool,
    /// The zone of times without one; `None`: UTC.
    pub zone: Option<String>,
    /// The share of lines that cannot be read above which there is no model. Of lines without a request, a tenth may
    /// be left out in any case.
    pub bad_max: f64,
    /// How users arrive; `None`: by the simplest process that the log does not reject.
    pub arrivals: Option<ArrivalProcess>,
    /// The behaviour of users.
    pub behaviour: Behaviour,
    /// Maximum number of recorded sessions of each segment that the scenario draws from; `None`: as many as it has room
    /// for.
    pub sequences_max: Option<usize>,
    /// Seed of all draws.
    pub seed: u64,
    /// Reading threads.
    pub threads: usize,
    /// Directory of temporary files; created and removed.
    pub scratch: PathBuf,
}

/// A class of requests by a regular expression on `METHOD target`; read from `NAME=REGEX`.
#[derive(Debug, Clone)]
pub struct Rule {
    pub(crate) name: String,
    matcher: Matcher,
}

/// Which texts `METHOD target` match a rule.
#[derive(Debug, Clone)]
enum Matcher {
    Pattern(Regex),
    /// Complete texts: targets may be longer than patterns can be.
    Texts(HashSet<Vec<u8>>),
}

impl Rule {
    /// A rule that exactly these texts `METHOD target` match.
    pub(crate) fn for_texts(name: String, texts: impl Iterator<Item = String>) -> Rule {
        Rule { name, matcher: Matcher::Texts(texts.map(String::into_bytes).collect()) }
    }

    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        match &self.matcher {
            Matcher::Pattern(pattern) => pattern.is_match(text),
            Matcher::Texts(texts) => texts.contains(text),
        }
    }
}

impl std::str::FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Rule, String> {
        let (name, pattern) =
            text.split_once('=').ok_or("expected NAME=REGEX, such as image=[.]png")?;
        if name.is_empty() {
            return Err("the name in front of = is missing".to_owned());
        }
        Ok(Rule {
            name: name.to_owned(),
            matcher: Matcher::Pattern(Regex::new(pattern).map_err(|error| error.to_string())?),
        })
    }
}

/// How users arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalProcess {
    /// A Poisson process of one rate.
    Poisson,
    /// A Poisson process whose rate follows the time of day.
    Cycle,
    /// As recorded, bin by bin.
    Trace,
}

/// Behaviour of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behaviour {
    /// A Markov chain of classes, with think times of each transition.
    Chain,
    /// Recorded sequences, drawn whole.
    Sequences,
}

impl Settings {
    /// Sessions of each segment that are kept as they were recorded.
    pub(crate) fn sequences_kept(&self) -> usize {
        match self.behaviour {
            Behaviour::Chain => CHAIN_SEQUENCES,
            Behaviour::Sequences => self.sequences_max.unwrap_or(usize::MAX),
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            format: FormatSpec::Detect,
            fields: Vec::new(),
            key: None,
            segment: None,
            segments_max: 40,
            gap_s: None,
            rules: Vec::new(),
            classes_max: 20,
            without: Vec::new(),
            without_robots: false,
            zone: None,
            bad_max: 0.01,
            arrivals: None,
            behaviour: Behaviour::Chain,
            sequences_max: None,
            seed: 1,
            threads: 1,
            scratch: std::env::temp_dir().join(format!("throng-model-{}", std::process::id())),
        }
    }
}
