//! Authorization of Postman's requests.

use std::ops::Range;

use scenario::document::node::Node;

use super::Importer;
use crate::json::text;
use crate::request::{Header, basic};
use crate::writer::{Item, Map};

/// How a request says who the user is.
pub(super) enum Auth {
    /// A key of the step, and its value.
    Key(&'static str, Item),
    Header(Header),
    /// A name and value of the query.
    Query(String, String),
}

impl Importer<'_> {
    pub(super) fn auth(&mut self, node: &Node) -> Option<Auth> {
        let kind = text(node, "type");
        let at = node.place.span.clone();
        // Format 2.1 has a list of keys and values, format 2.0 an object.
        let value = |key: &str| {
            let fields = node.get(kind)?;
            let found = match fields.sequence() {
                Some(list) => list.iter().find(|field| text(field, "key") == key)?.get("value")?,
                None => fields.get(key)?,
            };
            found.text().filter(|_| !found.is_null()).map(str::to_owned)
        };
        let get = |key: &str| value(key).unwrap_or_default();
        match kind {
            "" | "noauth" => None,
            "bearer" => {
                let token = get("token");
                Some(self.bearer(&token, &at))
            }
            "oauth2" => {
                let token = get("accessToken");
                if token.is_empty() {
                    let message =
                        "the token of OAuth 2 is read from the environment: nothing fetches it";
                    self.diagnostics
                        .stand_in(at.clone(), message.to_owned())
                        .hint("write a request for it before, with `save`");
                }
                Some(self.bearer(&token, &at))
            }
            "basic" | "digest" => {
                let user = self.template(&get("username"), &at);
                let password = self.template(&get("password"), &at);
                let kind = if kind == "basic" { "basic" } else { "digest" };
                Some(Auth::Key("auth", basic(kind, &user, &password, &at, &mut self.secrets)))
            }
            "apikey" => {
                let name = get("key");
                let value = self.template(&get("value"), &at);
                let value = match value.contains("${") || value.is_empty() {
                    true => value,
                    false => self.secrets.template(&name, &value, &at),
                };
                Some(match get("in").as_str() {
                    "query" => Auth::Query(name, value),
                    _ => Auth::Header(Header { name, value, at }),
                })
            }
            "awsv4" => {
                let mut aws = Map::new(at.clone());
                aws.put("service", Item::Text(get("service")));
                let region = self.template(&get("region"), &at);
                aws.put("region", Item::Text(region));
                for (key, original) in [("access_key", "accessKey"), ("secret_key", "secretKey")] {
                    let value = self.template(&get(original), &at);
                    let value = match value.contains("${") {
                        true => value,
                        false => self.secrets.template(key, &value, &at),
                    };
                    aws.put(key, Item::Text(value));
                }
                let token = self.template(&get("sessionToken"), &at);
                if !token.is_empty() {
                    let token = self.secrets.named("session_token", &token, &at);
                    aws.put("session_token", Item::Text(token));
                }
                let sign = Map::single(at.clone(), "aws", Item::Map(aws));
                Some(Auth::Key("sign", Item::Map(sign)))
            }
            _ => {
                let message = format!("the authorization `{kind}` is not carried over");
                self.diagnostics.lost(at, message);
                None
            }
        }
    }

    fn bearer(&mut self, token: &str, at: &Range<usize>) -> Auth {
        let token = self.template(token, at);
        let token = match token.contains("${") {
            true => token,
            false => self.secrets.template("token", &token, at),
        };
        let bearer = Map::single(at.clone(), "bearer", Item::Text(token));
        Auth::Key("auth", Item::Map(bearer))
    }
}
