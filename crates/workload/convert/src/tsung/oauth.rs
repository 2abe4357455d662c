//! `<oauth>`: requests signed by OAuth 1.0 (RFC 5849 section 3.4). Steps before the request compute what is signed.

use roxmltree::Node;

use super::attributes::value_at;
use super::places::Server;
use super::text::Form;
use super::{Importer, Item, Map, elements, opening};
use crate::request::percent_decoded;
use crate::template::{form_value, url_value};

/// The request that is signed.
pub(super) struct Signed<'a> {
    pub(super) method: &'a str,
    /// As it is written, with its variables.
    pub(super) url: &'a str,
    /// The fields of a form as they are written; empty if the body is none.
    pub(super) form: &'a str,
    pub(super) subst: bool,
}

/// A parameter in the order of RFC 5849 section 3.4.1.3.2: names and values are encoded templates.
type Parameters = Vec<(String, String)>;

impl Importer<'_> {
    /// The header that signs a request, if the document wants it signed; adds the steps that it needs.
    pub(super) fn signature(
        &mut self,
        node: Node<'_, '_>,
        request: &Signed<'_>,
        steps: &mut Vec<Map>,
    ) -> Option<String> {
        let oauth = elements(node).find(|part| part.tag_name().name() == "oauth")?;
        self.known_attributes(oauth);
        let key = self.encoded(oauth, "consumer_key", request.subst);
        let secret = self.encoded(oauth, "consumer_secret", request.subst);
        self.required(oauth, "consumer_key")?;
        self.required(oauth, "consumer_secret")?;
        let token = self.encoded(oauth, "access_token", request.subst);
        let token_secret = self.encoded(oauth, "access_token_secret", request.subst);
        // Tsung's own example writes `method`, which Tsung does not read.
        let kind = match oauth.attribute("encoding") {
            Some(_) => self.word(oauth, "encoding", &["HMAC-SHA1", "PLAINTEXT", "RSA-SHA1"])?,
            None => "HMAC-SHA1",
        };
        let at = opening(oauth);
        let signs = format!("{secret}&{token_secret}");
        let nonce = self.helper("oauth_nonce");
        let time = self.helper("oauth_time");
        let fresh = Map::single(at.clone(), &nonce, Item::Text("${random_string(10)}".to_owned()))
            .with(&time, Item::Text("${int(now() / 1000)}".to_owned()));
        let mut own: Parameters = vec![
            ("oauth_consumer_key".to_owned(), key),
            ("oauth_nonce".to_owned(), format!("${{{nonce}}}")),
            ("oauth_signature_method".to_owned(), kind.to_owned()),
            ("oauth_timestamp".to_owned(), format!("${{{time}}}")),
            ("oauth_version".to_owned(), "1.0".to_owned()),
        ];
        if !token.is_empty() {
            own.push(("oauth_token".to_owned(), token));
        }
        let signature = match kind {
            "PLAINTEXT" => {
                steps.push(Map::single(at, "set", Item::Map(fresh)));
                form_value(&signs)
            }
            "HMAC-SHA1" => {
                let address = self.signed_address(oauth, request)?;
                let query = request.url.split_once('?').map_or("", |(_, query)| query);
                let mut all = own.clone();
                all.extend(self.parameters(query, oauth, request.subst));
                all.extend(self.parameters(request.form, oauth, request.subst));
                all.sort();
                let all: Vec<String> =
                    all.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
                let signed = self.helper("oauth_parameters");
                let base = self.helper("oauth_base");
                let with = self.helper("oauth_key");
                let fresh = Map::single(at.clone(), "set", Item::Map(fresh));
                let parameters = Map::single(at.clone(), &signed, Item::Text(all.join("&")));
                let text = format!("{}&{address}&${{url({signed})}}", request.method);
                let texts =
                    Map::single(at.clone(), &base, Item::Text(text)).with(&with, Item::Text(signs));
                steps.push(fresh);
                steps.push(Map::single(at.clone(), "set", Item::Map(parameters)));
                steps.push(Map::single(at, "set", Item::Map(texts)));
                format!("${{url(hmac_sha1({with}, {base}, 'base64'))}}")
            }
            other => {
                let message = format!("signatures by {other} are not supported");
                self.diagnostics.lost(value_at(oauth, "encoding"), message);
                return None;
            }
        };
        own.insert(0, ("oauth_signature".to_owned(), signature));
        let own: Vec<String> =
            own.into_iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        Some(format!("OAuth {}", own.join(", ")))
    }

    /// An attribute as a template whose value is percent-encoded; empty if it is not there.
    fn encoded(&mut self, node: Node<'_, '_>, name: &str, subst: bool) -> String {
        let text = node.attribute(name).unwrap_or_default();
        let at = value_at(node, name);
        let template = self.template(text, subst, Form::Plain, &at);
        form_value(&template)
    }

    /// The address without its query, encoded. It names the server, which has to be known.
    fn signed_address(&mut self, oauth: Node<'_, '_>, request: &Signed<'_>) -> Option<String> {
        let at = opening(oauth);
        let base = match (&self.session.base, self.servers.as_slice()) {
            (Some(base), _) => base.clone(),
            (None, [one]) => Server::url(one),
            _ => {
                let message = "a signature names the server, of which there are several".to_owned();
                self.diagnostics.lost(at, message);
                return None;
            }
        };
        // Of each scheme the own port is not named (section 3.4.1.2).
        let base = base.strip_suffix(":80").filter(|_| base.starts_with("http:")).unwrap_or(&base);
        let base = base.strip_suffix(":443").filter(|_| base.starts_with("https:")).unwrap_or(base);
        let bare = request.url.split(['?', '#']).next().unwrap_or_default();
        let path = match bare.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
            None => bare,
        };
        let slash = if path.starts_with('/') { "" } else { "/" };
        let path = self.template(&format!("{slash}{path}"), request.subst, Form::Plain, &at);
        let address = format!("{}{path}", base.to_ascii_lowercase());
        Some(form_value(&address))
    }

    /// Parameters of a query or a form, decoded, and encoded as a signature has them.
    fn parameters(&mut self, text: &str, oauth: Node<'_, '_>, subst: bool) -> Parameters {
        let mut found = Vec::new();
        // Tsung signs only what has a name and a value.
        for (name, value) in text.split('&').filter_map(|pair| pair.split_once('=')) {
            let value = percent_decoded(value);
            let value = self.template(&value, subst, Form::Plain, &opening(oauth));
            found.push((url_value(&percent_decoded(name)), form_value(&value)));
        }
        found
    }
}
