//! The log that Tsung writes with `dumptraffic="protocol"` (ts_mon_cache, ts_interaction_server): a
//! row a request, its user identified by a process and a number.

use super::Columns;
use crate::entry::Meaning;

pub(super) const NAME: &str = "Tsung's dump";

pub(super) fn is_header(line: &[u8]) -> bool {
    line.starts_with(b"#date;pid;id;")
}

/// `#date;pid;id;http method;host;URL;HTTP status;size;duration;transaction;match;error;tag`.
pub(super) fn columns(first: &[u8]) -> Columns {
    const USUAL: &[u8] =
        b"#date;pid;id;http method;host;URL;HTTP status;size;duration;transaction;match;error;tag";
    let header = if is_header(first) { first } else { USUAL };
    let names = String::from_utf8_lossy(header).into_owned();
    let meanings = names.trim_start_matches('#').split(';').map(|name| match name {
        "date" => Meaning::Time,
        "http method" => Meaning::SmallMethod,
        "host" => Meaning::Host,
        "URL" => Meaning::Target,
        "HTTP status" => Meaning::Status,
        name => Meaning::Other(name.to_owned()),
    });
    Columns {
        name: NAME,
        meanings: meanings.collect(),
        separator: b';',
        remark: Some(b'#'),
        header: None,
        more: true,
        utc: true,
    }
}
