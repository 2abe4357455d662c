//! `throng serve ads`.

use std::io::Write;
use std::path::Path;

use targets::ads::{
    self, AboveOne, AdsError, AdsOptions, LogFormat, PUBLISHERS_FILE_MAX, Publisher, Publishers,
    Writes,
};

use super::{listening, stop};
use crate::args::ads::{AboveOneArg, AdsArgs, LogFormatArg, WritesArg};
use crate::exit::{Exit, Failure};

pub(super) fn ads(args: &AdsArgs) -> Result<Exit, Failure> {
    let mut options = AdsOptions::default();
    options.listen = args.listen.listen;
    options.threads = args.threads.unwrap_or(options.threads);
    options.ads = args.ads.unwrap_or(options.ads);
    options.short_list = args.short_list.unwrap_or(options.short_list);
    options.long_list = args.long_list.unwrap_or(options.long_list);
    options.long_share = args.long_share.unwrap_or(options.long_share);
    options.campaign_limit = args.campaign_limit.unwrap_or(options.campaign_limit);
    options.offers_max = args.offers.unwrap_or(options.offers_max);
    options.seed = args.seed.unwrap_or(options.seed);
    options.store.clone_from(&args.store);
    options.access_log.clone_from(&args.access_log);
    options.writes = match args.writes {
        WritesArg::Sync => Writes::Sync,
        WritesArg::Async => Writes::Async,
    };
    options.log_format = match args.log_format {
        LogFormatArg::Combined => LogFormat::Combined,
        LogFormatArg::Json => LogFormat::Json,
    };
    if let Some(path) = &args.publishers {
        options.publishers = Some(publishers(path, args.above_one)?);
    }
    let report = ads::run(options, stop(&args.listen), listening).map_err(|error| {
        let exit = match error {
            AdsError::Options(_) => Exit::Usage,
            _ => Exit::Unavailable,
        };
        Failure::new(exit, error)
    })?;
    if report.records_lost + report.lines_dropped > 0 || !args.listen.until_stdin_closes {
        tell(&format!(
            "ads stopped: {} ads served, {} events, {} records lost, {} log lines dropped",
            report.served, report.events, report.records_lost, report.lines_dropped,
        ));
    }
    Ok(Exit::Passed)
}

fn publishers(path: &Path, above_one: AboveOneArg) -> Result<Vec<Publisher>, Failure> {
    let read = || {
        let length = std::fs::metadata(path)?.len();
        if length > PUBLISHERS_FILE_MAX as u64 {
            let problem = format!("it has more than {PUBLISHERS_FILE_MAX} bytes");
            return Err(std::io::Error::other(problem));
        }
        std::fs::read_to_string(path)
    };
    let name = path.display();
    let text = read().map_err(|error| {
        Failure::hinted(
            Exit::NoInput,
            format!("cannot read {name}: {error}"),
            "--publishers wants a CSV file",
        )
    })?;
    let above_one = match above_one {
        AboveOneArg::Refuse => AboveOne::Refuse,
        AboveOneArg::TakeAsOne => AboveOne::TakeAsOne,
    };
    let found = Publishers::read(&text, above_one).map_err(|error| {
        Failure::hinted(
            Exit::Data,
            format!("{name}, {error}"),
            "docs/ads.md tells what the file holds",
        )
    })?;
    for repair in &found.repairs {
        tell(&format!("{name}, {repair}"));
    }
    Ok(found.list)
}

/// A line for people, which may find nobody.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
