//! Conditions, and what to say of one that is false.

use std::sync::Arc;

use serde::Serialize;

use super::{Binary, Context, EvalError, Expr, Value};
use crate::ids::Slot;

/// Characters of a value that are shown.
const SHOWN_MAX: usize = 80;

/// An expression that is to be true, with its text as it was written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Condition {
    pub expr: Expr,
    pub text: Arc<str>,
}

impl Condition {
    /// Whether it is true for this user.
    pub fn holds<C: Context>(&self, context: &mut C) -> Result<bool, EvalError> {
        self.expr.eval_bool(context)
    }

    /// The condition's outcome, and the values that led to it: `` `len(items) >= 3` is false: left
    /// side 2, items = "ab" ``. `names` are those of the variables. The user's generator is left as
    /// it was.
    pub fn explain<C: Context>(&self, context: &mut C, names: &[String]) -> String {
        let rng = *context.rng();
        let mut values = Vec::new();
        let result = match self.expr.eval_bool(context) {
            Ok(truth) => {
                if !truth {
                    sides(&self.expr, context, &mut values);
                }
                truth.to_string()
            }
            Err(error) => format!("no condition: {error}"),
        };
        *context.rng() = rng;
        let mut slots = Vec::new();
        variables(&self.expr, &mut slots);
        for slot in slots {
            let value = shown(context.var(slot));
            let name = names.get(slot.index()).map_or("?", String::as_str);
            values.push(format!("{name} = {value}"));
        }
        let colon = if values.is_empty() { "" } else { ": " };
        format!("`{}` is {result}{colon}{}", self.text, values.join(", "))
    }
}

/// Computed sides of the comparisons because of which the expression is false.
fn sides<C: Context>(expr: &Expr, context: &mut C, out: &mut Vec<String>) {
    match expr {
        Expr::Binary(Binary::And, left, right) => match left.eval_bool(context) {
            Ok(true) => sides(right, context, out),
            _ => sides(left, context, out),
        },
        Expr::Binary(Binary::Or, left, right) => {
            sides(left, context, out);
            sides(right, context, out);
        }
        Expr::Binary(op, left, right) if op.compares() => {
            for (name, side) in [("left", left), ("right", right)] {
                if !matches!(**side, Expr::Const(_) | Expr::Var(_))
                    && let Ok(value) = side.eval(context)
                {
                    out.push(format!("{name} side {}", shown(&value)));
                }
            }
        }
        _ => {}
    }
}

/// The variables that it reads, each once, in their order.
fn variables(expr: &Expr, out: &mut Vec<Slot>) {
    match expr {
        Expr::Var(slot) if !out.contains(slot) => out.push(*slot),
        Expr::Const(_) | Expr::Var(_) | Expr::Shared(_) | Expr::User | Expr::Iteration => {}
        Expr::Call(_, args) | Expr::Script(_, args) | Expr::Token(_, args) => {
            args.iter().for_each(|arg| variables(arg, out));
        }
        Expr::Unary(_, inner) | Expr::Places(_, inner) | Expr::Protobuf(_, inner) => {
            variables(inner, out);
        }
        Expr::Binary(_, left, right) => {
            variables(left, out);
            variables(right, out);
        }
    }
}

/// A value as people read it: text in quotes, shortened.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Nothing => "nothing".to_owned(),
        Value::Text(text) => {
            let short: String = text.chars().take(SHOWN_MAX).collect();
            let more = if short.len() < text.len() { "…" } else { "" };
            format!("{short:?}{more}")
        }
        Value::Number(text) if text.len() > SHOWN_MAX => format!("{}…", &text[..SHOWN_MAX]),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
        other => other.to_text().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use stats::rng::{Purpose, Rng};

    use super::*;
    use crate::expr::{Func, Unary};

    struct User {
        vars: Vec<Value>,
        rng: Rng,
    }

    impl Context for User {
        fn var(&self, slot: Slot) -> &Value {
            &self.vars[slot.index()]
        }
        fn user(&self) -> u64 {
            7
        }
        fn iteration(&self) -> u64 {
            0
        }
        fn now_ms(&self) -> i64 {
            0
        }
        fn rng(&mut self) -> &mut Rng {
            &mut self.rng
        }
    }

    fn user() -> User {
        User {
            vars: vec![Value::Int(2), Value::text("ab"), Value::Nothing],
            rng: Rng::new(1, 7, Purpose::Value),
        }
    }

    fn var(slot: u16) -> Box<Expr> {
        Box::new(Expr::Var(Slot(slot)))
    }

    fn int(value: i64) -> Box<Expr> {
        Box::new(Expr::Const(Value::Int(value)))
    }

    fn explained(expr: Expr, text: &str) -> String {
        let names = ["total", "items", "token"].map(str::to_owned);
        let text = text.into();
        Condition { expr, text }.explain(&mut user(), &names)
    }

    #[test]
    fn a_false_condition_is_shown_with_its_values() {
        let more = |left, right| Expr::Binary(Binary::GreaterEqual, left, right);
        assert_eq!(
            explained(more(var(0), int(3)), "total >= 3"),
            "`total >= 3` is false: total = 2"
        );
        let len = Box::new(Expr::Call(Func::Len, vec![*var(1)]));
        assert_eq!(
            explained(more(len.clone(), int(3)), "len(items) >= 3"),
            "`len(items) >= 3` is false: left side 2, items = \"ab\""
        );
        let both = Expr::Binary(
            Binary::And,
            Box::new(more(len, int(1))),
            Box::new(Expr::Unary(Unary::Not, var(0))),
        );
        assert_eq!(
            explained(both, "len(items) >= 1 and not total"),
            "`len(items) >= 1 and not total` is false: items = \"ab\", total = 2"
        );
        assert_eq!(explained(*var(2), "token"), "`token` is false: token = nothing");
    }

    #[test]
    fn explaining_draws_no_random_number() {
        let draw = Expr::Call(Func::Random, vec![*int(1), *int(1_000_000)]);
        let condition = Condition {
            expr: Expr::Binary(Binary::Less, Box::new(draw), int(0)),
            text: "random(1, 1000000) < 0".into(),
        };
        let mut user = user();
        let next = { user.rng }.next_u64();
        let text = condition.explain(&mut user, &[]);
        assert!(text.contains("is false: left side "), "{text}");
        assert_eq!(user.rng.next_u64(), next);
    }
}
