//! `throng compare RUN… [--baseline RUN…]`: runs as distributions, and a verdict for CI.

use std::path::{Path, PathBuf};

use compare::{
    Acceptance, CompareError, Comparison, Correction, Options, Primary, PublishedPipeline, Time,
    compare as compare_runs,
};
use record::Run;
use report::Page;

use crate::args::{CompareArgs, CorrectionArg, TimeArg};
use crate::exit::{Exit, Failure, print_text};
use crate::page;
use crate::terminal;

pub(crate) fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let candidates = open(&args.runs)?;
    let baselines = open(&args.baseline)?;
    let comparison = compare_runs(&candidates, &baselines, &options(args)).map_err(failure)?;
    if let Some(path) = &args.junit {
        write(path, &report::comparison_junit(&comparison))?;
    }
    if let Some(path) = &args.markdown {
        write(path, &report::comparison_markdown(&comparison))?;
    }
    if let Some(path) = &args.html {
        page::write(&Page::comparison(&comparison, page::VERSION), path)?;
    }
    print(args, &comparison)?;
    Ok(match comparison.verdict.acceptance() {
        Acceptance::Accepted => Exit::Passed,
        Acceptance::Rejected => Exit::Failed,
        Acceptance::Undecided => Exit::Untrusted,
    })
}

fn open(paths: &[PathBuf]) -> Result<Vec<Run>, Failure> {
    let opened = paths.iter().map(|path| Run::open(path));
    let opened: Result<Vec<Run>, _> = opened.collect();
    opened.map_err(|error| Failure::new(Exit::NoInput, error))
}

fn options(args: &CompareArgs) -> Options {
    let what = &args.what;
    let how = &args.how;
    let ns = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let mut quantiles = what.quantiles.clone();
    if let Primary::Quantile(q) = how.primary {
        quantiles.push(q);
    }
    quantiles.sort_by(f64::total_cmp);
    quantiles.dedup();
    Options {
        time: match what.time {
            TimeArg::Response => Time::Response,
            TimeArg::Service => Time::Service,
        },
        quantiles,
        primary: how.primary,
        alpha: how.alpha,
        tolerance: how.tolerance,
        correction: match how.correction {
            CorrectionArg::Holm => Correction::Holm,
            CorrectionArg::Bh => Correction::BenjaminiHochberg,
        },
        phase: what.phase.clone(),
        skip_ns: ns(what.skip),
        window_ns: what.window.map(ns),
        memory_bytes: how.memory,
        published: PublishedPipeline {
            window: how.filter_window as usize,
            sigmas: how.filter_sigmas,
            bin_ns: ns(how.bin) as f64,
        },
        detect: how.detect,
        strict: how.strict,
        allow_errors: how.allow_errors,
        only: None,
        force: what.force,
        seed: how.seed,
        curves: args.html.is_some(),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    record::write_whole(path, text.as_bytes()).map_err(|error| Failure::new(Exit::Io, error))
}

fn print(args: &CompareArgs, comparison: &Comparison) -> Result<Exit, Failure> {
    let text = if args.json {
        report::json(comparison)
    } else if args.quiet {
        return Ok(Exit::Passed);
    } else {
        report::comparison(comparison, args.full, terminal::style())
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
