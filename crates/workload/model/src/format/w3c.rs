//! The W3C's extended log file format (working draft WD-logfile-960323), as IIS and CloudFront write it:
//! a `#Fields` directive names the columns, and another may rename them. Times are UTC.

use super::Columns;
use crate::entry::Meaning;

pub(super) const NAME: &str = "W3C extended log";

pub(super) fn is_directive(line: &[u8]) -> bool {
    [&b"#Version"[..], b"#Fields", b"#Software", b"#Date", b"#Start-Date"]
        .iter()
        .any(|directive| line.starts_with(directive))
}

/// The columns before a `#Fields` line: every line is a remark or none.
pub(super) fn columns(first: &[u8]) -> Columns {
    fields(first).unwrap_or_else(|| named(b' ', Vec::new()))
}

/// The columns that a `#Fields` directive names.
pub(super) fn fields(line: &[u8]) -> Option<Columns> {
    let names = line.strip_prefix(b"#Fields:")?;
    let names = String::from_utf8_lossy(names).into_owned();
    let meanings: Vec<Meaning> = names.split_whitespace().map(meaning).collect();
    // CloudFront parts its values by tabulators, though its directive's names by blanks.
    let cloudfront = names.contains("x-edge-location");
    Some(named(if cloudfront { b'\t' } else { b' ' }, meanings))
}

fn named(separator: u8, meanings: Vec<Meaning>) -> Columns {
    Columns {
        name: NAME,
        meanings,
        separator,
        remark: Some(b'#'),
        header: None,
        more: false,
        utc: true,
    }
}

fn meaning(name: &str) -> Meaning {
    match name {
        "date" => Meaning::Date,
        "time" => Meaning::Clock,
        "c-ip" => Meaning::Address,
        "cs-username" => Meaning::User,
        "cs-method" => Meaning::Method,
        "cs-uri-stem" | "cs-uri" => Meaning::Target,
        "cs-uri-query" => Meaning::Query,
        "sc-status" => Meaning::Status,
        "cs-host" | "cs(Host)" => Meaning::Host,
        "cs(Referer)" => Meaning::Referer,
        "cs(User-Agent)" => Meaning::Agent,
        name => Meaning::Other(name.to_owned()),
    }
}
