//! Security schemes: credentials come from the environment.

use std::ops::Range;

use scenario::document::node::Node;

use super::{Importer, key_place};
use crate::json::{find, text};
use crate::request::{Field, Header};
use crate::writer::{Item, Map};

/// What the schemes of an operation add to its request.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    pub(super) headers: Vec<Header>,
    pub(super) cookies: Vec<Field>,
    /// Names and values of the query.
    pub(super) query: Vec<(String, String)>,
    pub(super) auth: Option<Item>,
}

impl Importer<'_, '_> {
    /// The credentials of an operation: those of the first requirement that is listed.
    pub(super) fn credentials(&mut self, operation: &Node) -> Credentials {
        let mut found = Credentials::default();
        let root = self.root;
        let list = operation.get("security").or_else(|| root.get("security"));
        let first = list.and_then(Node::sequence).and_then(<[Node]>::first);
        for entry in first.and_then(Node::mapping).unwrap_or_default() {
            let at = entry.key_place.span.clone();
            let schemes = find(root, "components/securitySchemes");
            let scheme = schemes.and_then(|schemes| schemes.get(&entry.key));
            match scheme.and_then(|scheme| self.follow(scheme)) {
                Some(scheme) => {
                    self.schemes.insert(entry.key.clone());
                    let at = schemes.map_or(at, |schemes| key_place(schemes, &entry.key));
                    self.scheme(&entry.key, scheme, &at, &mut found);
                }
                None => {
                    let message = format!("there is no security scheme `{}`", entry.key);
                    self.diagnostics.error("bad-security", at, message);
                }
            }
        }
        found
    }

    /// Names the schemes that no request uses: those of further alternatives, and of what is not sent.
    pub(super) fn report_unused_schemes(&mut self) {
        let schemes = find(self.root, "components/securitySchemes").and_then(Node::mapping);
        let schemes = schemes.unwrap_or_default().iter();
        let unused: Vec<_> = schemes.filter(|own| !self.schemes.contains(&own.key)).collect();
        if let Some(first) = unused.first() {
            let names: Vec<&str> = unused.iter().map(|own| own.key.as_str()).collect();
            let message =
                format!("security schemes that no request uses are left out: {}", names.join(", "));
            self.diagnostics.ignored(first.key_place.span.clone(), message);
        }
    }

    fn scheme(&mut self, name: &str, scheme: &Node, at: &Range<usize>, found: &mut Credentials) {
        let kind = text(scheme, "type");
        let http = text(scheme, "scheme").to_ascii_lowercase();
        match (kind, http.as_str()) {
            ("apiKey", _) => {
                let value = self.secret(name, at);
                let name = text(scheme, "name").to_owned();
                match text(scheme, "in") {
                    "query" => found.query.push((name, value)),
                    "cookie" => found.cookies.push(Field { name, value }),
                    _ => found.headers.push(Header { name, value, at: at.clone() }),
                }
            }
            ("http", "basic" | "digest") => {
                let who = Map::single(
                    at.clone(),
                    "user",
                    Item::Text(self.secret(&format!("{name}_user"), at)),
                )
                .with("password", Item::Text(self.secret(&format!("{name}_password"), at)));
                let auth = Map::single(at.clone(), &http, Item::Map(who));
                self.set_auth(auth, at, found);
            }
            ("http", "bearer") | ("oauth2" | "openIdConnect", _) => {
                let token = Item::Text(self.secret(&format!("{name}_token"), at));
                self.set_auth(Map::single(at.clone(), "bearer", token), at, found);
            }
            ("mutualTLS", _) => {
                let message = "certificates of clients belong to the whole run".to_owned();
                let hint = "write `options: { tls: { cert: …, key: … } }`";
                self.diagnostics.ignored(at.clone(), message).hint(hint);
            }
            _ => {
                let message = format!("the security scheme `{name}` is not carried over");
                self.diagnostics.lost(at.clone(), message);
            }
        }
    }

    /// A request has one header `authorization`.
    fn set_auth(&mut self, auth: Map, at: &Range<usize>, found: &mut Credentials) {
        if found.auth.is_some() {
            let message =
                "a request has one kind of authorization: this one is left out".to_owned();
            self.diagnostics.ignored(at.clone(), message);
            return;
        }
        found.auth = Some(Item::Map(auth));
    }

    /// The same variable for the same scheme.
    fn secret(&mut self, name: &str, at: &Range<usize>) -> String {
        self.secrets.template(name, &format!("scheme {name}"), at)
    }
}
