//! Requests that are signed as a whole.

use plan::Aws;
use plan::expr::{Escape, Template};

use super::Checker;
use super::fields::Fields;
use super::headers::has;
use super::program::Program;
use crate::document::node::{Node, Place};
use crate::keys::{AWS, SIGN};

impl Checker<'_> {
    /// A request's `sign`, else the run's unless the request has `auth`.
    pub(super) fn sign_of(&mut self, fields: &Fields<'_>, program: &Program) -> Option<Box<Aws>> {
        let Some(node) = fields.get("sign") else {
            let has_auth = fields.get("auth").is_some();
            return self.sign.clone().filter(|_| !has_auth);
        };
        let signed = self.sign(node, program)?;
        if let Some(place) = fields.key_place("auth") {
            self.diagnostics
                .error(
                    "bad-sign",
                    place,
                    "a request has either `auth` or `sign`: both write `authorization`",
                )
                .hint("remove one of them");
        }
        Some(signed)
    }

    /// Reports headers of a request that its signature writes.
    pub(super) fn only_signed(
        &mut self,
        signed: Option<&Aws>,
        headers: &[(String, Template)],
        place: &Place,
    ) {
        let Some(signed) = signed else { return };
        // Credentials that do not expire have an empty one, which is not sent.
        let token = signed.session_token.as_ref().filter(|token| token.as_static() != Some(""));
        let token = token.map(|_| "x-amz-security-token");
        for name in ["authorization"].into_iter().chain(token) {
            if has(headers, name) {
                let message = format!("this request is signed and has a header `{name}`, too");
                self.diagnostics
                    .error("bad-sign", place, message)
                    .hint("remove the header, or write `sign: none`");
            }
        }
    }

    /// `None` also where `none` is written.
    pub(super) fn sign(&mut self, node: &Node, program: &Program) -> Option<Box<Aws>> {
        if node.text() == Some("none") {
            return None;
        }
        let fields = self.fields(node, &SIGN, "`sign`")?;
        let fields = self.fields(fields.get("aws")?, &AWS, "`aws`")?;
        let mut template = |key: &str, is_secret: bool| {
            let node = fields.get(key)?;
            let template = self.template(node, Escape::None, program)?;
            if is_secret {
                self.note_secret(node);
            }
            let fault = match template.as_static() {
                Some("") if key != "session_token" => Some("is empty"),
                Some(text) if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
                    Some("holds blanks, line breaks or letters beyond ASCII")
                }
                _ => None,
            };
            if let Some(fault) = fault {
                self.diagnostics
                    .error("bad-sign", &node.place, format!("`{key}` {fault}"))
                    .hint("if it is from the environment, look at the variable's value");
            }
            Some(template)
        };
        let region = template("region", false);
        let access_key = template("access_key", true);
        let secret_key = template("secret_key", true);
        let session_token = template("session_token", true);
        let service = fields.get("service").and_then(|node| self.word(node, "a service's name"));
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if let Some(word) = &service
            && (word.text.is_empty() || !word.text.chars().all(is_name))
        {
            let message = format!("`{}` is not the name of a service", word.text);
            self.diagnostics
                .error("bad-sign", &word.place, message)
                .hint("write it as in its endpoints: s3, execute-api, dynamodb");
        }
        let payload = self.option_choice(&AWS, &fields, "payload");
        Some(Box::new(Aws {
            service: service?.text,
            region: region?,
            access_key: access_key?,
            secret_key: secret_key?,
            session_token,
            signs_body: payload == 0,
        }))
    }
}
