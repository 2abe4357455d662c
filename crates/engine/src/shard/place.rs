//! Which endpoint a step goes to, where that is not the same for every user.

use plan::expr::{Context, Escape, Value};
use plan::{EndpointId, HttpOp};
use stats::rng::{Purpose, Rng};

use super::Shard;
use crate::arrivals::by_weight;

impl Shard<'_> {
    /// The endpoint that a step of this user goes to, where the plan says `planned`: of several
    /// servers the user's own, which follows from its number.
    pub(super) fn endpoint_of(&self, key: u32, planned: EndpointId) -> EndpointId {
        let servers = &self.plan.servers;
        if planned != 0 || servers.is_empty() {
            return planned;
        }
        let share = Rng::new(self.plan.seed, self.users[key].number, Purpose::Server).unit();
        servers[by_weight(share, servers.iter().map(|(_, weight)| *weight))].0
    }

    /// The endpoint of a request. The error says why there is none.
    pub(super) fn locate(&mut self, key: u32, http: &HttpOp) -> Result<EndpointId, String> {
        let Some(slot) = http.located_by else {
            return Ok(self.endpoint_of(key, http.endpoint));
        };
        let text = self.users[key].scope(0).var(slot).to_text();
        let Some((tls, authority)) = split(&text) else {
            return Ok(self.endpoint_of(key, 0));
        };
        let mut known = self.plan.endpoints.iter().zip(&self.wires.authorities);
        let found = known.position(|(endpoint, known)| {
            endpoint.tls == tls && known.eq_ignore_ascii_case(without_default_port(tls, authority))
        });
        found.map(|at| at as EndpointId).ok_or_else(|| {
            format!(
                "{text:?} is at a host that the scenario does not name; it can only go to: {}",
                self.wires.authorities.join(", ")
            )
        })
    }
}

/// The path and query of a located request: the variable's URL without its scheme and host.
pub(crate) fn path_below(value: &Value, base_path: &str) -> Vec<u8> {
    let mut text = Vec::new();
    value.write_escaped(Escape::UrlRaw, &mut text);
    let text = String::from_utf8_lossy(&text);
    let path = match split(&text) {
        Some((_, authority)) => {
            let after = text.find("://").map_or(0, |at| at + 3) + authority.len();
            text[after..].to_owned()
        }
        None => format!("{base_path}{}{text}", slash_before(&text)),
    };
    format!("{}{path}", slash_before(&path)).into_bytes()
}

fn slash_before(path: &str) -> &'static str {
    if path.starts_with('/') { "" } else { "/" }
}

/// Whether a URL wants TLS, and its host and port as written; `None`: it is a path.
fn split(text: &str) -> Option<(bool, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let tls = match scheme {
        "http" => false,
        "https" => true,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    Some((tls, authority))
}

fn without_default_port(tls: bool, authority: &str) -> &str {
    let port = if tls { ":443" } else { ":80" };
    authority.strip_suffix(port).unwrap_or(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_url_leaves_its_path() {
        let path = |text: &str| String::from_utf8(path_below(&Value::text(text), "/base")).unwrap();
        assert_eq!(path("/a%20b c"), "/base/a%20b%20c");
        assert_eq!(path("a"), "/base/a");
        assert_eq!(path("http://host:80/x?y=1"), "/x?y=1");
        assert_eq!(path("https://host"), "/");
        assert_eq!(path("https://host?q"), "/?q");
        assert_eq!(path("ftp://host/x"), "/base/ftp://host/x");
    }

    #[test]
    fn only_whole_urls_have_a_host() {
        assert_eq!(split("http://a:1/x"), Some((false, "a:1")));
        assert_eq!(split("https://a"), Some((true, "a")));
        assert_eq!(split("/x?u=http://a"), None);
        assert_eq!(split(""), None);
    }
}
