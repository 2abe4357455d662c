//! URLs: where connections go and what is requested there.

use plan::expr::{Escape, Expr, Template, TemplatePart};
use plan::{Endpoint, EndpointId, Slot, Via};

use super::Checker;
use super::program::Program;
use crate::document::node::{Node, Place};

/// The endpoint that a URL begins with, and the rest of the URL.
struct Authority<'t> {
    endpoint: Endpoint,
    rest: &'t str,
}

/// The target of a step's request.
#[derive(Debug, Clone)]
pub(super) struct Location {
    pub(super) endpoint: EndpointId,
    pub(super) path: Template,
    /// The variable that the URL begins with.
    pub(super) located_by: Option<Slot>,
}

/// A URL as it is written, up to its query. A question mark of an expression is another one.
pub(super) fn without_query(url: &str) -> &str {
    let mut depth = 0_usize;
    let mut before = ' ';
    let query = url.char_indices().find(|(_, c)| {
        match *c {
            '{' if before == '$' || depth > 0 => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = *c;
        *c == '?' && depth == 0
    });
    query.map_or(url, |(at, _)| &url[..at])
}

impl Checker<'_> {
    /// The target's URL as an endpoint; its path is what relative paths are appended to.
    pub(super) fn target_url(&mut self, text: &str, place: &Place) -> Option<Endpoint> {
        if let Some(endpoint) = self.unix_target(text, place) {
            return endpoint;
        }
        let Authority { mut endpoint, rest } = self.authority(text, place)?;
        if rest.contains(['?', '#']) {
            self.diagnostics
                .error("bad-url", place, "a target's URL has no query and no fragment")
                .hint("write them in the steps' paths");
            return None;
        }
        self.path_text(rest, place)?;
        endpoint.base_path = rest.trim_end_matches('/').to_owned();
        Some(endpoint)
    }

    /// A URL that has nothing behind its host and port.
    pub(super) fn bare_endpoint(&mut self, text: &str, place: &Place) -> Option<EndpointId> {
        let Authority { endpoint, rest } = self.authority(text, place)?;
        if !rest.is_empty() {
            self.diagnostics
                .error("bad-url", place, format!("`{rest}` has no meaning here"))
                .hint("write HOST:PORT");
            return None;
        }
        Some(self.endpoint(endpoint))
    }

    /// A step's URL: a path below the target, or a whole URL of a fixed host.
    pub(super) fn location(&mut self, node: &Node, program: &Program) -> Option<Location> {
        self.note_values(node);
        let template = self.template(node, Escape::Url, program)?;
        self.split_location(template, &node.place)
    }

    /// The location of a step whose host cannot be left to a variable.
    pub(super) fn fixed_location(
        &mut self,
        node: &Node,
        program: &Program,
    ) -> Option<(EndpointId, Template)> {
        let location = self.location(node, program)?;
        if location.located_by.is_some() {
            self.diagnostics
                .error(
                    "bad-url",
                    &node.place,
                    "only requests can take their complete URL from a variable",
                )
                .hint("start it with a slash: /${raw(x)}");
            return None;
        }
        Some((location.endpoint, location.path))
    }

    /// Takes endpoint and path of a step's URL apart.
    pub(super) fn split_location(
        &mut self,
        mut template: Template,
        place: &Place,
    ) -> Option<Location> {
        let first = match template.parts.first() {
            Some(TemplatePart::Text(text)) => text.to_string(),
            Some(TemplatePart::Bytes(_) | TemplatePart::Expr(..)) | None => String::new(),
        };
        for part in &template.parts {
            if let TemplatePart::Text(text) = part {
                self.path_text(text, place)?;
            }
        }
        if let Some(TemplatePart::Expr(Expr::Var(slot), Escape::UrlRaw)) = template.parts.first() {
            let located_by = Some(*slot);
            return Some(Location { endpoint: EndpointId(0), path: template, located_by });
        }
        let (endpoint, path) = if first.starts_with('/') {
            // With no target there is an error already; the step is checked all the same.
            let base = self.endpoints.first().map_or("", |e| &e.base_path);
            (EndpointId(0), format!("{base}{first}"))
        } else if first.contains("://") {
            let host = first.split_once("://").map_or("", |(_, host)| host);
            if template.parts.len() > 1 && !host.contains(['/', '?']) {
                self.diagnostics
                    .error("bad-url", place, "a URL's host must be the same for every user")
                    .hint("put a / after the host");
                return None;
            }
            let Authority { endpoint, rest } = self.authority(&first, place)?;
            let slash = if rest.starts_with('/') { "" } else { "/" };
            (self.endpoint(endpoint), format!("{slash}{rest}"))
        } else {
            let hint = if first.is_empty() {
                "start it with a slash: /${…}; or with ${raw(x)}, if a variable holds the complete URL"
                    .to_owned()
            } else {
                format!("write /{first}")
            };
            self.diagnostics.error("bad-url", place, "a path starts with a slash").hint(hint);
            return None;
        };
        template.parts[0] = TemplatePart::Text(path.into());
        Some(Location { endpoint, path: template, located_by: None })
    }

    /// Paths go into requests as they are written.
    pub(super) fn path_text(&mut self, text: &str, place: &Place) -> Option<()> {
        let Some(bad) = text.chars().find(|c| !c.is_ascii_graphic() || *c == '#') else {
            return Some(());
        };
        let hint = match bad {
            '#' if text.contains("#{") => {
                "variables are written `${name}`, and set before: `#{name}` is Gatling's".to_owned()
            }
            '#' => "remove the fragment; it is never sent".to_owned(),
            _ => {
                let mut bytes = [0; 4];
                let bytes = bad.encode_utf8(&mut bytes).bytes();
                let encoded: String = bytes.map(|b| format!("%{b:02X}")).collect();
                format!("write {encoded} for it")
            }
        };
        let message = format!("{bad:?} is not allowed in a URL");
        self.diagnostics.error("bad-url", place, message).hint(hint);
        None
    }

    /// Scheme, host and port.
    fn authority<'t>(&mut self, text: &'t str, place: &Place) -> Option<Authority<'t>> {
        match split_authority(text) {
            Ok(found) => Some(found),
            Err((message, hint)) => {
                self.diagnostics.error("bad-url", place, message).hint(hint);
                None
            }
        }
    }
}

fn split_authority(text: &str) -> Result<Authority<'_>, (String, String)> {
    let Some((scheme, after)) = text.split_once("://") else {
        let bare = text.rsplit_once('@').map_or(text, |(_, host)| host);
        return Err((format!("`{bare}` is not a URL"), format!("write http://{bare}")));
    };
    let tls = match scheme {
        "http" | "ws" | "tcp" | "mqtt" => false,
        "https" | "wss" | "tls" | "mqtts" => true,
        _ => {
            let message = format!("URLs of the scheme `{scheme}` are not spoken");
            return Err((
                message,
                "the schemes are http, https, ws, wss, tcp, tls, mqtt and mqtts".to_owned(),
            ));
        }
    };
    let end = after.find(['/', '?', '#']).unwrap_or(after.len());
    let (authority, rest) = after.split_at(end);
    if authority.contains('@') {
        let hint =
            "write `auth: { basic: { user: ann, password: \"${env('PASSWORD')}\" } }`".to_owned();
        return Err(("a URL may not hold a user name or password".to_owned(), hint));
    }
    let Some((host, port)) = split_host(authority) else {
        let form = "write it like https://example.org:8443/path".to_owned();
        return Err((format!("`{authority}` is not a host"), form));
    };
    let port = match port {
        None if matches!(scheme, "tcp" | "tls") => {
            return Err((
                format!("`{text}` has no port"),
                format!("write {scheme}://{authority}:9000"),
            ));
        }
        None if scheme == "mqtt" => 1883,
        None if scheme == "mqtts" => 8883,
        None if tls => 443,
        None => 80,
        Some(port) => match port.parse::<u16>() {
            Ok(port) if port > 0 => port,
            _ => {
                let message = format!("`{port}` is not a port");
                return Err((message, "a port is in 1..=65535".to_owned()));
            }
        },
    };
    let endpoint =
        Endpoint { tls, host: host.to_owned(), port, base_path: String::new(), via: Via::Tcp };
    Ok(Authority { endpoint, rest })
}

/// Host, without the brackets of an IPv6 address, and port as written; `None`: it is not a host.
pub(super) fn split_host(authority: &str) -> Option<(&str, Option<&str>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (host, after) = inner.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            let port = if after.is_empty() { None } else { Some(after.strip_prefix(':')?) };
            return Some((host, port));
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_host = !host.is_empty() && host.len() <= HOST_BYTES_MAX && host.chars().all(fits);
    is_host.then_some((host, port))
}

/// RFC 1035 section 2.3.4, as text without the final dot.
pub(super) const HOST_BYTES_MAX: usize = 253;
