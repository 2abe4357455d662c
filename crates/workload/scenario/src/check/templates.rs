//! Text and JSON that is filled in for each user, and expressions.

use plan::expr::template::Builder;
use plan::expr::value::{Number, write_json_text};
use plan::expr::{Condition, Escape, Expr, Template, TemplatePart, Value};

use super::names::Names;
use super::program::Program;
use super::{Checker, translation};
use crate::document::node::{Node, NodeKind, Scalar};
use crate::expression::{ExprError, Scope, expression, lone_expression, template};
use crate::keys::other_tools;

impl Checker<'_> {
    /// Reports an error inside a scalar's expression.
    pub(super) fn expression_error(&mut self, node: &Node, error: &ExprError) {
        let text = node.text().unwrap_or_default();
        // A name that is not known, or the dot behind one.
        let is_name = ["undefined-variable", "unknown-function"].contains(&error.code);
        let is_member = text.get(error.span.clone()).is_some_and(|part| part.starts_with('.'));
        let other = match is_name || is_member {
            true => other_tools::hint_in_expression(text, &error.span),
            false => None,
        };
        let hint = other.or_else(|| error.hint.clone());
        self.diagnostics.error(error.code, &node.part(&error.span), &error.message).hint_some(hint);
    }

    /// A condition or count: an expression, with or without `${…}` around it.
    pub(super) fn expression(&mut self, node: &Node, program: &Program) -> Option<Expr> {
        let Some(scalar) = node.scalar().filter(|_| !node.is_null()) else {
            self.expected(node, "an expression");
            return None;
        };
        let names = Names::new(self, Some(&program.slot_names));
        let parsed = expression(&scalar.text, &names).map_err(|error| {
            let meant = translation::without_braces(&scalar.text);
            match meant.filter(|meant| expression(meant, &names).is_ok()) {
                Some(meant) => error.hint(format!(
                    "write `{meant}`: variables stand without ${{ }} in an expression"
                )),
                None => error,
            }
        });
        parsed.map_err(|error| self.expression_error(node, &error)).ok()
    }

    /// One condition or a list of them.
    pub(super) fn conditions(&mut self, node: Option<&Node>, program: &Program) -> Vec<Condition> {
        let nodes = node.map_or(&[][..], |node| self.one_or_more(node));
        let condition = |node: &Node| {
            let expr = self.expression(node, program)?;
            let text = node.text().unwrap_or_default().into();
            Some(Condition { expr, text })
        };
        nodes.iter().filter_map(condition).collect()
    }

    /// Text with `${…}` in it. Nothing written is empty text.
    pub(super) fn template(
        &mut self,
        node: &Node,
        escape: Escape,
        program: &Program,
    ) -> Option<Template> {
        if node.is_null() {
            return Some(Template::default());
        }
        let Some(text) = node.text() else {
            self.expected(node, "text");
            return None;
        };
        if self.note_placeholder(node, text, escape, program) {
            return None;
        }
        let parsed = template(text, escape, &Names::new(self, Some(&program.slot_names)));
        parsed.map_err(|error| self.expression_error(node, &error)).ok()
    }

    /// Reports a variable between the signs of another tool, which would be sent as they stand: an error in a URL, a
    /// warning elsewhere. Returns whether it is an error.
    fn note_placeholder(
        &mut self,
        node: &Node,
        text: &str,
        escape: Escape,
        program: &Program,
    ) -> bool {
        let names = Names::new(self, Some(&program.slot_names));
        let Some(found) = translation::placeholder(text, |name| names.names().contains(&name))
        else {
            return false;
        };
        let is_error = escape == Escape::Url;
        let place = node.part(&found.range);
        let message = format!("`{}` is not filled in", found.written);
        let diagnostic = match is_error {
            true => self.diagnostics.error("other-placeholder", &place, message),
            false => self.diagnostics.warning("other-placeholder", &place, message),
        };
        diagnostic.hint(format!("write `{}`", found.meant));
        is_error
    }

    /// A variable's new value: a bare number or word and a lone `${…}` keep their type, mappings
    /// and lists become JSON text.
    pub(super) fn typed_template(&mut self, node: &Node, program: &Program) -> Option<Template> {
        let Some(scalar) = node.scalar() else {
            return self.json(node, program);
        };
        if !scalar.quoted && !scalar.text.contains("${") {
            let value = Value::from_plain(&scalar.text);
            return Some(Template {
                parts: vec![TemplatePart::Expr(Expr::Const(value), Escape::None)],
            });
        }
        match self.lone(node, scalar, program)? {
            Some(expr) => Some(Template { parts: vec![TemplatePart::Expr(expr, Escape::None)] }),
            None => self.template(node, Escape::None, program),
        }
    }

    fn lone(&mut self, node: &Node, scalar: &Scalar, program: &Program) -> Option<Option<Expr>> {
        let names = Names::new(self, Some(&program.slot_names));
        let found = lone_expression(&scalar.text, &names);
        found.map_err(|error| self.expression_error(node, &error)).ok()
    }

    /// A value as JSON text. Mappings keep the order of their keys.
    pub(super) fn json(&mut self, node: &Node, program: &Program) -> Option<Template> {
        let mut out = Builder::default();
        self.json_value(node, program, &mut out).map(|()| out.finish())
    }

    fn json_value(&mut self, node: &Node, program: &Program, out: &mut Builder) -> Option<()> {
        match &node.kind {
            NodeKind::Scalar(scalar) => self.json_scalar(node, scalar, program, out),
            NodeKind::Sequence(items) => {
                out.push_text("[");
                // Errors of all items are reported, not only the first one's.
                let mut complete = Some(());
                for (index, item) in items.iter().enumerate() {
                    out.push_text(if index > 0 { "," } else { "" });
                    complete = complete.and(self.json_value(item, program, out));
                }
                out.push_text("]");
                complete
            }
            NodeKind::Mapping(entries) => {
                out.push_text("{");
                let mut complete = Some(());
                for (index, entry) in entries.iter().enumerate() {
                    out.push_text(if index > 0 { "," } else { "" });
                    self.note_named(&entry.key, &entry.value);
                    out.push_text(&json_text(&entry.key));
                    out.push_text(":");
                    let done = self.json_value(&entry.value, program, out);
                    complete = complete.and(done);
                }
                out.push_text("}");
                complete
            }
        }
    }

    fn json_scalar(
        &mut self,
        node: &Node,
        scalar: &Scalar,
        program: &Program,
        out: &mut Builder,
    ) -> Option<()> {
        if !scalar.text.contains("${") {
            self.note_placeholder(node, &scalar.text, Escape::Json, program);
            out.push_text(&plain_json(scalar));
            return Some(());
        }
        if let Some(expr) = self.lone(node, scalar, program)? {
            out.push_expr(expr, Escape::Json);
            return Some(());
        }
        let inner = self.template(node, Escape::JsonText, program)?;
        out.push_text("\"");
        out.push(inner);
        out.push_text("\"");
        Some(())
    }
}

/// A scalar without expressions: bare numbers, `true`, `false` and `null` by type, numbers as
/// they are written where JSON writes them so too.
fn plain_json(scalar: &Scalar) -> String {
    if scalar.quoted {
        return json_text(&scalar.text);
    }
    if Number::parse(&scalar.text).is_some()
        && serde_json::from_str::<serde_json::Number>(&scalar.text).is_ok()
    {
        return scalar.text.clone();
    }
    let mut out = Vec::new();
    Value::from_plain(&scalar.text).write_escaped(Escape::Json, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn json_text(text: &str) -> String {
    let mut out = vec![b'"'];
    write_json_text(text, &mut out);
    out.push(b'"');
    String::from_utf8_lossy(&out).into_owned()
}
