//! HTTP requests as bytes: prepared once for each shard if nothing in them varies, else rendered for the
//! user.

use grpc::Schema;
use plan::expr::{Context, Template};
use plan::{Endpoint, EndpointId, HttpOp, HttpVersion, Op, Plan, Session, SessionId, Slot};
use proto::{h2, http1};

use crate::fetch::url::{path_below, split, without_default_port};
use crate::users::{Scope, User};

/// The prepared forms of a plan's steps.
#[derive(Debug)]
pub(crate) struct Requests {
    /// `host` header by endpoint.
    authorities: Vec<String>,
    /// By session and instruction: the request if nothing in it varies.
    constant: Vec<Vec<Option<Box<[u8]>>>>,
    /// The same for HTTP/2, unless the plan speaks HTTP/1.1 alone.
    prepared: Vec<Vec<Option<PreparedRequest>>>,
}

/// A request as header block and body.
type PreparedRequest = (Box<[u8]>, Box<[u8]>);

impl Requests {
    pub(crate) fn new(plan: &Plan) -> Requests {
        let mut authorities: Vec<String> = plan.endpoints.iter().map(authority).collect();
        for proxy in &plan.proxies {
            // No URL leads to a proxy itself.
            authorities[proxy.endpoint.index()].clear();
        }
        let prepare = |session: &Session| {
            let ops = session.ops.iter().map(|op| match op {
                // Of several servers the user has its own.
                Op::Http(http) if http.endpoint == EndpointId(0) && !plan.servers.is_empty() => {
                    None
                }
                Op::Http(http) if !http.by_script => {
                    constant_request(http, &authorities[http.endpoint.index()], &plan.calls)
                }
                _ => None,
            });
            ops.collect()
        };
        let constant: Vec<Vec<_>> = plan.sessions.iter().map(prepare).collect();
        let prepared = match plan.options.http {
            HttpVersion::Http1 => Vec::new(),
            HttpVersion::Http2 | HttpVersion::Auto => prepared(plan, &constant),
        };
        Requests { authorities, constant, prepared }
    }

    /// The request of this instruction for HTTP/2, if nothing in it varies.
    pub(crate) fn prepared(&self, session: SessionId, pc: u32) -> Option<(&[u8], &[u8])> {
        let ops = self.prepared.get(session.index())?;
        let (block, body) = ops.get(pc as usize)?.as_ref()?;
        Some((block, body))
    }

    /// The request of this instruction, if nothing in it varies.
    pub(crate) fn constant(&self, session: SessionId, pc: u32) -> Option<&[u8]> {
        self.constant[session.index()][pc as usize].as_deref()
    }

    pub(crate) fn authority(&self, endpoint: EndpointId) -> &str {
        &self.authorities[endpoint.index()]
    }

    /// All hosts that requests can go to, in words.
    fn hosts(&self) -> String {
        let hosts = self.authorities.iter().filter(|host| !host.is_empty());
        let hosts: Vec<&str> = hosts.map(String::as_str).collect();
        hosts.join(", ")
    }

    /// The endpoint of a URL; `Ok(None)`: it is a path. The error says that the URL is at none of
    /// the plan's hosts.
    pub(crate) fn endpoint_at(&self, plan: &Plan, url: &str) -> Result<Option<EndpointId>, String> {
        let Some((tls, authority)) = split(url) else {
            return Ok(None);
        };
        let authority = without_default_port(tls, authority);
        let mut known = plan.endpoints.iter().zip(&self.authorities);
        let found = known.position(|(endpoint, known)| {
            endpoint.tls == tls && known.eq_ignore_ascii_case(authority)
        });
        found.map(|at| Some(EndpointId(at as u16))).ok_or_else(|| {
            format!(
                "{url:?} is at a host that the scenario does not name; it can only go to: {}",
                self.hosts()
            )
        })
    }
}

/// RFC 9110 §7.2: the default port is left out; IPv6 addresses are bracketed.
fn authority(endpoint: &Endpoint) -> String {
    let host = if endpoint.host.contains(':') {
        format!("[{}]", endpoint.host)
    } else {
        endpoint.host.clone()
    };
    let default_port = if endpoint.tls { 443 } else { 80 };
    if endpoint.port == default_port { host } else { format!("{host}:{}", endpoint.port) }
}

/// The request's bytes if none of its parts has an expression.
fn constant_request(http: &HttpOp, authority: &str, calls: &Schema) -> Option<Box<[u8]>> {
    let constant = |template: &Template| template.as_static().is_some();
    let headers_constant = http.headers.iter().all(|(_, value)| constant(value));
    let call = http.call.as_ref();
    let body_constant = http.body.as_ref().is_none_or(constant)
        && call.is_none_or(|call| call.message.is_constant());
    if !constant(&http.path) || !headers_constant || !body_constant {
        return None;
    }
    let mut any = User::new(0, 0, SessionId(0), 0);
    let mut bytes = Vec::new();
    encode_http(http, authority, "", calls, &mut any.scope(0, &[]), &mut bytes).ok()?;
    Some(bytes.into())
}

/// Constant requests as header blocks and bodies.
fn prepared(plan: &Plan, constant: &[Vec<Option<Box<[u8]>>>]) -> Vec<Vec<Option<PreparedRequest>>> {
    let convert = |(op, text): (&Op, &Option<Box<[u8]>>)| {
        let (Op::Http(http), Some(text)) = (op, text) else {
            return None;
        };
        // Its body is sent later.
        if http.continue_ns > 0 {
            return None;
        }
        let scheme = match plan.endpoints[http.endpoint.index()].tls {
            true => "https",
            false => "http",
        };
        let mut block = Vec::new();
        let len = h2::encode_head(text, scheme, &mut block)?;
        Some((block.into(), text[len..].into()))
    };
    let sessions = plan.sessions.iter().zip(constant);
    sessions.map(|(session, texts)| session.ops.iter().zip(texts).map(convert).collect()).collect()
}

/// Appends the request as it is for this user, to an endpoint with this authority and base path; a call's messages are
/// those of the schema. The error says what cannot be sent.
pub(crate) fn encode_http(
    http: &HttpOp,
    authority: &str,
    base_path: &str,
    calls: &Schema,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let path = render_path(http, base_path, scope)?;
    let headers = Headers::render(&http.headers, scope)?;
    if let Some(call) = &http.call {
        let host = headers.host().unwrap_or(authority);
        http1::encode_head(out, &http.method, &path, host, headers.iter());
        return call.message.frame(calls, call.compress, scope, out);
    }
    let mut body = Vec::new();
    if let Some(template) = &http.body {
        template.render(scope, &mut body).map_err(|error| error.to_string())?;
    }
    let body = http.body.is_some().then_some(body.as_slice());
    let host = headers.host().unwrap_or(authority);
    http1::encode_request(out, &http.method, &path, host, headers.iter(), body);
    Ok(())
}

/// Appends a GET request without a body, with one more header if given. That replaces one of its name.
pub(crate) fn encode_get(
    path: &Template,
    headers: &[(String, Template)],
    authority: &str,
    further: Option<(&str, &[u8])>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let path = render_target(path, scope)?;
    let headers = Headers::render(headers, scope)?;
    let host = headers.host().unwrap_or(authority);
    let replaces = |name: &str| further.is_some_and(|(new, _)| new.eq_ignore_ascii_case(name));
    let kept = headers.iter().filter(|(name, _)| !replaces(name));
    http1::encode_request(out, "GET", &path, host, kept.chain(further), None);
    Ok(())
}

/// Path and query of the request as they are for this user, below this base path if a variable says where it goes.
fn render_path(http: &HttpOp, base_path: &str, scope: &mut Scope<'_>) -> Result<String, String> {
    match http.located_by {
        Some(slot) => render_located(&http.path, slot, base_path, scope),
        None => render_target(&http.path, scope),
    }
}

/// A path and query as text that is valid in a request line.
pub(crate) fn render_target(path: &Template, scope: &mut Scope<'_>) -> Result<String, String> {
    let mut bytes = Vec::new();
    path.render(scope, &mut bytes).map_err(|error| error.to_string())?;
    as_target(bytes)
}

/// The same of a path that begins with a variable, which holds a path or a whole URL.
fn render_located(
    path: &Template,
    slot: Slot,
    base_path: &str,
    scope: &mut Scope<'_>,
) -> Result<String, String> {
    let mut bytes = path_below(scope.var(slot), base_path);
    let rest = Template { parts: path.parts.get(1..).unwrap_or_default().to_vec() };
    rest.render(scope, &mut bytes).map_err(|error| error.to_string())?;
    as_target(bytes)
}

fn as_target(bytes: Vec<u8>) -> Result<String, String> {
    let target = String::from_utf8(bytes).ok().filter(|target| http1::is_target(target));
    target.ok_or_else(|| "the path has characters that a request line cannot hold".to_owned())
}

/// Headers with their values as they are for this user.
pub(crate) struct Headers<'p> {
    names: Vec<&'p str>,
    /// End of each value in `values`.
    ends: Vec<usize>,
    values: Vec<u8>,
}

impl<'p> Headers<'p> {
    /// The error names the header whose value a header line cannot hold.
    pub(crate) fn render(
        headers: &'p [(String, Template)],
        scope: &mut Scope<'_>,
    ) -> Result<Headers<'p>, String> {
        let mut rendered = Headers { names: Vec::new(), ends: Vec::new(), values: Vec::new() };
        for (name, value) in headers {
            let start = rendered.values.len();
            value.render(scope, &mut rendered.values).map_err(|error| error.to_string())?;
            if !http1::is_field_value(&rendered.values[start..]) {
                return Err(format!(
                    "the value of header {name:?} has characters that a header line cannot hold"
                ));
            }
            rendered.names.push(name);
            rendered.ends.push(rendered.values.len());
        }
        Ok(rendered)
    }

    /// The scenario's own `host`, which replaces the target's.
    pub(crate) fn host(&self) -> Option<&str> {
        let host = self.all().find(|(name, _)| name.eq_ignore_ascii_case("host"))?.1;
        std::str::from_utf8(host).ok()
    }

    /// All but `host`.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.all().filter(|(name, _)| !name.eq_ignore_ascii_case("host"))
    }

    fn all(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let values = starts.zip(&self.ends).map(|(start, &end)| &self.values[start..end]);
        self.names.iter().copied().zip(values)
    }
}
