//! The keys of experiments.

use super::Default::{Absent, Required, Said, Text};
use super::{Key, Kind, Table};

pub(crate) static EXPERIMENT: Table = Table {
    name: "experiment",
    groups: &[&[
        Key {
            name: "name",
            kind: Kind::Text,
            default: Said("the file's name"),
            doc: "Names the experiment and its directory",
        },
        Key {
            name: "scenario",
            kind: Kind::Text,
            default: Required,
            doc: "The scenario's file, sought beside this one",
        },
        Key {
            name: "set",
            kind: Kind::Map(&Kind::Scalar),
            default: Absent,
            doc: "Overrides for all runs, each as in `--set`: a place of the scenario and its value",
        },
        Key {
            name: "design",
            kind: Kind::Word(super::DESIGNS),
            default: Text("full"),
            doc: "`full`: all combinations of levels; `2^k`: the same, two levels each; \
                  `2^(k-r)`: a part of them, chosen by `generators`; `sweep`: one factor",
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
            kind: Kind::Map(&Kind::Any(&[
                Kind::List(&Kind::Scalar),
                Kind::Mapping(&FACTOR),
            ])),
            default: Required,
            doc: "What is changed from run to run: by name, or in short by place, with a list of \
                  levels",
        },
        Key {
            name: "responses",
            kind: Kind::List(&Kind::Any(&[Kind::Text, Kind::Mapping(&RESPONSE)])),
            default: Required,
            doc: "What is looked at: figures as in thresholds, such as `p99(request)`",
        },
        Key {
            name: "repetitions",
            kind: Kind::Count,
            default: Text("3"),
            doc: "How often each combination is run, 1 to 1,000",
        },
        Key {
            name: "seed",
            kind: Kind::Count,
            default: Text("1"),
            doc: "The order of the runs, and the seed of each, follow from it",
        },
        Key {
            name: "warm_up",
            kind: Kind::Count,
            default: Text("0"),
            doc: "Runs that are made first and not counted, each time the experiment is started or \
                  resumed",
        },
        Key {
            name: "pause",
            kind: Kind::Duration,
            default: Text("1s"),
            doc: "Between two runs",
        },
        Key {
            name: "before",
            kind: Kind::Text,
            default: Absent,
            doc: "A shell command before each run, such as one that restarts the target; must end \
                  with 0 within ten minutes",
        },
        Key {
            name: "after",
            kind: Kind::Text,
            default: Absent,
            doc: "The same after each run",
        },
        Key {
            name: "untrusted",
            kind: Kind::Word(&["left-out", "kept"]),
            default: Text("left-out"),
            doc: "Whether runs that cannot be trusted count in the analysis",
        },
        Key {
            name: "confidence",
            kind: Kind::Text,
            default: Text("95%"),
            doc: "Of the intervals, 50 to 99.99 %",
        },
        Key {
            name: "time_max",
            kind: Kind::Duration,
            default: Text("24h"),
            doc: "An experiment that would take longer is not begun",
        },
        Key {
            name: "compare",
            kind: Kind::Mapping(&COMPARE),
            default: Absent,
            doc: "The runs of each combination are compared with each other, to find its modes of \
                  behaviour",
        },
        Key {
            name: "full",
            kind: Kind::Map(&Kind::Scalar),
            default: Absent,
            doc: "What is otherwise with `--full`: places of this file, and their values",
        },
    ]],
};

pub(crate) static COMPARE: Table = Table {
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
            doc: "Left out of the beginning of each run",
        },
        Key {
            name: "bin",
            kind: Kind::Duration,
            default: Text("1ms"),
            doc: "Width of the bins of the [published way](comparing.md#what-else-is-told)",
        },
    ]],
};

pub(crate) static FACTOR: Table = Table {
    name: "factor",
    groups: &[&[
        Key {
            name: "set",
            kind: Kind::Text,
            default: Said("the factor's name"),
            doc: "The place that it changes, or the parameter, as in `--set`; not beside variants",
        },
        Key {
            name: "levels",
            kind: Kind::Any(&[
                Kind::List(&Kind::Scalar),
                Kind::Map(&Kind::Map(&Kind::Scalar)),
            ]),
            default: Required,
            doc: "Its values; of two the first counts as low, −1. Or variants: names, each with \
                  overrides as in `set`, of which there may be none",
        },
    ]],
};

pub(crate) static RESPONSE: Table = Table {
    name: "response",
    groups: &[&[
        Key {
            name: "figure",
            kind: Kind::Text,
            default: Required,
            doc: "The figure, as in thresholds",
        },
        Key {
            name: "model",
            kind: Kind::Word(&["additive", "multiplicative"]),
            default: Text("additive"),
            doc: "`multiplicative`: effects are factors, found on logarithms",
        },
    ]],
};
