//! The lines of an interval log as text.

use std::fmt::Write;

const NS_PER_S: u64 = 1_000_000_000;
const NS_PER_MS: u64 = 1_000_000;

/// All lines before the first interval.
pub(super) fn header(run: &str, started_unix_ns: u64) -> String {
    let start = decimal(started_unix_ns / NS_PER_MS * NS_PER_MS, NS_PER_S);
    format!(
        "#[Run {run}, written by throng]\n\
         #[Histogram log format version 1.3]\n\
         #[StartTime: {start} (seconds since epoch), {run}]\n\
         #[BaseTime: {start} (seconds since epoch)]\n\
         #[Histograms hold nanoseconds; Interval_Max is in milliseconds]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    )
}

/// The line of one interval.
pub(super) fn interval(
    start_ns: u64,
    len_ns: u64,
    tag: &str,
    max_ns: u64,
    payload: &str,
) -> String {
    let mut line = String::with_capacity(payload.len() + tag.len() + 64);
    if !tag.is_empty() {
        line.push_str("Tag=");
        escape(tag, &mut line);
        line.push(',');
    }
    let start = decimal(start_ns, NS_PER_S);
    let len = decimal(len_ns, NS_PER_S);
    let max = decimal(max_ns, NS_PER_MS);
    let _ = writeln!(line, "{start},{len},{max},{payload}");
    line
}

/// The parts of an interval's line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IntervalLine<'a> {
    pub(super) start_ns: u64,
    pub(super) len_ns: u64,
    pub(super) max_ns: u64,
    pub(super) tag: String,
    pub(super) payload: &'a str,
}

/// Takes a line, without its end, apart; or says what is wrong with it.
pub(super) fn parse(line: &str) -> Result<IntervalLine<'_>, &'static str> {
    let (tag, rest) = match line.strip_prefix("Tag=") {
        Some(tagged) => tagged.split_once(',').ok_or("nothing after the tag")?,
        None => ("", line),
    };
    let mut columns = rest.splitn(4, ',');
    let mut column = || columns.next().ok_or("fewer than four columns");
    Ok(IntervalLine {
        start_ns: parse_decimal(column()?, NS_PER_S).ok_or("the start is not a time")?,
        len_ns: parse_decimal(column()?, NS_PER_S).ok_or("the length is not a time")?,
        max_ns: parse_decimal(column()?, NS_PER_MS).ok_or("the maximum is not a time")?,
        tag: unescape(tag).ok_or("the tag is not escaped correctly")?,
        payload: column()?,
    })
}

/// Decimal seconds in nanoseconds.
pub(super) fn seconds(text: &str) -> Option<u64> {
    parse_decimal(text, NS_PER_S)
}

/// `units` as a decimal of `unit`s, a power of ten, exactly, with three decimals or more.
fn decimal(units: u64, unit: u64) -> String {
    let digits = unit.ilog10() as usize;
    let mut text = format!("{}.{:0digits$}", units / unit, units % unit);
    let whole = text.len() - digits;
    while text.len() > whole + 3 && text.ends_with('0') {
        text.pop();
    }
    text
}

/// The inverse of [`decimal`]; also takes a number without a point. Digits too fine are cut off.
fn parse_decimal(text: &str, unit: u64) -> Option<u64> {
    let digits = unit.ilog10() as usize;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let fraction = &fraction[..fraction.len().min(digits)];
    let fraction: u64 = format!("{fraction:0<digits$}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(fraction)
}

/// Percent-encodes what would end a tag: commas, blanks and control characters, and `%` itself.
fn escape(tag: &str, line: &mut String) {
    for character in tag.chars() {
        match character {
            '\0'..=' ' | ',' | '%' | '\u{7f}' => {
                let _ = write!(line, "%{:02X}", u32::from(character));
            }
            _ => line.push(character),
        }
    }
}

fn unescape(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut tag = parts.next()?.to_owned();
    for part in parts {
        // The conversion would take a sign, too.
        let digits = part.get(..2).filter(|digits| !digits.starts_with('+'))?;
        let code = u8::from_str_radix(digits, 16).ok().filter(u8::is_ascii)?;
        tag.push(char::from(code));
        tag.push_str(&part[2..]);
    }
    Some(tag)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The header as HdrHistogram's own readers look for it.
    #[test]
    fn header_is_the_one_of_the_format() {
        assert_eq!(
            header("20150805T000000-x-0001", 1_438_732_800_123_456_789),
            "#[Run 20150805T000000-x-0001, written by throng]\n\
             #[Histogram log format version 1.3]\n\
             #[StartTime: 1438732800.123 (seconds since epoch), 20150805T000000-x-0001]\n\
             #[BaseTime: 1438732800.123 (seconds since epoch)]\n\
             #[Histograms hold nanoseconds; Interval_Max is in milliseconds]\n\
             \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
             \"Interval_Compressed_Histogram\"\n"
        );
    }

    #[test]
    fn lines_are_those_of_the_format() {
        for (start_ns, len_ns, tag, max_ns, expected) in [
            (0, NS_PER_S, "", 2_500_000, "0.000,1.000,2.500,payload\n"),
            (
                1_000_400_000,
                1,
                "a b,c%",
                7,
                "Tag=a%20b%2Cc%25,1.0004,0.000000001,0.000007,payload\n",
            ),
        ] {
            assert_eq!(interval(start_ns, len_ns, tag, max_ns, "payload"), expected);
        }
    }

    #[test]
    fn malformed_lines_are_reported() {
        for (line, expected) in [
            ("", "the start is not a time"),
            ("1.0", "fewer than four columns"),
            ("Tag=x", "nothing after the tag"),
            ("Tag=%4,1,1,1,x", "the tag is not escaped correctly"),
            ("Tag=%+5,1,1,1,x", "the tag is not escaped correctly"),
            ("Tag=%é,1,1,1,x", "the tag is not escaped correctly"),
            ("-1,1,1,x", "the start is not a time"),
            ("1,99999999999999999999,1,x", "the length is not a time"),
            ("1,1,.5,x", "the maximum is not a time"),
        ] {
            assert_eq!(parse(line).unwrap_err(), expected, "{line}");
        }
        assert_eq!(parse("1.5,1e3,1,x").unwrap_err(), "the length is not a time");
    }

    proptest! {
        #[test]
        fn lines_come_back(
            start_ns: u64, len_ns: u64, max_ns: u64, tag in any::<String>(),
        ) {
            let line = interval(start_ns, len_ns, &tag, max_ns, "AAAA");
            let expected = IntervalLine { start_ns, len_ns, max_ns, tag, payload: "AAAA" };
            prop_assert_eq!(parse(line.trim_end_matches('\n')), Ok(expected));
        }

        #[test]
        fn any_line_is_parsed_or_refused(line in ".{0,60}") {
            let _ = parse(&line);
        }
    }
}
