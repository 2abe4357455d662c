//! The keys of experiments.

use super::Default::{Absent, Required, Said, Text};
use super::{Key, Kind, Table};

/// The keys of `experiment`.
pub static EXPERIMENT: Table = Table {
    name: "experiment",
    groups: &[&[
        Key {
            name: "name",
            kind: Kind::Text,
            default: Said("the file's name"),
            doc: "Name of the experiment and of its directory",
        },
        Key {
            name: "scenario",
            kind: Kind::Text,
            default: Required,
            doc: "The scenario's file, relative to this file",
        },
        Key {
            name: "set",
            kind: Kind::Map(&Kind::Scalar),
            default: Absent,
            doc: "Overrides for all runs, as in `--set`: a path in the scenario and its value",
        },
        Key {
            name: "design",
            kind: Kind::Word(super::DESIGNS),
            default: Text("full"),
            doc: "`full`: all combinations of levels; `2^k`: all combinations of two \
                  levels; `2^(k-r)`: a fraction of those, chosen by `generators`; \
                  `sweep`: one factor",
        },
        Key {
            name: "generators",
            kind: Kind::List(&Kind::Text),
            default: Absent,
            doc: "Of `2^(k-r)`: `D=ABC` sets the fourth factor to the product of the signs of the \
                  first three, `D=-ABC` to its opposite; factors are lettered in their order, \
                  without I",
        },
        Key {
            name: "factors",
            kind: Kind::Map(&Kind::Any(&[Kind::List(&Kind::Scalar), Kind::Mapping(&FACTOR)])),
            default: Required,
            doc: "What changes between runs: a name with its settings, or in short a \
                  path with a list of levels",
        },
        Key {
            name: "responses",
            kind: Kind::List(&Kind::Any(&[Kind::Text, Kind::Mapping(&RESPONSE)])),
            default: Required,
            doc: "The figures to analyse, written as in thresholds: `p99(request)`",
        },
        Key {
            name: "repetitions",
            kind: Kind::Count,
            default: Text("3"),
            doc: "Runs of each combination, 1 to 1,000",
        },
        Key {
            name: "seed",
            kind: Kind::Count,
            default: Text("1"),
            doc: "Seed of the order of the runs and of each run's seed",
        },
        Key {
            name: "warm_up",
            kind: Kind::Count,
            default: Text("0"),
            doc: "Runs that are made first and do not count, each time the experiment \
                  is started or resumed",
        },
        Key {
            name: "pause",
            kind: Kind::Duration,
            default: Text("1s"),
            doc: "Pause between two runs",
        },
        Key {
            name: "before",
            kind: Kind::Text,
            default: Absent,
            doc: "A shell command before each run, for example to restart the target. \
                  It must exit with 0 within ten minutes",
        },
        Key {
            name: "after",
            kind: Kind::Text,
            default: Absent,
            doc: "A shell command after each run, with the same rules",
        },
        Key {
            name: "untrusted",
            kind: Kind::Word(&["left-out", "kept"]),
            default: Text("left-out"),
            doc: "Whether untrusted runs count in the analysis",
        },
        Key {
            name: "confidence",
            kind: Kind::Text,
            default: Text("95%"),
            doc: "Confidence level of the intervals, 50 to 99.99 %",
        },
        Key {
            name: "time_max",
            kind: Kind::Duration,
            default: Text("24h"),
            doc: "An experiment that would take longer is not started",
        },
        Key {
            name: "compare",
            kind: Kind::Mapping(&COMPARE),
            default: Absent,
            doc: "Compares the runs of each combination with each other, to find modes \
                  of behaviour",
        },
        Key {
            name: "full",
            kind: Kind::Map(&Kind::Scalar),
            default: Absent,
            doc: "What `--full` changes: paths in this file, and their values",
        },
    ]],
};

/// The keys of `compare`.
pub static COMPARE: Table = Table {
    name: "compare",
    groups: &[&[
        Key {
            name: "measures",
            kind: Kind::OneOrMore(&Kind::Text),
            default: Required,
            doc: "The measures whose response times are compared",
        },
        Key {
            name: "skip",
            kind: Kind::Duration,
            default: Said("nothing"),
            doc: "Skipped at the start of each run",
        },
        Key {
            name: "bin",
            kind: Kind::Duration,
            default: Text("1ms"),
            doc: "Bin width of the [published method](comparing.md#further-results)",
        },
    ]],
};

/// The keys of `factor`.
pub static FACTOR: Table = Table {
    name: "factor",
    groups: &[&[
        Key {
            name: "set",
            kind: Kind::Text,
            default: Said("the factor's name"),
            doc: "The path or parameter that it changes, as in `--set`; not allowed \
                  with variants",
        },
        Key {
            name: "levels",
            kind: Kind::Any(&[Kind::List(&Kind::Scalar), Kind::Map(&Kind::Map(&Kind::Scalar))]),
            default: Required,
            doc: "Its values; the first of two is the low level, −1. Or variants: \
                  names, each with overrides as in `set`, possibly none",
        },
    ]],
};

/// The keys of `response`.
pub static RESPONSE: Table = Table {
    name: "response",
    groups: &[&[
        Key {
            name: "figure",
            kind: Kind::Text,
            default: Required,
            doc: "The figure, written as in thresholds",
        },
        Key {
            name: "model",
            kind: Kind::Word(&["additive", "multiplicative"]),
            default: Text("additive"),
            doc: "`multiplicative`: effects are factors, computed on logarithms",
        },
        Key {
            name: "published",
            kind: Kind::Any(&[
                Kind::List(&Kind::Any(&[Kind::Number, Kind::Duration])),
                Kind::Mapping(&PUBLISHED),
            ]),
            default: Absent,
            doc: "What others measured or claimed, to be shown beside. A list alone is short for \
                  `values`",
        },
    ]],
};

pub static PUBLISHED: Table = Table {
    name: "published",
    groups: &[&[
        Key { name: "source", kind: Kind::Text, default: Absent, doc: "Where it was published" },
        Key {
            name: "values",
            kind: Kind::List(&Kind::Any(&[
                Kind::Number,
                Kind::Duration,
                Kind::Rate,
                Kind::Share,
                Kind::Mapping(&PUBLISHED_VALUE),
            ])),
            default: Absent,
            doc: "One value for each combination, the first factor changing fastest; or some, each \
                  with its levels, up to 1,000",
        },
        Key {
            name: "claims",
            kind: Kind::List(&Kind::Mapping(&CLAIM)),
            default: Absent,
            doc: "Orderings of levels, up to 50",
        },
    ]],
};

pub static PUBLISHED_VALUE: Table = Table {
    name: "published value",
    groups: &[&[
        Key {
            name: "at",
            kind: Kind::Map(&Kind::Scalar),
            default: Required,
            doc: "The level of each factor; if a factor is left out, the value is of all its \
                  levels",
        },
        Key {
            name: "value",
            kind: Kind::Any(&[Kind::Number, Kind::Duration, Kind::Rate, Kind::Share]),
            default: Required,
            doc: "The value",
        },
    ]],
};

pub static CLAIM: Table = Table {
    name: "claim",
    groups: &[&[
        Key {
            name: "claim",
            kind: Kind::Text,
            default: Said("the order"),
            doc: "What was claimed, in words",
        },
        Key {
            name: "order",
            kind: Kind::List(&Kind::OneOrMore(&Kind::Scalar)),
            default: Required,
            doc: "Levels of one factor, that of the greatest response first. Levels in a list of \
                  their own are not ordered among each other",
        },
        Key {
            name: "of",
            kind: Kind::Text,
            default: Said("the factor that has these levels"),
            doc: "The factor whose levels are ordered",
        },
        Key {
            name: "at",
            kind: Kind::Map(&Kind::Scalar),
            default: Said("all combinations"),
            doc: "Levels of other factors at which it was claimed",
        },
    ]],
};
