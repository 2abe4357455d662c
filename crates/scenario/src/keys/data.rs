//! Users' own data.

use super::Default::{Required, Said, Text};
use super::{Key, Kind, Table};

pub(crate) static DATA: Table = Table {
    name: "data",
    groups: &[&[
        Key {
            name: "file",
            kind: Kind::Text,
            default: Required,
            doc: "CSV with a first row of names, or JSON lines: an object a line, each with the \
                  same keys",
        },
        Key {
            name: "columns",
            kind: Kind::List(&Kind::Text),
            default: Said("the first row names them"),
            doc: "Names of the columns, where the file has no row of names",
        },
        Key {
            name: "order",
            kind: Kind::Word(&["sequential", "random", "unique"]),
            default: Text("sequential"),
            doc: "`sequential`: user n begins with row n, from 0, and each further `feed` is the \
                  next; `random`: each `feed` is any row; `unique`: user n has row n, each time",
        },
        Key {
            name: "end",
            kind: Kind::Word(&["wrap", "stop", "error"]),
            default: Said("`error` for `unique`, else `wrap`"),
            doc: "Beyond the last row: go on with the first, let the user finish, or count an \
                  error and let it finish",
        },
        Key {
            name: "format",
            kind: Kind::Word(&["csv", "jsonl", "plain"]),
            default: Said("by the file's name: `.jsonl` and `.ndjson` are JSON lines"),
            doc: "How the file is written; `plain`: lines of cells as they stand between \
                  separators, quotes and all, of which those beyond the columns are passed over",
        },
        Key {
            name: "separator",
            kind: Kind::Text,
            default: Text(","),
            doc: "Between the cells of a row: one character, `tab` for a tabulator",
        },
    ]],
};

pub(super) const FEED: Table = Table {
    name: "feed",
    groups: &[&[
        Key {
            name: "feed",
            kind: Kind::Text,
            default: Required,
            doc: "A name under [`data`](#data): a row of it is taken",
        },
        Key {
            name: "as",
            kind: Kind::Map(&Kind::Text),
            default: Said("every column under its own name"),
            doc: "The variables to set, each with its column",
        },
    ]],
};
