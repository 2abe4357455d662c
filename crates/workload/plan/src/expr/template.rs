//! Writing templates.

use std::sync::Arc;

use super::{Context, Escape, EvalError, Expr, Template, TemplatePart, Value};

/// Puts a template together; neighbouring texts become one part.
#[derive(Debug, Default)]
pub struct Builder {
    parts: Vec<TemplatePart>,
    text: String,
}

impl Builder {
    pub fn push_text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Appends an expression; one that is constant becomes text at once.
    pub fn push_expr(&mut self, expr: Expr, escape: Escape) {
        if let Expr::Const(value) = &expr
            && !matches!(value, Value::Bytes(_))
        {
            let mut out = Vec::new();
            value.write_escaped(escape, &mut out);
            self.text.push_str(&String::from_utf8_lossy(&out));
            return;
        }
        self.end_text();
        self.parts.push(TemplatePart::Expr(expr, escape));
    }

    pub fn push(&mut self, template: Template) {
        for part in template.parts {
            match part {
                TemplatePart::Text(text) => self.push_text(&text),
                TemplatePart::Bytes(bytes) => self.push_bytes(bytes),
                TemplatePart::Expr(expr, escape) => self.push_expr(expr, escape),
            }
        }
    }

    pub fn push_bytes(&mut self, bytes: Arc<[u8]>) {
        self.end_text();
        self.parts.push(TemplatePart::Bytes(bytes));
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            self.parts.push(TemplatePart::Text(Arc::from(self.text.as_str())));
            self.text.clear();
        }
    }

    pub fn finish(mut self) -> Template {
        self.end_text();
        Template { parts: self.parts }
    }
}

impl Template {
    /// A template without expressions.
    pub fn fixed(text: &str) -> Template {
        if text.is_empty() {
            return Template::default();
        }
        Template { parts: vec![TemplatePart::Text(Arc::from(text))] }
    }

    /// Appends the template's text for this user to `out`, which holds a part of it on an error.
    pub fn render<C: Context>(&self, context: &mut C, out: &mut Vec<u8>) -> Result<(), EvalError> {
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => out.extend_from_slice(text.as_bytes()),
                TemplatePart::Bytes(bytes) => out.extend_from_slice(bytes),
                TemplatePart::Expr(Expr::Var(slot), escape) => {
                    context.var(*slot).write_escaped(*escape, out);
                }
                TemplatePart::Expr(Expr::Shared(slot), escape) => {
                    context.shared(*slot).write_escaped(*escape, out);
                }
                TemplatePart::Expr(expr, escape) => expr.eval(context)?.write_escaped(*escape, out),
            }
        }
        Ok(())
    }

    /// The template as a variable's value: a single expression keeps its type, all else is text, or bytes if these are no
    /// UTF-8.
    pub fn eval<C: Context>(&self, context: &mut C) -> Result<Value, EvalError> {
        if let [TemplatePart::Expr(expr, _)] = self.parts.as_slice() {
            return expr.eval(context);
        }
        if let [TemplatePart::Text(text)] = self.parts.as_slice() {
            return Ok(Value::Text(Arc::clone(text)));
        }
        let mut out = Vec::new();
        self.render(context, &mut out)?;
        Ok(match String::from_utf8(out) {
            Ok(text) => Value::Text(text.into()),
            Err(error) => Value::Bytes(error.into_bytes().into()),
        })
    }

    /// The template's text, if it is the same for every user.
    pub fn as_static(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [TemplatePart::Text(text)] => Some(text),
            _ => None,
        }
    }
}
