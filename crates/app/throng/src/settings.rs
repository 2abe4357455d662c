//! Parsers of argument values.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `ADDR:PORT`, or a port of loopback.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let address = match text.trim_start_matches(':').parse::<u16>() {
        Ok(port) => return Ok(([127, 0, 0, 1], port).into()),
        Err(_) => text.parse(),
    };
    address.map_err(|_| {
        "expected a numeric address with a port, such as 127.0.0.1:8080, or a port of this machine"
            .to_owned()
    })
}

/// Directory in which runs are created unless `--runs` names another.
pub(crate) const RUNS: &str = "runs";

/// A run's directory; `last` is the newest one of `runs`, whose names begin with their time.
pub(crate) fn parse_run(text: &str) -> Result<PathBuf, String> {
    if text != "last" || Path::new(text).exists() {
        return Ok(PathBuf::from(text));
    }
    newest_run(Path::new(RUNS)).ok_or_else(|| format!("there is no run in the directory {RUNS}"))
}

fn newest_run(runs: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(runs).ok()?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.join("run.json").is_file()).max()
}

/// `key=value`.
pub(crate) fn parse_set(text: &str) -> Result<(String, String), String> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| "expected KEY=VALUE, such as hold=5m".to_owned())?;
    if key.is_empty() {
        return Err("the key before = is missing".to_owned());
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// `host:port`, as it is.
pub(crate) fn parse_place(text: &str) -> Result<String, String> {
    let parts = text.rsplit_once(':');
    let is_place =
        parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    match is_place {
        true => Ok(text.to_owned()),
        false => Err("expected HOST:PORT, such as shop.example:443".to_owned()),
    }
}

/// `region=path`.
pub(crate) fn parse_netns(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((region, path)) if !region.is_empty() && !path.is_empty() => {
            Ok((region.to_owned(), PathBuf::from(path)))
        }
        _ => Err("expected REGION=PATH, such as sydney=/run/netns/sydney".to_owned()),
    }
}

/// A share of 1: `50%` or `0.5`.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share.is_finite() => Ok(share),
        _ => scenario::parse_share(text),
    }
}

/// A share above 0 and up to 1.
pub(crate) fn parse_part(text: &str) -> Result<f64, String> {
    let share = parse_share(text)?;
    match share > 0.0 && share <= 1.0 {
        true => Ok(share),
        false => Err("expected a share above 0 and not above 100%".to_owned()),
    }
}

/// A load: a number above 0, optionally with a unit such as `/s`.
pub(crate) fn parse_load(text: &str) -> Result<f64, String> {
    let number = text.split_once('/').map_or(text, |(number, _)| number);
    let load: f64 =
        number.trim().parse().map_err(|_| "expected a number such as 500".to_owned())?;
    match load > 0.0 && load.is_finite() {
        true => Ok(load),
        false => Err("expected a number above 0".to_owned()),
    }
}

/// A factor from one load to the next.
pub(crate) fn parse_growth(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(growth) if (1.1..=100.0).contains(&growth) => Ok(growth),
        _ => Err("expected a number from 1.1 to 100".to_owned()),
    }
}

/// A duration as scenarios write it.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    scenario::parse_duration(text).map(Duration::from_nanos)
}

/// A distribution of durations as scenarios write it.
pub(crate) fn parse_distribution(text: &str) -> Result<stats::dist::Dist, String> {
    scenario::parse_distribution(text)
}

/// A size as scenarios write it, in bytes.
pub(crate) fn parse_size(text: &str) -> Result<usize, String> {
    scenario::parse_size(text).map(|bytes| bytes as usize)
}

/// The confidence of intervals.
pub(crate) fn parse_confidence(text: &str) -> Result<f64, String> {
    let share = scenario::parse_share(text)?;
    if scenario::experiment::CONFIDENCE.contains(&share) {
        Ok(share)
    } else {
        Err("expected a confidence from 50% to 99.99%".to_owned())
    }
}
