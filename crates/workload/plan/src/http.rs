//! HTTP requests.

use serde::Serialize;

use crate::auth::{Aws, Digest};
use crate::calls::Call;
use crate::expr::{Condition, Template};
use crate::graphql::Answer;
use crate::ids::{EndpointId, MeasureId, Slot};
use crate::matching::Save;

/// An HTTP request and what is done with its response.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HttpOp {
    pub endpoint: EndpointId,
    /// Upper-case method.
    pub method: String,
    /// Path and query, beginning with `/`; the endpoint's base path is already in front.
    pub path: Template,
    /// The variable that `path` begins with, where it does: it holds a path below the target or a
    /// whole URL, which says the endpoint.
    pub located_by: Option<Slot>,
    /// Method, URL, headers, body and limits are those that the user's script of k6 asks for, and the answer goes there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_script: bool,
    /// Step headers, then run-wide headers not overridden; never `host`, `content-length` or
    /// `connection` unless the scenario wrote them.
    pub headers: Vec<(String, Template)>,
    /// Names of the cookies that the step itself gives, in its header `cookie`: the user's others
    /// are put before them.
    pub own_cookies: Vec<String>,
    pub body: Option<Template>,
    /// The head says that the server is expected to want the body (100), which is sent without that after this time;
    /// 0: the body follows its head at once.
    pub continue_ns: u64,
    /// It is a call of gRPC, whose message is its body.
    pub call: Option<Box<Call>>,
    /// It is an operation of GraphQL: what its answer must be.
    pub graphql: Option<Answer>,
    /// How many redirects are followed; 0: a redirect is the answer.
    pub redirects: u8,
    /// It accepts content codings, which are undone if something is saved from the body.
    pub decodes: bool,
    /// Credentials that answer digest challenges.
    pub digest: Option<Box<Digest>>,
    /// Credentials that sign the request.
    pub sign: Option<Box<Aws>>,
    /// Response latency goes here.
    pub measure: MeasureId,
    /// Which statuses are no error.
    pub status: StatusRule,
    pub save: Vec<Save>,
    /// Evaluated after `save`; a false one counts as error kind `check`.
    pub check: Vec<Condition>,
    /// From the request being sent to the response's end.
    pub timeout_ns: u64,
}

/// Parts of the names of headers whose values are secret.
const SECRET: &[&str] = &[
    "authorization",
    "cookie",
    "token",
    "secret",
    "passw",
    "api-key",
    "apikey",
    "access-key",
    "auth-key",
];

/// True for a header whose value is secret.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

impl HttpOp {
    /// True where the response body has to be kept until its end.
    pub fn keeps_body(&self) -> bool {
        self.by_script || self.graphql.is_some() || self.save.iter().any(|s| s.from.reads_body())
    }
}

/// Which HTTP statuses are no error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum StatusRule {
    /// 100–399.
    BelowFourHundred,
    /// Inclusive ranges.
    Ranges(Vec<(u16, u16)>),
}

impl StatusRule {
    /// True where `status` is no error.
    pub fn allows(&self, status: u16) -> bool {
        match self {
            StatusRule::BelowFourHundred => (100..400).contains(&status),
            StatusRule::Ranges(ranges) => {
                ranges.iter().any(|&(lo, hi)| (lo..=hi).contains(&status))
            }
        }
    }
}
