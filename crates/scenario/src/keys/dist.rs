//! The distributions and their parameters.

use super::Default::{Absent, Required, Said, Text};
use super::{Key, Kind, Table};

/// A mapping has exactly one of these besides `min` and `max`.
pub(crate) static DIST: Table = Table {
    name: "distribution",
    groups: &[&[
        choice(
            "uniform",
            Kind::Mapping(&UNIFORM),
            "Every value alike; `1s..15s` in short",
        ),
        choice("exponential", Kind::Duration, "Its mean"),
        choice(
            "normal",
            Kind::Mapping(&NORMAL),
            "Draws below zero count as 0",
        ),
        choice(
            "lognormal",
            Kind::Mapping(&LOGNORMAL),
            "Its logarithm is normal",
        ),
        choice("weibull", Kind::Mapping(&WEIBULL), "Stretched exponential"),
        choice(
            "pareto",
            Kind::Mapping(&PARETO),
            "Type I: a heavy tail above its scale",
        ),
        choice("gamma", Kind::Mapping(&GAMMA), "Its mean is shape × scale"),
        choice(
            "empirical",
            Kind::Any(&[Kind::Text, Kind::List(&Kind::Duration)]),
            "Draws one of the listed values, or of those in a file: one a line, durations or bare \
             seconds, `#` begins a comment",
        ),
        choice(
            "mixture",
            Kind::List(&Kind::Mapping(&MIXTURE_PART)),
            "Draws one of the parts by weight, then from it",
        ),
        choice("min", Kind::Duration, "Smaller draws become this"),
        choice("max", Kind::Duration, "Larger draws become this"),
    ]],
};

const fn choice(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        default: Absent,
        doc,
    }
}

const fn duration(name: &'static str, doc: &'static str) -> Key {
    Key {
        name,
        kind: Kind::Duration,
        default: Required,
        doc,
    }
}

const fn number(name: &'static str, doc: &'static str) -> Key {
    Key {
        name,
        kind: Kind::Number,
        default: Required,
        doc,
    }
}

const fn either(name: &'static str, other: &'static str, doc: &'static str) -> Key {
    Key {
        name,
        kind: Kind::Duration,
        default: Said(other),
        doc,
    }
}

pub(crate) static UNIFORM: Table = Table {
    name: "uniform",
    groups: &[&[
        duration("min", "The least value"),
        duration("max", "The greatest value (not drawn itself)"),
    ]],
};

pub(crate) static NORMAL: Table = Table {
    name: "normal",
    groups: &[&[
        duration("mean", "Its mean"),
        duration("sd", "Its standard deviation, ≥ 0"),
    ]],
};

pub(crate) static LOGNORMAL: Table = Table {
    name: "lognormal",
    groups: &[&[
        either(
            "median",
            "from `mean`",
            "Its median, above 0; either this or `mean`",
        ),
        either(
            "mean",
            "from `median`",
            "Its mean, above 0; either this or `median`",
        ),
        number("sigma", "Standard deviation of its natural logarithm, ≥ 0"),
    ]],
};

pub(crate) static WEIBULL: Table = Table {
    name: "weibull",
    groups: &[&[
        duration("scale", "About 63 % of draws are below it; above 0"),
        number("shape", "Below 1: heavier tail than exponential; above 0"),
    ]],
};

pub(crate) static PARETO: Table = Table {
    name: "pareto",
    groups: &[&[
        duration("scale", "The least value, above 0"),
        number(
            "shape",
            "The tail's exponent, above 0; at 1 and below it has no mean",
        ),
    ]],
};

pub(crate) static GAMMA: Table = Table {
    name: "gamma",
    groups: &[&[
        number("shape", "Above 0"),
        either("scale", "from `mean`", "Above 0; either this or `mean`"),
        either("mean", "from `scale`", "Above 0; either this or `scale`"),
    ]],
};

pub(crate) static MIXTURE_PART: Table = Table {
    name: "part of a mixture",
    groups: &[&[
        Key {
            name: "weight",
            kind: Kind::Number,
            default: Text("1"),
            doc: "Its share among the parts",
        },
        Key {
            name: "of",
            kind: Kind::Dist,
            default: Required,
            doc: "What is drawn from it",
        },
    ]],
};
