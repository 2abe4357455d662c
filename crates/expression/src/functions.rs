//! The functions, by name: how many arguments each takes, and how a call looks.

use std::ops::Range;

use plan::expr::Func;

/// A function as people call it.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) func: Func,
    /// How many arguments it takes; the end is not included.
    pub(crate) arguments: Range<usize>,
    /// A call, for hints.
    pub(crate) form: &'static str,
}

const fn function(
    name: &'static str,
    func: Func,
    arguments: Range<usize>,
    form: &'static str,
) -> Function {
    Function {
        name,
        func,
        arguments,
        form,
    }
}

pub(crate) const FUNCTIONS: &[Function] = &[
    function("random", Func::Random, 2..3, "random(1, 6)"),
    function(
        "random_string",
        Func::RandomString,
        1..2,
        "random_string(8)",
    ),
    function("pick", Func::Pick, 1..256, "pick('a', 'b')"),
    function("uuid", Func::Uuid, 0..1, "uuid()"),
    function("now", Func::Now, 0..1, "now()"),
    function("str", Func::Str, 1..2, "str(x)"),
    function("int", Func::Int, 1..2, "int(x)"),
    function("len", Func::Len, 1..2, "len(x)"),
    function("base64", Func::Base64, 1..256, "base64(x)"),
    function("json", Func::Json, 2..3, "json(text, '/items/0')"),
    function("items", Func::Items, 1..2, "items(list)"),
    function("raw", Func::Raw, 1..2, "raw(x)"),
];
