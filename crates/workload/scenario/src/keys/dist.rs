//! The distributions and their parameters.

use super::Default::{Absent, Required, Said, Text};
use super::{Key, Kind, Table};

/// A mapping has exactly one of these besides `min` and `max`.
pub static DIST: Table = Table {
    name: "distribution",
    groups: &[&[
        choice(
            "uniform",
            Kind::Mapping(&UNIFORM),
            "All values are equally likely; short form: `1s..15s`",
        ),
        choice("exponential", Kind::Duration, "Mean"),
        choice("normal", Kind::Mapping(&NORMAL), "Values below zero count as 0"),
        choice("lognormal", Kind::Mapping(&LOGNORMAL), "The logarithm is normally distributed"),
        choice("weibull", Kind::Mapping(&WEIBULL), "Weibull (stretched exponential)"),
        choice("pareto", Kind::Mapping(&PARETO), "Type I: a heavy tail above the scale"),
        choice("gamma", Kind::Mapping(&GAMMA), "The mean is shape × scale"),
        choice(
            "empirical",
            Kind::Any(&[Kind::Text, Kind::List(&Kind::Duration)]),
            "Draws one of the listed values, or one of those in a file: one per line, \
             durations or seconds without a unit; `#` starts a comment",
        ),
        choice(
            "mixture",
            Kind::List(&Kind::Mapping(&MIXTURE_PART)),
            "Chooses one of the parts by weight, then draws from it",
        ),
        choice("min", Kind::Duration, "Smaller values are replaced by this"),
        choice("max", Kind::Duration, "Larger values are replaced by this"),
    ]],
};

const fn choice(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, default: Absent, doc }
}

const fn duration(name: &'static str, doc: &'static str) -> Key {
    Key { name, kind: Kind::Duration, default: Required, doc }
}

const fn number(name: &'static str, doc: &'static str) -> Key {
    Key { name, kind: Kind::Number, default: Required, doc }
}

const fn either(name: &'static str, other: &'static str, doc: &'static str) -> Key {
    Key { name, kind: Kind::Duration, default: Said(other), doc }
}

/// The keys of `uniform`.
pub static UNIFORM: Table = Table {
    name: "uniform",
    groups: &[&[duration("min", "Smallest value"), duration("max", "Upper bound (exclusive)")]],
};

/// The keys of `normal`.
pub static NORMAL: Table = Table {
    name: "normal",
    groups: &[&[duration("mean", "Mean"), duration("sd", "Standard deviation, at least 0")]],
};

/// The keys of `lognormal`.
pub static LOGNORMAL: Table = Table {
    name: "lognormal",
    groups: &[&[
        either("median", "computed from `mean`", "Median, above 0; either `median` or `mean`"),
        either("mean", "computed from `median`", "Mean, above 0; either `mean` or `median`"),
        number("sigma", "Standard deviation of the natural logarithm, at least 0"),
    ]],
};

/// The keys of `weibull`.
pub static WEIBULL: Table = Table {
    name: "weibull",
    groups: &[&[
        duration("scale", "About 63 % of values are below it; above 0"),
        number("shape", "Above 0; below 1 the tail is heavier than exponential"),
    ]],
};

/// The keys of `pareto`.
pub static PARETO: Table = Table {
    name: "pareto",
    groups: &[&[
        duration("scale", "Smallest value, above 0"),
        number("shape", "Exponent of the tail, above 0; at 1 and below the mean is infinite"),
    ]],
};

/// The keys of `gamma`.
pub static GAMMA: Table = Table {
    name: "gamma",
    groups: &[&[
        number("shape", "Above 0"),
        either("scale", "computed from `mean`", "Above 0; either `scale` or `mean`"),
        either("mean", "computed from `scale`", "Above 0; either `mean` or `scale`"),
    ]],
};

/// The keys of `part of a mixture`.
pub static MIXTURE_PART: Table = Table {
    name: "part of a mixture",
    groups: &[&[
        Key { name: "weight", kind: Kind::Number, default: Text("1"), doc: "The part's share" },
        Key { name: "of", kind: Kind::Dist, default: Required, doc: "Distribution of the part" },
    ]],
};
