//! Expressions and templates that may take long to evaluate, so that the engine times them.

use super::{Expr, Func, Pure, Template, TemplatePart};

/// Fewer bytes that never vary are copied in no time to speak of.
const LARGE_BYTES_MIN: usize = 64 << 10;

impl Expr {
    /// True if it calls a script, signs, hashes, or reads a JSON text: that takes much longer than to read a clock.
    pub fn computes(&self) -> bool {
        match self {
            Expr::Const(_) | Expr::Var(_) | Expr::Shared(_) | Expr::User | Expr::Iteration => false,
            Expr::Script(..) | Expr::Token(..) | Expr::Protobuf(..) | Expr::Places(..) => true,
            Expr::Call(function, args) => function.computes() || args.iter().any(Expr::computes),
            Expr::Unary(_, inner) => inner.computes(),
            Expr::Binary(_, left, right) => left.computes() || right.computes(),
        }
    }
}

impl Func {
    fn computes(self) -> bool {
        match self {
            Func::Json | Func::Items => true,
            Func::Pure(function) => function.computes(),
            Func::Random
            | Func::RandomFloat
            | Func::RandomString
            | Func::RandomBytes
            | Func::Zipfian
            | Func::Latest
            | Func::Hotspot
            | Func::Pick
            | Func::PickAt
            | Func::Uuid
            | Func::Fake(..)
            | Func::Now
            | Func::Str
            | Func::Int
            | Func::Len
            | Func::Base64
            | Func::Raw => false,
        }
    }
}

impl Pure {
    fn computes(self) -> bool {
        matches!(
            self,
            Pure::Split
                | Pure::Join
                | Pure::Rounds
                | Pure::Item
                | Pure::Msgpack
                | Pure::MsgpackDecode
                | Pure::Md5
                | Pure::Sha1
                | Pure::Sha256
                | Pure::Sha384
                | Pure::Sha512
                | Pure::HmacSha1
                | Pure::HmacSha256
                | Pure::HmacSha384
                | Pure::HmacSha512
                | Pure::Jwt
        )
    }
}

impl Template {
    /// True if one of its expressions computes, or if it is large.
    pub fn computes(&self) -> bool {
        let fixed_bytes = self.parts.iter().map(|part| match part {
            TemplatePart::Text(text) => text.len(),
            TemplatePart::Bytes(bytes) => bytes.len(),
            TemplatePart::Expr(..) => 0,
        });
        let is_large = fixed_bytes.sum::<usize>() >= LARGE_BYTES_MIN;
        let computes =
            |part: &TemplatePart| matches!(part, TemplatePart::Expr(expr, _) if expr.computes());
        is_large || self.parts.iter().any(computes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::template::Builder;
    use crate::expr::{Binary, Escape};
    use crate::ids::Slot;

    #[test]
    fn what_signs_hashes_or_reads_json_computes_wherever_it_stands() {
        let id = || Expr::Var(Slot(0));
        let token = Expr::Call(Func::Pure(Pure::Jwt), vec![id(), id()]);
        let sum = |right| Expr::Binary(Binary::Add, Box::new(id()), Box::new(right));
        assert!(sum(token.clone()).computes());
        assert!(Expr::Call(Func::Str, vec![token]).computes());
        assert!(Expr::Call(Func::Json, vec![id(), id()]).computes());
        assert!(Expr::Script(0, Vec::new()).computes());
        assert!(!sum(Expr::Call(Func::Uuid, Vec::new())).computes());
    }

    #[test]
    fn a_large_text_computes_and_a_short_one_with_a_variable_does_not() {
        let mut short = Builder::default();
        short.push_text("/items/");
        short.push_expr(Expr::Var(Slot(0)), Escape::Url);
        assert!(!short.finish().computes());
        assert!(Template::fixed(&"x".repeat(LARGE_BYTES_MIN)).computes());
        assert!(!Template::fixed(&"x".repeat(LARGE_BYTES_MIN - 1)).computes());
    }
}
