//! The scenario that an importer drafts, and the rule that none is written that `check` refuses.

use std::ops::Range;

use scenario::document::{Diagnostic, Severity, Source};

use crate::Conversion;
use crate::diagnostics::Diagnostics;
use crate::secrets::Secrets;
use crate::template::literal;
use crate::writer::{Item, Line, Map, Writer};

/// How long the last user gets to finish beyond its pauses.
const FINISH_S_MIN: f64 = 60.0;
/// Texts of files that a scenario names, or why they cannot be read.
pub(crate) type Files<'f> = &'f dyn Fn(&str) -> Result<String, String>;

/// A scenario without its text.
#[derive(Debug)]
pub(crate) struct Draft {
    /// Lines of the comment at its beginning.
    pub(crate) comments: Vec<String>,
    pub(crate) top: Map,
}

impl Draft {
    /// The text, if the scenario's own check accepts it. What it reports is reported at its place in the original.
    pub(crate) fn finish(
        self,
        secrets: &Secrets,
        files: Files<'_>,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Option<Conversion> {
        secrets.report(diagnostics);
        let mut writer = Writer::default();
        for comment in self.comments.iter().chain(&secrets.comment()) {
            writer.comment(&(0..0), 0, comment);
        }
        writer.map(&self.top, 0);
        let converted = Conversion { text: writer.text, lines: writer.lines, requests: Vec::new() };
        let problems = problems(&converted, files, &|name| Some(secrets.stand_in(name)));
        for problem in &problems {
            let at = converted.origin(problem.line).unwrap_or(0..0);
            let message = format!("what this becomes cannot run: {}", problem.message);
            diagnostics.error("refused", at, message).hint_some(problem.hint.clone());
        }
        problems.is_empty().then_some(converted)
    }
}

/// Errors that the check of scenarios finds in a converted one. `env` has the variables of the environment.
pub fn problems(
    converted: &Conversion,
    files: &dyn Fn(&str) -> Result<String, String>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Vec<Diagnostic> {
    let settings = scenario::Settings { overrides: &[], env, files };
    let source = Source { name: "converted.yaml", text: &converted.text };
    let (_, mut diagnostics) = scenario::compile(source, &settings);
    diagnostics.retain(|diagnostic| diagnostic.severity == Severity::Error);
    diagnostics
}

/// The name of a file without its folder and its ending.
pub(crate) fn stem(name: &str) -> &str {
    let file = file_name(name);
    match file.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => file,
    }
}

/// The name of a file without its folder.
pub(crate) fn file_name(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// A scenario's first keys.
pub(crate) fn head(name: &str, target: &str, at: &Range<usize>) -> Map {
    Map::new(at.clone())
        .with("name", Item::Text(literal(name)))
        .with("target", Item::Text(target.to_owned()))
}

/// Arrivals for a file that does not say how many users there are; `length_s`: the length of a session's pauses.
pub(crate) fn arrivals(what: &str, length_s: f64) -> Item {
    let rate = Map::single(0..0, "constant", Item::Bare("1/s".to_owned()))
        .with("for", Item::Bare("1m".to_owned()))
        .comment(format!("{what} does not say how many users arrive: choose the rate here."));
    let hold_s = (length_s + FINISH_S_MIN).ceil();
    let finish = Map::single(0..0, "hold", Item::Bare(format!("{hold_s}s")))
        .with("until", Item::Text("done".to_owned()));
    Item::List(vec![rate, finish])
}

/// The threshold of a file that has none.
pub(crate) fn thresholds() -> Item {
    let errors = Line::new("error_rate < 1%").comment("What must hold for a run to pass: edit it.");
    Item::Lines(vec![errors])
}
