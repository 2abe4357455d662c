//! The list of backends: on the command line, or in a file that is read again on request.

use std::collections::{BTreeSet, HashSet};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use crate::fleet::Member;

/// Largest file of backends, in bytes.
const FILE_MAX: u64 = 1 << 20;
/// Most backends.
pub const BACKENDS_MAX: usize = 10_000;
/// Regions that a message lists.
const REGIONS_SHOWN: usize = 20;
/// Longest name of a region, in bytes.
const REGION_MAX: usize = 64;
/// Least and greatest weight.
const WEIGHTS: std::ops::RangeInclusive<f64> = 1e-3..=1e6;

/// Source of the list of backends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// One text a backend, as a line of a file.
    Listed(Vec<String>),
    /// A line a backend: `http://HOST:PORT weight=2 limit=100 region=emea`. What follows `#` is a comment.
    File(PathBuf),
}

/// A backend and where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Backend {
    /// Address of the backend.
    pub address: SocketAddr,
    /// As policies see it; the name is the host and port that were written.
    pub member: Member,
}

/// Why the backends cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackendsError {
    /// The file cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A backend is not written as it should be.
    #[error("{place}: {reason}")]
    Line {
        /// The file and line, or the argument.
        place: String,
        /// The problem.
        reason: String,
    },
    /// There is no backend.
    #[error("there are no backends: list at least one as http://HOST:PORT")]
    Empty,
    /// None is in the balancer's region.
    #[error(
        "no backend is in the region `{own}`: write region={own} behind the backends there; the list has {listed}"
    )]
    Region {
        /// The balancer's region.
        own: String,
        /// Regions of the backends.
        listed: String,
    },
    /// There are too many backends.
    #[error("there are more than 10,000 backends")]
    TooMany,
}

impl Source {
    /// The backends as they are listed now. Looks up the names of hosts, and may wait for that.
    ///
    /// # Errors
    /// If they cannot be read, or one of them is not a backend.
    pub fn load(&self) -> Result<Vec<Backend>, BackendsError> {
        let lines: Vec<(String, String)> = match self {
            Source::Listed(texts) => {
                let numbered = texts.iter().map(|text| (text.clone(), text.clone()));
                numbered.collect()
            }
            Source::File(path) => {
                let text = read(path)?;
                let lines = text.lines().zip(1..);
                let placed = lines.map(|(line, number)| {
                    (
                        format!("{}:{number}", path.display()),
                        line.split('#').next().unwrap_or_default().trim().to_owned(),
                    )
                });
                placed.filter(|(_, line)| !line.is_empty()).collect()
            }
        };
        if lines.is_empty() {
            return Err(BackendsError::Empty);
        }
        if lines.len() > BACKENDS_MAX {
            return Err(BackendsError::TooMany);
        }
        let mut names = HashSet::new();
        let parsed = lines.into_iter().map(|(place, line)| {
            let backend =
                parse(&line).and_then(|backend| match names.insert(backend.member.name.clone()) {
                    true => Ok(backend),
                    false => Err("it is listed twice".to_owned()),
                });
            backend.map_err(|reason| BackendsError::Line { place, reason })
        });
        parsed.collect()
    }
}

/// Checks that the list has a backend in a region.
///
/// # Errors
/// If it has none.
pub(crate) fn check_region(backends: &[Backend], own: &str) -> Result<(), BackendsError> {
    let regions = backends.iter().map(|backend| backend.member.region.as_deref());
    if regions.clone().any(|region| region == Some(own)) {
        return Ok(());
    }
    let listed: BTreeSet<&str> = regions.flatten().collect();
    let listed: Vec<&str> = listed.into_iter().take(REGIONS_SHOWN).collect();
    Err(BackendsError::Region {
        own: own.to_owned(),
        listed: match listed.is_empty() {
            true => "no regions".to_owned(),
            false => listed.join(", "),
        },
    })
}

/// Whether this can be the name of a region.
pub(crate) fn is_region(name: &str) -> bool {
    let is_one = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=REGION_MAX).contains(&name.len()) && name.bytes().all(is_one)
}

fn read(path: &Path) -> Result<String, BackendsError> {
    let read = regular::read_text(path, FILE_MAX);
    read.map_err(|error| BackendsError::Read {
        path: path.to_path_buf(),
        reason: error.to_string(),
    })
}

fn parse(line: &str) -> Result<Backend, String> {
    let mut words = line.split_whitespace();
    let url = words.next().unwrap_or_default();
    let Some(authority) = url.strip_prefix("http://") else {
        return Err(format!("`{url}` must be a URL such as http://127.0.0.1:8081"));
    };
    let authority = authority.strip_suffix('/').unwrap_or(authority);
    if authority.contains(['/', '?', '#', '@']) || authority.is_empty() {
        return Err(format!("`{url}` must be a host and a port alone, without a path"));
    }
    let name = match authority.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok_and(|port| port > 0) => authority.to_owned(),
        _ if !authority.contains(':') || authority.ends_with(']') => format!("{authority}:80"),
        _ => return Err(format!("`{url}` must have a port from 1 to 65535")),
    };
    let addresses = name.to_socket_addrs();
    let found = addresses.map_err(|error| format!("`{authority}` cannot be looked up: {error}"))?;
    let mut found: Vec<SocketAddr> = found.collect();
    // The same choice every time, and the family that most servers on this machine listen on.
    found.sort_by_key(SocketAddr::is_ipv6);
    let address = found.first().copied();
    let address = address.ok_or_else(|| format!("`{authority}` has no address"))?;
    let mut member = Member::new(name);
    for word in words {
        set(&mut member, word)?;
    }
    Ok(Backend { address, member })
}

fn set(member: &mut Member, word: &str) -> Result<(), String> {
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    match key {
        "weight" => {
            let weight = value.parse().ok().filter(|weight| WEIGHTS.contains(weight));
            member.weight = weight.ok_or("weight must be a number from 0.001 to 1,000,000")?;
        }
        "limit" => {
            let limit = value.parse().ok().filter(|limit| *limit > 0);
            member.limit = limit.ok_or("limit must be a whole number of requests above 0")?;
        }
        "region" => {
            let region = Some(value).filter(|value| is_region(value));
            let region = region.ok_or("region must be 1 to 64 letters, digits, '-', '_' or '.'")?;
            member.region = Some(region.to_owned());
        }
        _ => {
            return Err(format!(
                "`{word}` is unknown; there are weight=N, limit=N and region=NAME"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(texts: &[&str]) -> Result<Vec<Backend>, BackendsError> {
        Source::Listed(texts.iter().map(|text| (*text).to_owned()).collect()).load()
    }

    #[test]
    fn backends_have_weights_and_limits() {
        let all = listed(&[
            "http://127.0.0.1:81/ weight=2.5 limit=7 region=us-1",
            "http://[::1]:82",
            "http://127.0.0.2",
        ]);
        let all = all.unwrap();
        assert_eq!(all[0].address, "127.0.0.1:81".parse().unwrap());
        assert_eq!((all[0].member.weight, all[0].member.limit), (2.5, 7));
        assert_eq!(all[0].member.name, "127.0.0.1:81");
        assert_eq!(all[0].member.region.as_deref(), Some("us-1"));
        assert_eq!(all[1].member.region, None);
        assert_eq!(all[1].address, "[::1]:82".parse().unwrap());
        assert_eq!(all[2].address.port(), 80);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backends");
        std::fs::write(&path, "# all\nhttp://127.0.0.1:81 # one\n\nhttp://127.0.0.1:82 wieght=2\n")
            .unwrap();
        let error = Source::File(path.clone()).load().unwrap_err().to_string();
        assert!(
            error.ends_with(
                "backends:4: `wieght=2` is unknown; there are weight=N, limit=N and region=NAME"
            ),
            "{error}"
        );
        for wrong in [
            "127.0.0.1:81",
            "https://127.0.0.1:81",
            "http://127.0.0.1:81/path",
            "http://127.0.0.1:0",
            "http://127.0.0.1:81 weight=0",
            "http://127.0.0.1:81 weight=NaN",
            "http://127.0.0.1:81 limit=0",
            "http://127.0.0.1:81 region=",
            "http://127.0.0.1:81 region=a,b",
            "http://",
        ] {
            assert!(listed(&[wrong]).is_err(), "{wrong}");
        }
        assert!(listed(&["http://127.0.0.1:81", "http://127.0.0.1:81"]).is_err());
        assert!(matches!(listed(&[]), Err(BackendsError::Empty)));
        let all = ["http://127.0.0.1:81 region=us", "http://127.0.0.1:82 region=asia"];
        let all = listed(&all).unwrap();
        assert!(check_region(&all, "us").is_ok());
        let error = check_region(&all, "emea").unwrap_err().to_string();
        assert!(error.ends_with("the list has asia, us"), "{error}");
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(Source::File(path).load(), Err(BackendsError::Read { .. })));
    }
}
