//! The command line: one file a verb, arguments → library call → rendering → exit code.

mod args;
mod excerpt;
mod exit;
mod exports;
#[cfg(feature = "full")]
mod full;
#[cfg(not(feature = "full"))]
#[path = "absent/full.rs"]
mod full;
mod page;
#[cfg(feature = "quick")]
mod pages;
#[cfg(not(feature = "quick"))]
#[path = "absent/pages.rs"]
mod pages;
mod settings;
mod source;
mod systems;
mod terminal;
mod verbs;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use signal_hook::consts::SIGXFSZ;

use args::{Args, Verb};
use exit::{Exit, Failure};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let verb = std::env::args_os().nth(1).unwrap_or_default();
            return exit::usage(error, &verb.to_string_lossy());
        }
    };
    if args.verb.is_quiet() {
        exit::be_quiet();
    }
    // A file beyond the limit on sizes (`ulimit -f`) is then an error of its write, as on a full disk; without a handler
    // the signal ends the process.
    let handled = signal_hook::flag::register(SIGXFSZ, Arc::default());
    if let Err(error) = handled {
        return Failure::new(Exit::System, error).print().into();
    }
    if let Err(error) = machine::clock::read_environment() {
        return Failure::new(Exit::Usage, error).print().into();
    }
    let result = match args.verb {
        Verb::Run(args) => verbs::run::run(&args),
        Verb::Check(args) => verbs::check::check(&args),
        Verb::New(args) => verbs::new::new(&args),
        Verb::Try(args) => verbs::attempt::attempt(&args),
        Verb::Experiment(args) => verbs::experiment::experiment(&args),
        Verb::Schema { what } => verbs::schema::schema(what),
        Verb::Export(args) => verbs::export::export(&args),
        Verb::Show(args) => verbs::show::show(&args),
        Verb::Note(args) => verbs::note::note(&args),
        Verb::Ui(args) => verbs::ui::ui(&args),
        Verb::Compare(args) => verbs::compare::compare(&args),
        Verb::Duet(args) => verbs::duet::duet(&args),
        Verb::Trend(args) => verbs::trend::trend(&args),
        Verb::Analyze(args) => verbs::analyze::analyze(&args),
        Verb::Capacity(args) => verbs::capacity::capacity(&args),
        Verb::Serve(args) => verbs::serve::serve(args.system),
        Verb::Lab(args) => verbs::lab::lab(args.verb),
        Verb::Agent(args) => verbs::fleet::agent(&args),
        Verb::Fleet(args) => verbs::fleet::fleet(&args),
        Verb::Worker(args) => verbs::worker::worker(&args),
        Verb::Model(args) => verbs::model::model(&args),
        Verb::Import(args) => verbs::import::import(&args),
        Verb::Record(args) => verbs::record::record(&args),
        Verb::Reproduce(args) => verbs::reproduce::reproduce(&args),
        Verb::Probe(args) => verbs::probe::probe(&args),
        Verb::Protos(args) => verbs::protos::protos(&args),
        Verb::Meters(args) => verbs::meters::meters(&args),
        Verb::Doctor(args) => verbs::doctor::doctor(&args),
        Verb::Completions { shell } => verbs::completions::completions(shell),
        Verb::Man { directory } => verbs::man::man(&directory),
    };
    result.unwrap_or_else(Failure::print).into()
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
