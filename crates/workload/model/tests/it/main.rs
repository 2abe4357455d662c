//! Logs whose crowd is known, and what is made of them.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail their test")]

mod arrivals;
mod corpus;
mod formats;
mod hours;
mod line_problems;
mod load;
mod option_checks;
mod real;
mod segments;
mod sequences;
mod truth;
mod tsung;

use std::path::PathBuf;

use model::{BuiltModel, ModelError, Settings};

/// A log in a directory of its own, and settings that keep all there.
pub(crate) struct Space(tempfile::TempDir);

impl Space {
    pub(crate) fn new() -> Space {
        Space(tempfile::tempdir().unwrap())
    }

    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings { scratch: self.0.path().join("sorting"), threads: 2, ..Settings::default() }
    }

    pub(crate) fn model(
        &self,
        log: impl AsRef<[u8]>,
        settings: &Settings,
    ) -> Result<BuiltModel, ModelError> {
        model::from_logs(&[self.file("access.log", log)], settings)
    }
}

/// A line of a combined log, this number of seconds after the 17th of May 2015, 10:00 UTC.
pub(crate) fn line(second: u64, address: &str, request: &str) -> String {
    let minute = second / 60;
    let second = second % 60;
    let hour = 10 + minute / 60;
    let minute = minute % 60;
    let day = 17 + hour / 24;
    let hour = hour % 24;
    format!(
        "{address} - - [{day}/May/2015:{hour:02}:{minute:02}:{second:02} +0000] \"{request} HTTP/1.1\" 200 5 \"-\" \"agent\"\n"
    )
}

/// What `throng check` would say of the scenario.
#[track_caller]
pub(crate) fn compiled(made: &BuiltModel) -> plan::Plan {
    let text = made.scenario();
    let files = |name: &str| {
        let found = made.files().find(|(file, _)| file == name);
        found.map(|(_, text)| text).ok_or(format!("no file {name}"))
    };
    let source = scenario::Source { name: "scenario.yaml", text: &text };
    let settings = scenario::Settings { overrides: &[], env: &|_| None, files: &files };
    let (plan, diagnostics) = scenario::compile(source, &settings);
    assert!(diagnostics.is_empty(), "{}\n{text}", scenario::render(&diagnostics, source));
    plan.unwrap()
}

/// All of a model's time, with as many users.
pub(crate) fn whole(model: &model::Model) -> model::SimulatedSpan {
    model::SimulatedSpan { seconds: model.arrivals.span_s, users: 1.0 }
}
