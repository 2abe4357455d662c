//! `throng serve ads`.

use std::io::Write;
use std::path::Path;

use ads::{
    self, AboveOne, AdsError, AdsOptions, LogFormat, PUBLISHERS_FILE_MAX, Publisher, Publishers,
    Report, ServerAddress, StoreAddress, Writes,
};

use server::{ServerError, Stop};

use super::addresses::given;
use super::{listening, processes, read_text, server_options, stop};
use crate::args::ads::{AboveOneArg, AdsArgs, LogFormatArg, WritesArg};
use crate::exit::{Exit, Failure};

pub(crate) fn ads(args: &AdsArgs) -> Result<Exit, Failure> {
    let mut options = options(args)?;
    if let Some((group, address)) = &args.process.process_of {
        options.server.listen = *address;
        options.group = Some(group.clone());
        let report = ads::run(options, Stop::SignalOrStdin, Box::new(listening)).map_err(failed)?;
        processes::report_end(&figures(report));
        return Ok(Exit::Passed);
    }
    let figures = match args.processes.unwrap_or(1) {
        0 | processes::OVER.. => {
            return Err(failed(ServerError::Options(processes::RULE).into()));
        }
        1 => figures(ads::run(options, stop(&args.listen), Box::new(listening)).map_err(failed)?),
        count => {
            let group = processes::group();
            options.group = Some(group.clone());
            options.check().map_err(failed)?;
            processes::run(
                &group,
                count.into(),
                options.server.listen,
                stop(&args.listen),
                processes::OnCrash::Stop,
                listening,
            )?
        }
    };
    let [served, events, records_lost, lines_dropped, connections_lost] = figures[..] else {
        return Ok(Exit::Passed);
    };
    if records_lost + lines_dropped + connections_lost > 0 || !args.listen.until_stdin_closes {
        let mut line = format!(
            "ads stopped: {served} ads served, {events} events, {records_lost} records lost, \
             {lines_dropped} log lines dropped"
        );
        if connections_lost > 0 {
            line += &format!(", {connections_lost} connections to store and cache lost");
        }
        report(&line);
    }
    Ok(Exit::Passed)
}

/// The options of the network.
fn options(args: &AdsArgs) -> Result<AdsOptions, Failure> {
    let mut options = AdsOptions::default();
    options.server = server_options(options.server, &args.listen, args.threads);
    options.ads = args.ads.unwrap_or(options.ads);
    options.short_list = args.short_list.unwrap_or(options.short_list);
    options.long_list = args.long_list.unwrap_or(options.long_list);
    options.long_share = args.long_share.unwrap_or(options.long_share);
    options.campaign_limit = args.campaign_limit.unwrap_or(options.campaign_limit);
    options.offers_max = args.offers.unwrap_or(options.offers_max);
    options.seed = args.seed.unwrap_or(options.seed);
    options.store_connections = args.store_connections.unwrap_or(options.store_connections);
    options.store_wait = args.store_wait.unwrap_or(options.store_wait);
    let wrong = |error| Failure::new(Exit::Usage, error);
    if let Some(store) = &args.store {
        options.store = Some(StoreAddress::parse(&given(store)?).map_err(wrong)?);
    }
    if let Some(cache) = &args.cache {
        options.cache = Some(ServerAddress::cache(&given(cache)?).map_err(wrong)?);
    }
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
    Ok(options)
}

fn failed(error: AdsError) -> Failure {
    match error {
        AdsError::Server(error) => super::failed(error),
        error => Failure::new(Exit::Unavailable, error),
    }
}

/// Final figures of a server; those of several processes are added up.
fn figures(report: Report) -> Vec<u64> {
    vec![
        report.served,
        report.events,
        report.records_lost,
        report.lines_dropped,
        report.connections_lost,
    ]
}

fn publishers(path: &Path, above_one: AboveOneArg) -> Result<Vec<Publisher>, Failure> {
    let name = path.display();
    let text = read_text(path, PUBLISHERS_FILE_MAX, "--publishers expects a CSV file")?;
    let above_one = match above_one {
        AboveOneArg::Refuse => AboveOne::Refuse,
        AboveOneArg::TakeAsOne => AboveOne::TakeAsOne,
    };
    let found = Publishers::read(&text, above_one).map_err(|error| {
        Failure::hinted(Exit::Data, format!("{name}, {error}"), "docs/ads.md describes the file")
    })?;
    for repair in &found.repairs {
        report(&format!("{name}, {repair}"));
    }
    Ok(found.list)
}

/// A line for people, which may find nobody.
fn report(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
