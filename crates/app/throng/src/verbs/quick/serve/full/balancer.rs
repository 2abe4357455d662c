//! `throng serve balancer`.

use std::io::Write;
use std::path::PathBuf;

use balancer::fleet::Locality;
use balancer::policy::Kind;
use balancer::{
    BackendsError, BalancerError, BalancerOptions, Event, HealthOptions, LearnOptions, LogFormat,
    Source, Timeouts,
};

use super::{fleet, listening, server_options, stop};
use crate::args::ads::LogFormatArg;
use crate::args::balancer::{BalancerArgs, HealthArgs, WeightsArg};
use crate::exit::{Exit, Failure};

pub(crate) fn balancer(args: &BalancerArgs) -> Result<Exit, Failure> {
    let report =
        balancer::run(options(args)?, stop(&args.listen), Box::new(happened)).map_err(failed)?;
    if !args.listen.until_stdin_closes {
        say(&format!(
            "balancer stopped: {} requests, {} responses cut off by backends, {} log lines dropped",
            report.requests, report.truncated, report.lines_dropped,
        ));
    }
    Ok(Exit::Passed)
}

fn happened(event: Event) {
    match event {
        Event::Ready(address) => listening(address),
        Event::Operable(address) => say(&format!("metrics at http://{address}/metrics")),
        Event::Reloaded(Ok(count)) => say(&format!("reloaded: {count} backends")),
        Event::Reloaded(Err(error)) => {
            say(&format!("not reloaded, the old backends stay: {error}"));
        }
        _ => {}
    }
}

fn say(line: &str) {
    // Nobody may read it.
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn failed(error: BalancerError) -> Failure {
    match error {
        BalancerError::Server(error) => super::failed(error),
        BalancerError::Backends(error @ BackendsError::Read { .. }) => Failure::hinted(
            Exit::NoInput,
            error.to_string(),
            "--to expects URLs of backends, or a file with one per line",
        ),
        BalancerError::Backends(error) => Failure::new(Exit::Data, error),
        error => Failure::new(Exit::Unavailable, error),
    }
}

fn options(args: &BalancerArgs) -> Result<BalancerOptions, Failure> {
    let source = match &args.workers {
        Some(path) => Source::Listed(fleet::start(path)?),
        None => source(&args.to),
    };
    let mut options = BalancerOptions::new(source);
    options.server = server_options(options.server, &args.listen, args.threads);
    // The command line takes no other names than those of policies.
    options.policy = Kind::from_name(&args.policy).unwrap_or(options.policy);
    options.learn = (args.weights == WeightsArg::Learned).then(LearnOptions::default);
    options.locality = args
        .region
        .clone()
        .map(|region| Locality { region, spill_at: args.spill_at.unwrap_or(f64::INFINITY) });
    options.sticky.clone_from(&args.sticky);
    options.hash_field.clone_from(&args.hash_by);
    options.metrics_listen = args.metrics_listen;
    options.connections_max = args.connections.unwrap_or(options.connections_max);
    options.pool = args.pool.unwrap_or(options.pool);
    options.body_max = args.body_max.map_or(options.body_max, |bytes| bytes as u64);
    let Timeouts { connect, response, head, idle, stall, .. } = &mut options.timeouts;
    for (given, timeout) in [
        (args.connect_timeout, connect),
        (args.response_timeout, response),
        (args.head_timeout, head),
        (args.idle_timeout, idle),
        (args.stall_timeout, stall),
    ] {
        *timeout = given.unwrap_or(*timeout);
    }
    options.timeouts.request = args.request_timeout;
    options.retries = args.retries.unwrap_or(options.retries);
    options.retry_budget = args.retry_budget.unwrap_or(options.retry_budget);
    options.health = health(&args.health, options.health);
    options.access_log.clone_from(&args.access_log);
    options.log_format = match args.log_format {
        LogFormatArg::Combined => LogFormat::Combined,
        LogFormatArg::Json => LogFormat::Json,
    };
    options.seed = args.seed.unwrap_or(options.seed);
    Ok(options)
}

/// URLs, or a file.
fn source(to: &[String]) -> Source {
    match to {
        [path] if !path.contains("://") => Source::File(PathBuf::from(path)),
        urls => Source::Listed(urls.iter().map(|url| url.replace(';', " ")).collect()),
    }
}

fn health(args: &HealthArgs, mut health: HealthOptions) -> HealthOptions {
    health.path.clone_from(&args.health_path);
    health.every = args.health_every.unwrap_or(health.every);
    health.timeout = args.health_timeout.unwrap_or(health.timeout);
    health.rise = args.rise.unwrap_or(health.rise);
    health.fall = args.fall.unwrap_or(health.fall);
    health.eject_after = args.eject_after.unwrap_or(health.eject_after);
    health.eject_window = args.eject_window.unwrap_or(health.eject_window);
    health.eject_share = args.eject_share.unwrap_or(health.eject_share);
    health.eject_for = args.eject_for.unwrap_or(health.eject_for);
    health.eject_max = args.eject_max.unwrap_or(health.eject_max);
    health.slow_start = args.slow_start.unwrap_or(health.slow_start);
    health
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_are_urls_or_a_file() {
        let file = source(&["backends.txt".to_owned()]);
        assert_eq!(file, Source::File(PathBuf::from("backends.txt")));
        let urls = source(&["http://a:1;weight=2".to_owned(), "http://b:2".to_owned()]);
        let listed = ["http://a:1 weight=2", "http://b:2"].map(str::to_owned);
        assert_eq!(urls, Source::Listed(listed.into()));
    }
}
