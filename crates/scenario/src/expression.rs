//! Reading expressions: what people write between `${` and `}`, and in `if` and `check`.
//!
//! [`parse`] makes [`plan::expr`]'s types of the tokens that [`lex`] finds.

pub(crate) mod lex;
pub(crate) mod parse;
