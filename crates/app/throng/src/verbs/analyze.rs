//! `throng analyze RUN`: what happened within a run.

use judge::analyze::{AnalyzeError, Question};
use record::Run;

use crate::args::AnalyzeArgs;
use crate::exit::{Exit, Failure, print_text};
use crate::terminal;

pub(crate) fn analyze(args: &AnalyzeArgs) -> Result<Exit, Failure> {
    let run = Run::open(&args.run).map_err(|error| Failure::new(Exit::NoInput, error))?;
    let ns = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let question = Question {
        phase: args.phase.clone(),
        cut_ns: args.skip.map(ns),
        window_ns: args.window.map(ns),
        down: args.down,
    };
    let analysis = judge::analyze::analyze(&run, &question).map_err(failure)?;
    let text = if args.json {
        report::json(&analysis)
    } else {
        let directory = args.run.display().to_string();
        report::analysis(&analysis, &directory, terminal::columns(), terminal::style())
    };
    print_text(&text)
}

fn failure(error: AnalyzeError) -> Failure {
    let exit = match &error {
        AnalyzeError::Read(_) => Exit::NoInput,
        AnalyzeError::NoSeries
        | AnalyzeError::TooShort { .. }
        | AnalyzeError::TooLongSkip { .. } => Exit::Data,
        AnalyzeError::NoPhase { .. } | AnalyzeError::Window { .. } => Exit::Usage,
    };
    Failure::new(exit, error)
}
