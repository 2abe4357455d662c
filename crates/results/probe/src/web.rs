//! HTTP: pages that are fetched, and documents that are posted; bounded in time and size, over
//! connections that stay open.

use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use plan::probes::Page;
use rustls::crypto::ring;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::source::{ANSWER_MAX, ReadError};

/// Most bytes of a page.
const PAGE_BYTES_MAX: u64 = 8 << 20;
/// Most bytes of what is answered to a post; of a larger one nothing is read.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// One page, again and again over one connection.
#[derive(Debug)]
pub(crate) struct Web {
    agent: Agent,
    page: Page,
}

impl Web {
    pub(crate) fn new(page: &Page) -> Web {
        Web { agent: agent(ANSWER_MAX), page: page.clone() }
    }

    /// The page's text.
    pub(crate) fn fetch(&self) -> Result<String, ReadError> {
        let unreachable = |error: ureq::Error| ReadError::Unreachable(error.to_string());
        let mut request = self.agent.get(self.page.url.reveal());
        for (name, value) in &self.page.headers {
            request = request.header(name, value.reveal());
        }
        let mut response = request.call().map_err(unreachable)?;
        succeeded(&response).map_err(ReadError::Nonsense)?;
        let body = response.body_mut().with_config().limit(PAGE_BYTES_MAX);
        let bytes = body.read_to_vec().map_err(unreachable)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// A client that takes no longer than this for anything.
fn agent(timeout: Duration) -> Agent {
    let tls = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .root_certs(RootCerts::Specific(roots()))
        .build();
    let config = Agent::config_builder()
        .timeout_global(Some(timeout))
        // Addresses of this machine, and numeric addresses, are not queried through a proxy.
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
        let certs = certs.iter().map(|der| Certificate::from_der(der).to_owned());
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
    /// To this URL; each post may take this time.
    pub fn new(url: &str, timeout: Duration) -> Poster {
        Poster { agent: agent(timeout), url: url.to_owned() }
    }

    /// Posts JSON and returns what is answered, as far as it can be read. The error says why there was no
    /// success, without the URL.
    pub fn post_json(&self, body: &str) -> Result<String, String> {
        let request = self.agent.post(&self.url).header("content-type", "application/json");
        let mut response = request.send(body).map_err(|error| error.to_string())?;
        succeeded(&response)?;
        let answer = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        Ok(answer.read_to_string().unwrap_or_default())
    }
}

/// Redirections are not followed, and are no success.
fn succeeded<T>(response: &ureq::http::Response<T>) -> Result<(), String> {
    match response.status() {
        status if status.is_success() => Ok(()),
        status => Err(format!("http status: {}", status.as_u16())),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// What is made of this answer to a post.
    fn posted(status: &str) -> Result<String, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/metrics", listener.local_addr().unwrap());
        let head = format!(
            "HTTP/1.1 {status}\r\nlocation: {url}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}"
        );
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"{}") {
                let mut piece = [0; 1024];
                let n = stream.read(&mut piece).unwrap();
                assert!(n > 0, "the post is not complete");
                request.extend_from_slice(&piece[..n]);
            }
            stream.write_all(head.as_bytes()).unwrap();
        });
        let result = Poster::new(&url, ANSWER_MAX).post_json("{}");
        server.join().unwrap();
        result
    }

    #[test]
    fn only_a_success_is_one() {
        assert_eq!(posted("200 OK"), Ok("{}".to_owned()));
        assert_eq!(posted("202 Accepted"), Ok("{}".to_owned()));
        for status in [
            "302 Found",
            "304 Not Modified",
            "308 Permanent Redirect",
            "404 Not Found",
            "503 Service Unavailable",
        ] {
            let result = posted(status).unwrap_err();
            assert_eq!(result, format!("http status: {}", &status[..3]));
        }
    }
}
