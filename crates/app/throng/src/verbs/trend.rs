//! `throng trend DIR`: where the figures of a scenario's runs have changed.

use compare::index::{self, Entry, Index, Kind};

use crate::args::TrendArgs;
use crate::exit::{Exit, Failure, print_text};
use crate::terminal;

pub(crate) fn trend(args: &TrendArgs) -> Result<Exit, Failure> {
    let cannot_list = |error: std::io::Error| {
        let message = format!("cannot list {}: {error}", args.directory.display());
        Failure::hinted(Exit::NoInput, message, "give a directory with runs")
    };
    // A trend has ended runs alone, which are what they are at any time.
    let listing = Index::new(&args.directory).list(0).map_err(cannot_list)?;
    let is_wanted = |entry: &&Entry| {
        entry.kind == Kind::Run && args.name.as_ref().is_none_or(|name| *name == entry.name)
    };
    // Newest first, and not all runs belong to a trend.
    let mut wanted = listing.entries.iter().filter(is_wanted);
    let found = wanted.find_map(|entry| index::trend(&listing.entries, &entry.id));
    let trend = found.ok_or_else(|| {
        let of = args.name.as_ref().map_or_else(String::new, |name| format!(" of {name}"));
        Failure::hinted(
            Exit::NoInput,
            format!("there is no finished run{of} below {}", args.directory.display()),
            "runs of experiments, duets and searches belong to no trend",
        )
    })?;
    let alarms = trend.alarms(args.recent as usize);
    if args.json {
        print_text(&report::trend_json(&trend, &alarms))?;
    } else if !args.quiet {
        print_text(&report::trend(&trend, &alarms, terminal::style()))?;
    }
    Ok(match alarms.is_empty() {
        false => Exit::Failed,
        true if trend.runs.len() < index::TREND_RUNS_MIN => Exit::Untrusted,
        true => Exit::Passed,
    })
}
