//! `throng compare RUN… [--baseline RUN…]`: runs as distributions, and a verdict for CI.

use std::path::{Path, PathBuf};

use compare::{
    Acceptance, CompareError, Comparison, Correction, Options, Primary, PublishedPipeline,
    compare as compare_runs,
};
use record::Run;
use report::Page;

use crate::args::{CompareArgs, CorrectionArg, ResultArgs, nanoseconds};
use crate::exit::{Exit, Failure, print_text};
use crate::page;
use crate::terminal;

pub(crate) fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let candidates = open(&args.runs)?;
    let baselines = open(&args.baseline)?;
    let comparison = compare_runs(&candidates, &baselines, &options(args)).map_err(failure)?;
    let html = || Page::comparison(&comparison, page::VERSION);
    let junit = || report::comparison_junit(&comparison);
    let markdown = || report::comparison_markdown(&comparison);
    ResultTexts { junit: &junit, markdown: &markdown, html: &html }.write(&args.result)?;
    print(args, &comparison)?;
    Ok(accepted(comparison.verdict.acceptance()))
}

/// The exit code of what is accepted or not.
pub(super) fn accepted(acceptance: Acceptance) -> Exit {
    match acceptance {
        Acceptance::Accepted => Exit::Passed,
        Acceptance::Rejected => Exit::Failed,
        Acceptance::Undecided => Exit::Untrusted,
    }
}

/// How a result is written as files; each is made where it is wanted.
pub(super) struct ResultTexts<'a> {
    pub(super) junit: &'a dyn Fn() -> String,
    pub(super) markdown: &'a dyn Fn() -> String,
    pub(super) html: &'a dyn Fn() -> Page,
}

impl ResultTexts<'_> {
    /// Writes the files that are wanted.
    pub(super) fn write(&self, wanted: &ResultArgs) -> Result<(), Failure> {
        if let Some(path) = &wanted.junit {
            write(path, &(self.junit)())?;
        }
        if let Some(path) = &wanted.markdown {
            write(path, &(self.markdown)())?;
        }
        match &wanted.html {
            Some(path) => page::write(&(self.html)(), path),
            None => Ok(()),
        }
    }
}

fn open(paths: &[PathBuf]) -> Result<Vec<Run>, Failure> {
    let opened = paths.iter().map(|path| Run::open(path));
    let opened: Result<Vec<Run>, _> = opened.collect();
    opened.map_err(|error| Failure::new(Exit::NoInput, error))
}

fn options(args: &CompareArgs) -> Options {
    let what = &args.what;
    let how = &args.how;
    let common = what.times.options(&how.level);
    let mut quantiles = what.quantiles.clone();
    if let Primary::Quantile(q) = common.primary {
        quantiles.push(q);
    }
    quantiles.sort_by(f64::total_cmp);
    quantiles.dedup();
    Options {
        quantiles,
        tolerance: how.tolerance,
        correction: match how.correction {
            CorrectionArg::Holm => Correction::Holm,
            CorrectionArg::Bh => Correction::BenjaminiHochberg,
        },
        window_ns: what.window.map(nanoseconds),
        memory_bytes: how.memory,
        published: PublishedPipeline {
            window: how.filter_window as usize,
            sigmas: how.filter_sigmas,
            bin_ns: nanoseconds(how.bin) as f64,
        },
        detect: how.detect,
        strict: how.strict,
        only: None,
        force: what.force,
        seed: how.seed,
        curves: args.result.html.is_some(),
        ..common
    }
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    record::write_whole(path, text.as_bytes()).map_err(|error| Failure::new(Exit::Io, error))
}

fn print(args: &CompareArgs, comparison: &Comparison) -> Result<Exit, Failure> {
    let text = if args.result.json {
        report::json(comparison)
    } else if args.result.quiet {
        return Ok(Exit::Passed);
    } else {
        report::comparison(comparison, args.full, terminal::columns(), terminal::style())
    };
    print_text(&text)
}

fn failure(error: CompareError) -> Failure {
    let exit = match &error {
        CompareError::Judge(_) => Exit::NoInput,
        CompareError::Single | CompareError::TooMany(_) | CompareError::Twice(_) => Exit::Usage,
        CompareError::Unlike(_) | CompareError::NothingLeft { .. } | CompareError::NoMeasure => {
            Exit::Data
        }
    };
    Failure::new(exit, error)
}
