//! Which sources there are: a probe's source, and its reasons without secrets.

use machine::procfs::hostname;
use plan::probes::{Page, Probe, ProbeKind, ProcessSpec, Secret};

use crate::reading::SourceId;
use crate::source::{ProbeError, ReadError, Source, TargetLocation};
use crate::{cgroup, databases, host, nginx, process, prometheus};

/// Longest reason that is recorded, in characters.
const REASON_CHARS_MAX: usize = 300;

/// Checks probes before anything is started.
///
/// # Errors
/// A URL that its client does not take.
pub fn check(probes: &[Probe]) -> Result<(), ProbeError> {
    for probe in probes {
        databases::check(&probe.kind)?;
    }
    Ok(())
}

/// The source of a probe, and what it is called in the record.
pub(crate) fn open(
    probe: &Probe,
    location: &TargetLocation,
) -> Result<(SourceId, Box<dyn Source>), ProbeError> {
    let mut name = probe.source();
    let source: Box<dyn Source> = match &probe.kind {
        ProbeKind::Host => {
            let host_name = || hostname().unwrap_or_else(|| "host".to_owned());
            name = probe.name.clone().unwrap_or_else(host_name);
            Box::new(host::Host::new())
        }
        ProbeKind::Process(spec) => {
            let spec = located(spec, location).ok_or_else(|| ProbeError::Target {
                probe: "process: target".to_owned(),
                problem: "it does not run on this machine",
            })?;
            Box::new(process::Process::new(spec))
        }
        ProbeKind::Cgroup(path) => Box::new(cgroup::Cgroup::new(path)),
        ProbeKind::Redis(_) | ProbeKind::Mysql(_) | ProbeKind::Postgres(_) => {
            databases::open(&probe.kind)?.ok_or(ProbeError::NotBuilt { kind: probe.kind.word() })?
        }
        ProbeKind::Nginx(page) => Box::new(nginx::Nginx::new(&absolute(page, location)?)),
        ProbeKind::Prometheus { page, metrics } => {
            Box::new(prometheus::Prometheus::new(&absolute(page, location)?, metrics))
        }
    };
    let id = SourceId {
        role: probe.role.clone(),
        region: probe.region.clone(),
        source: name,
        via: probe.kind.word().to_owned(),
    };
    Ok((id, source))
}

/// The process that is meant by the target.
fn located(spec: &ProcessSpec, location: &TargetLocation) -> Option<ProcessSpec> {
    match spec {
        ProcessSpec::Target => location
            .pid
            .map(ProcessSpec::Pid)
            .or_else(|| location.local_port.map(ProcessSpec::Port)),
        other => Some(other.clone()),
    }
}

/// The page's complete URL.
fn absolute(page: &Page, location: &TargetLocation) -> Result<Page, ProbeError> {
    let path = page.url.reveal();
    if !path.starts_with('/') {
        return Ok(page.clone());
    }
    let base = location.url.as_ref().ok_or_else(|| ProbeError::Target {
        probe: page.url.shown_url(),
        problem: "a path is relative to the target; write a complete URL",
    })?;
    Ok(Page { url: Secret::new(format!("{base}{path}")), headers: page.headers.clone() })
}

/// A reason for the record: one line, bounded, without the secrets of the probe.
pub(crate) fn reason(error: &ReadError, probe: &Probe) -> String {
    let mut text = error.to_string();
    for secret in secrets(&probe.kind) {
        if !secret.is_empty() {
            text = text.replace(&secret, "***");
        }
    }
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).take(REASON_CHARS_MAX).collect()
}

/// The secrets of a probe.
fn secrets(kind: &ProbeKind) -> Vec<String> {
    let of_url = |url: &Secret| {
        let mut found = vec![];
        if url.has_password() {
            found.push(url.reveal().to_owned());
            found.extend(url.password().map(str::to_owned));
        }
        found
    };
    match kind {
        ProbeKind::Redis(url) | ProbeKind::Mysql(url) | ProbeKind::Postgres(url) => of_url(url),
        ProbeKind::Nginx(page) | ProbeKind::Prometheus { page, .. } => {
            let values = page.headers.iter().map(|(_, value)| value.reveal().to_owned());
            of_url(&page.url).into_iter().chain(values).collect()
        }
        ProbeKind::Host | ProbeKind::Process(_) | ProbeKind::Cgroup(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redis(url: &str) -> Probe {
        Probe {
            kind: ProbeKind::Redis(Secret::new(url.to_owned())),
            role: "redis".to_owned(),
            region: String::new(),
            name: None,
            every_ns: 1_000_000_000,
        }
    }

    #[test]
    fn reasons_hold_no_secret() {
        let probe = redis("redis://:hunter2@127.0.0.1:1/");
        let error = ReadError::Unreachable(
            "redis://:hunter2@127.0.0.1:1/ said\n no: hunter2 is wrong\u{7}".to_owned(),
        );
        assert_eq!(reason(&error, &probe), "cannot be reached: *** said no: *** is wrong");
    }

    #[test]
    fn paths_are_the_targets() {
        let page = Page { url: Secret::new("/metrics".to_owned()), headers: Vec::new() };
        let place = TargetLocation {
            url: Some("http://127.0.0.1:81".to_owned()),
            ..TargetLocation::default()
        };
        let found = absolute(&page, &place).unwrap();
        assert_eq!(found.url.reveal(), "http://127.0.0.1:81/metrics");
        assert!(absolute(&page, &TargetLocation::default()).is_err());
    }
}
