//! HTTP: pages that are fetched, and documents that are posted; bounded in time and size, over
//! connections that stay open.

use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use rustls::crypto::ring;
use scenario::probes::Page;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::source::{ANSWER_MAX, ReadError};

/// Most bytes of a page.
const PAGE_BYTES_MAX: u64 = 8 << 20;

/// One page, again and again over one connection.
#[derive(Debug)]
pub(crate) struct Web {
    agent: Agent,
    page: Page,
}

impl Web {
    pub(crate) fn new(page: &Page) -> Web {
        Web {
            agent: agent(ANSWER_MAX),
            page: page.clone(),
        }
    }

    /// The page's text.
    pub(crate) fn fetch(&self) -> Result<String, ReadError> {
        let unreachable = |error: ureq::Error| ReadError::Unreachable(error.to_string());
        let mut request = self.agent.get(self.page.url.reveal());
        for (name, value) in &self.page.headers {
            request = request.header(name, value.reveal());
        }
        let mut response = request.call().map_err(unreachable)?;
        if !response.status().is_success() {
            // A redirection, which is not followed.
            let status = response.status().as_u16();
            return Err(ReadError::Nonsense(format!("http status: {status}")));
        }
        let body = response.body_mut().with_config().limit(PAGE_BYTES_MAX);
        let bytes = body.read_to_vec().map_err(unreachable)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// A client that takes no longer than this for anything.
fn agent(patience: Duration) -> Agent {
    let tls = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .root_certs(RootCerts::Specific(roots()))
        .build();
    let config = Agent::config_builder()
        .timeout_global(Some(patience))
        // What is on this machine or named by its address is not asked through somebody else.
        .proxy(None)
        .max_redirects(0)
        .user_agent("throng")
        .tls_config(tls)
        .build();
    config.new_agent()
}

/// The system's roots.
fn roots() -> Arc<Vec<Certificate<'static>>> {
    static ROOTS: OnceLock<Arc<Vec<Certificate<'static>>>> = OnceLock::new();
    let load = || {
        let certs = rustls_native_certs::load_native_certs().certs;
        let certs = certs
            .iter()
            .map(|der| Certificate::from_der(der).to_owned());
        Arc::new(certs.collect())
    };
    Arc::clone(ROOTS.get_or_init(load))
}

/// Posts documents to one place, bounded in time.
#[derive(Debug)]
pub struct Poster {
    agent: Agent,
    url: String,
}

impl Poster {
    /// To this URL; each post may take so long.
    pub fn new(url: &str, patience: Duration) -> Poster {
        Poster {
            agent: agent(patience),
            url: url.to_owned(),
        }
    }

    /// Posts JSON; what is answered does not matter but for its status. The error says why, without
    /// the URL.
    pub fn post_json(&self, body: &str) -> Result<(), String> {
        let request = self
            .agent
            .post(&self.url)
            .header("content-type", "application/json");
        request
            .send(body)
            .map(drop)
            .map_err(|error| error.to_string())
    }
}
