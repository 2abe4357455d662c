//! Users' own data.

use super::Default::{Required, Said, Text};
use super::{Key, Kind, Table};

/// Orders of the rows.
pub const ORDERS: &[&str] =
    &["sequential", "random", "unique", "once", "zipfian", "latest", "hotspot"];

/// The keys of `data`.
pub static DATA: Table = Table {
    name: "data",
    groups: &[&[
        Key {
            name: "file",
            kind: Kind::Text,
            default: Required,
            doc: "A CSV file with a header row, or JSON lines: one object per line, all \
                  with the same keys",
        },
        Key {
            name: "columns",
            kind: Kind::List(&Kind::Text),
            default: Said("the first row"),
            doc: "Column names, if the file has no header row",
        },
        Key {
            name: "order",
            kind: Kind::Word(ORDERS),
            default: Text("sequential"),
            doc: "`sequential`: user n starts with row n (from 0), and each further \
                  `feed` takes the next row; `random`: each `feed` takes a random row; \
                  `unique`: user n always has row n; `once`: each `feed` takes a row that no other takes; `zipfian`, `latest` and `hotspot`: random rows, \
                  [some more often](#popular-items) than others",
        },
        Key {
            name: "skew",
            kind: Kind::Number,
            default: Text("0.99"),
            doc: "For `zipfian` and `latest`: above 0 and below 1; the greater, the more often the most \
                  popular rows",
        },
        Key {
            name: "hot_rows",
            kind: Kind::Share,
            default: Text("20%"),
            doc: "For `hotspot`: the share of the rows, from the first, that are taken often",
        },
        Key {
            name: "hot_draws",
            kind: Kind::Share,
            default: Text("80%"),
            doc: "For `hotspot`: how often one of them is taken",
        },
        Key {
            name: "end",
            kind: Kind::Word(&["wrap", "stop", "error"]),
            default: Said("`error` for `unique`, `stop` for `once`, else `wrap`"),
            doc: "After the last row: `wrap` continues with the first row, which `once` \
                  cannot, `stop` ends the user, `error` counts an error and ends the user",
        },
        Key {
            name: "format",
            kind: Kind::Word(&["csv", "jsonl", "plain"]),
            default: Said("by file name: `.jsonl` and `.ndjson` are JSON lines, others CSV"),
            doc: "Format of the file. `plain`: cells are taken literally, including \
                  quotes; cells beyond the columns are skipped",
        },
        Key {
            name: "separator",
            kind: Kind::Text,
            default: Text(","),
            doc: "Separator of the cells: one character, or `tab`",
        },
    ]],
};

pub(crate) static FEED: Table = Table {
    name: "feed",
    groups: &[&[
        Key {
            name: "feed",
            kind: Kind::Text,
            default: Required,
            doc: "Takes a row of this entry of [`data`](#data)",
        },
        Key {
            name: "as",
            kind: Kind::Map(&Kind::Text),
            default: Said("each column into a variable of the same name"),
            doc: "The variables to set, each with its column name",
        },
    ]],
};
