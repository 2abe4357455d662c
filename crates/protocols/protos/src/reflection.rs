//! Gets the .proto files of services whose server describes them.
//!
//! The protocol is that of grpc/grpc, doc/server-reflection.md.
//!
//! | file | subject |
//! |---|---|
//! | `client` | one connection over HTTP/2, and calls over it |
//! | `messages` | questions and answers of the reflection service |
//!
//! A server that is hostile can make this wait, at most as long as [`Server::wait`] says for each answer and [`WAITS_MAX`]
//! times as long for all, and it can send at most [`BYTES_MAX`]. What it describes is written by `protos`, which refuses names that are none.

mod client;
mod messages;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub use crate::{Source, Unprintable};
use trust::TrustError;

use tokio::time::timeout;

use client::Client;
use messages::{Request, Response};

/// Most services: each is a question.
pub const SERVICES_MAX: usize = 1_000;
/// Most files.
pub const FILES_MAX: usize = 1_000;
/// How many times the longest time for an answer all of them may take together.
pub const WAITS_MAX: u32 = 30;
/// Largest sum of what a server may send, bytes.
pub const BYTES_MAX: usize = 16 << 20;
/// Files that come with every compiler.
const BUILT_IN: &str = "google/protobuf/";
/// The service that describes others need not be described.
const OWN: &str = "grpc.reflection.";

/// A server that describes its services.
#[derive(Debug, Clone)]
pub struct Server {
    /// `http://HOST:PORT` or `https://HOST:PORT`.
    pub url: String,
    /// Metadata of each call.
    pub metadata: Vec<(String, String)>,
    /// The server's certificate is verified.
    pub verifies: bool,
    /// Names and contents of PEM files with further roots.
    pub roots: Vec<(String, Vec<u8>)>,
    /// Longest time for the connection, and for each answer; [`WAITS_MAX`] times as long for all.
    pub wait: Duration,
}

/// Why there are no files.
#[derive(Debug, thiserror::Error)]
pub enum ReflectionError {
    #[error("{url:?} is not the URL of a server: {problem}")]
    Url { url: String, problem: &'static str },
    #[error("the metadata {0:?} cannot be sent")]
    Metadata(String),
    #[error("cannot connect to {address}: {problem}")]
    Connect { address: String, problem: String },
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error("cannot start a thread")]
    Runtime(#[source] std::io::Error),
    /// It does not answer as a server of gRPC.
    #[error("{0}")]
    Protocol(String),
    #[error("no answer within {0:?}")]
    Late(Duration),
    #[error("the server has not described its services within {0:?}")]
    Slow(Duration),
    /// It has no service that describes others.
    #[error("the server does not describe its services")]
    Silent,
    /// It answers with an error.
    #[error("the server does not describe {what}: {status}{message}")]
    Refused { what: String, status: &'static str, message: String },
    #[error(
        "the server has more than {SERVICES_MAX} services or {FILES_MAX} files, or sends more than {} MiB",
        BYTES_MAX >> 20
    )]
    TooMuch,
    /// A description of which no text can be made.
    #[error("what the server says of {what} cannot be written")]
    Unprintable {
        what: String,
        #[source]
        source: Unprintable,
    },
}

/// The files of all services, and all that they import, by name. Those of `google/protobuf/` are left out: they come with
/// every compiler.
///
/// # Errors
/// The server cannot be reached, or does not describe its services.
pub fn sources(server: &Server) -> Result<BTreeMap<String, Source>, ReflectionError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ReflectionError::Runtime)?;
    let longest = server.wait.saturating_mul(WAITS_MAX);
    let found = runtime.block_on(async {
        let all = async {
            let client = Client::connect(server).await?;
            Files::default().all(client).await
        };
        timeout(longest, all).await.unwrap_or(Err(ReflectionError::Slow(longest)))
    });
    // A name that is still being resolved is not waited for.
    runtime.shutdown_background();
    found
}

/// The names of the services that a server lists, but for the one that describes the others.
fn listed(response: Response) -> Result<Vec<String>, ReflectionError> {
    let Some(services) = response.services else {
        let problem = "the server does not list its services when it should";
        return Err(ReflectionError::Protocol(problem.to_owned()));
    };
    if services.services.len() > SERVICES_MAX {
        return Err(ReflectionError::TooMuch);
    }
    let names = services.services.into_iter().map(|service| service.name);
    Ok(names.filter(|name| !name.starts_with(OWN)).collect())
}

#[derive(Default)]
struct Files {
    found: BTreeMap<String, Source>,
    bytes: usize,
}

impl Files {
    async fn all(
        mut self,
        mut client: Client,
    ) -> Result<BTreeMap<String, Source>, ReflectionError> {
        let request = Request { list_services: Some("*".to_owned()), ..Request::default() };
        let names = listed(client.answer(&request, "its services").await?)?;
        let mut missing = VecDeque::new();
        for name in names {
            let what = format!("the service `{name}`");
            let request = Request { file_containing_symbol: Some(name), ..Request::default() };
            let response = client.answer(&request, &what).await?;
            missing.extend(self.add(response, &what)?);
        }
        while let Some(name) = missing.pop_front() {
            if self.has(&name) {
                continue;
            }
            let request = Request { file_by_filename: Some(name.clone()), ..Request::default() };
            let what = format!("the file {name:?}");
            let response = client.answer(&request, &what).await?;
            missing.extend(self.add(response, &what)?);
            if !self.has(&name) {
                return Err(ReflectionError::Protocol(format!(
                    "the server answers with other files than {name:?}"
                )));
            }
        }
        Ok(self.found)
    }

    fn has(&self, name: &str) -> bool {
        name.starts_with(BUILT_IN) || self.found.contains_key(name)
    }

    /// Takes the files of an answer; the names of those that they import.
    fn add(&mut self, response: Response, what: &str) -> Result<Vec<String>, ReflectionError> {
        let mut imports = Vec::new();
        for descriptor in response.files.unwrap_or_default().descriptors {
            self.bytes += descriptor.len();
            if self.bytes > BYTES_MAX || self.found.len() >= FILES_MAX {
                return Err(ReflectionError::TooMuch);
            }
            let source = crate::source(&descriptor)
                .map_err(|source| ReflectionError::Unprintable { what: what.to_owned(), source })?;
            if source.name.starts_with(BUILT_IN) {
                continue;
            }
            imports.extend(source.imports.iter().cloned());
            self.found.insert(source.name.clone(), source);
        }
        Ok(imports)
    }
}

#[cfg(test)]
mod tests {
    use super::messages::{Service, Services};
    use super::*;

    #[test]
    fn services_are_bounded_in_number() {
        let of = |count: usize| {
            let name = |n| Service { name: format!("a.Service{n}") };
            let services = (0..count).map(name).collect();
            let services = Some(Services { services });
            listed(Response { services, ..Response::default() })
        };
        assert_eq!(of(SERVICES_MAX).unwrap().len(), SERVICES_MAX);
        assert!(matches!(of(SERVICES_MAX + 1), Err(ReflectionError::TooMuch)));
    }
}
