//! Gets the .proto files of services whose server describes them.
//!
//! The protocol is that of grpc/grpc, doc/server-reflection.md.
//!
//! | file | subject |
//! |---|---|
//! | `client` | one connection over HTTP/2, and calls over it |
//! | `messages` | questions and answers of the reflection service |
//!
//! A server that is hostile can make this wait, at most as long as [`Server::wait`] says for each answer, and it can send
//! at most [`BYTES_MAX`]. What it describes is written by `protos`, which refuses names that are none.

mod client;
mod messages;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub use crate::{Source, Unprintable};
use trust::TrustError;

use client::Client;
use messages::{Request, Response};

/// Most files.
pub const FILES_MAX: usize = 1_000;
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
    /// Longest time for the connection, and for each answer.
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
    /// It has no service that describes others.
    #[error("the server does not describe its services")]
    Silent,
    /// It answers with an error.
    #[error("the server does not describe {what}: {status}{message}")]
    Refused { what: String, status: &'static str, message: String },
    #[error("the server describes more than {FILES_MAX} files, or sends more than {} MiB", BYTES_MAX >> 20)]
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
    runtime.block_on(async {
        let client = Client::connect(server).await?;
        Files::default().all(client).await
    })
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
        let response = client.answer(&request, "its services").await?;
        let Some(services) = response.services else {
            let problem = "the server does not list its services when it should";
            return Err(ReflectionError::Protocol(problem.to_owned()));
        };
        let mut missing = VecDeque::new();
        for service in services.services {
            if service.name.starts_with(OWN) {
                continue;
            }
            let request = Request {
                file_containing_symbol: Some(service.name.clone()),
                ..Request::default()
            };
            let what = format!("the service `{}`", service.name);
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
