//! Authentication: headers, or what answers a challenge.

use crate::keys::{AUTH, CREDENTIALS};
use plan::Digest;
use plan::expr::eval::fold_call;
use plan::expr::template::Builder;
use plan::expr::{Escape, Expr, Func, Template, TemplatePart, Value};

use super::fields::Fields;
use super::headers::{add_absent, has};
use super::program::Program;
use super::{Checker, translation};
use crate::document::node::Node;

/// How a request says who the user is.
#[derive(Debug, Clone)]
pub(super) enum Auth {
    /// The value of `Authorization`.
    Header(Template),
    Challenge(Digest),
}

impl Checker<'_> {
    /// A step's `auth`, else the run's.
    pub(super) fn auth_of(&mut self, fields: &Fields<'_>, program: &Program) -> Option<Auth> {
        match fields.get("auth") {
            Some(node) => self.auth(node, program),
            None => self.auth.clone(),
        }
    }

    /// The header line of a step that cannot answer challenges: a handshake, a stream or a poll.
    pub(super) fn add_auth(
        &mut self,
        fields: &Fields<'_>,
        headers: &mut Vec<(String, Template)>,
        program: &Program,
    ) {
        self.one_authorization(fields, headers);
        match (self.auth_of(fields, program), fields.key_place("auth")) {
            (Some(Auth::Header(value)), _) => add_absent(headers, "authorization", &value),
            (Some(Auth::Challenge(_)), Some(place)) => {
                self.diagnostics
                    .error("bad-auth", place, "only requests can answer digest challenges")
                    .hint("sign in with a request first, and use its cookies");
            }
            // The run's own is meant for its requests.
            (Some(Auth::Challenge(_)), None) | (None, _) => {}
        }
    }

    /// Reports an `auth` beside a header that says the same.
    pub(super) fn one_authorization(
        &mut self,
        fields: &Fields<'_>,
        headers: &[(String, Template)],
    ) {
        let writes = fields.get("auth").is_some_and(|node| node.text() != Some("none"));
        let Some(place) = fields.key_place("auth") else { return };
        if writes && has(headers, "authorization") {
            self.diagnostics
                .error("bad-auth", place, "this step has either `auth` or a header `authorization`")
                .hint("remove one of them");
        }
    }

    /// `None` also where `none` is written.
    pub(super) fn auth(&mut self, node: &Node, program: &Program) -> Option<Auth> {
        if node.text() == Some("none") {
            return None;
        }
        if let Some(hint) = translation::auth_meant(node) {
            self.diagnostics
                .error(
                    "bad-auth",
                    &node.place,
                    "`auth` is a mapping that names the kind of credentials",
                )
                .hint(hint);
            return None;
        }
        let fields = self.fields(node, &AUTH, "`auth`")?;
        let written: Vec<_> = AUTH.names().filter_map(|n| Some((n, fields.get(n)?))).collect();
        let [(kind, value)] = written[..] else {
            self.diagnostics
                .error("bad-auth", &node.place, "`auth` needs exactly one kind of credentials")
                .hint("write it like { basic: { user: ann, password: \"${env('PASSWORD')}\" } }");
            return None;
        };
        if kind == "bearer" {
            let token = self.secret(value, program)?;
            let mut header = Builder::default();
            header.push_text("Bearer ");
            header.push(token);
            return Some(Auth::Header(header.finish()));
        }
        let fields = self.fields(value, &CREDENTIALS, &format!("`{kind}`"))?;
        let user = fields.get("user").and_then(|node| self.template(node, Escape::None, program));
        let password = fields.get("password").and_then(|node| self.secret(node, program));
        let user = user?;
        let password = password?;
        if kind == "digest" {
            return Some(Auth::Challenge(Digest { user, password }));
        }
        if user.as_static().is_some_and(|user| user.contains(':')) {
            let message = "basic authentication does not allow a colon in the user name";
            self.diagnostics.error("bad-auth", &value.place, message);
        }
        Some(Auth::Header(basic(user, password)))
    }

    /// A password or token.
    fn secret(&mut self, node: &Node, program: &Program) -> Option<Template> {
        let secret = self.template(node, Escape::None, program)?;
        self.note_secret(node);
        Some(secret)
    }
}

/// `Basic` and the base64 of `user:password` (RFC 7617).
fn basic(user: Template, password: Template) -> Template {
    let colon = Template::fixed(":");
    let parts = [user, colon, password].into_iter().flat_map(|t| t.parts);
    let args: Vec<Expr> = parts
        .map(|part| match part {
            TemplatePart::Text(text) => Expr::Const(Value::Text(text)),
            TemplatePart::Bytes(bytes) => {
                Expr::Const(Value::text(&String::from_utf8_lossy(&bytes)))
            }
            TemplatePart::Expr(expr, _) => expr,
        })
        .collect();
    let constant = |arg: &Expr| match arg {
        Expr::Const(value) => Some(value.clone()),
        _ => None,
    };
    let constants: Option<Vec<Value>> = args.iter().map(constant).collect();
    let folded = constants.and_then(|args| fold_call(Func::Base64, &args)?.ok());
    let encoded = folded.map_or(Expr::Call(Func::Base64, args), Expr::Const);
    let mut header = Builder::default();
    header.push_text("Basic ");
    header.push_expr(encoded, Escape::None);
    header.finish()
}
