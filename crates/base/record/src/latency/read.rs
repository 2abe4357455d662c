//! Reading an interval log.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use stats::hist::LogHistogram;

use super::{Interval, line};
use crate::{RecordError, whole};

/// Longest line that is still read: far above what a histogram over all of `u64` takes.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// Most numbers that an interval counts: so the counts of many can be added.
const COUNT_MAX: u64 = 1 << 40;

/// The interval in a line of any log; `None` where it is a comment or the legend.
pub(crate) fn parse_line(text: &str) -> Result<Option<Interval>, String> {
    if text.len() as u64 > LINE_BYTES_MAX {
        return Err("the line is too long".to_owned());
    }
    parse(text.as_bytes(), |_| true, &mut Deserializer::new())
}

/// Hands over the intervals of the wanted tags in the file's order, but for a last line that was cut off.
pub(crate) fn read(
    path: &Path,
    wanted: impl Fn(&str) -> bool,
    mut each: impl FnMut(Interval),
) -> Result<(), RecordError> {
    let Some(file) = whole::if_there(path, regular::open(path))? else {
        return Ok(());
    };
    let mut file = BufReader::new(file);
    let mut deserializer = Deserializer::new();
    let mut text = Vec::new();
    for number in 1_u64.. {
        text.clear();
        let mut limited = file.by_ref().take(LINE_BYTES_MAX);
        limited.read_until(b'\n', &mut text).map_err(RecordError::io("read", path))?;
        let Some(whole) = text.strip_suffix(b"\n") else {
            if text.len() as u64 == LINE_BYTES_MAX {
                return Err(RecordError::damaged(path, format!("line {number} has no end")));
            }
            break;
        };
        let interval = parse(whole, &wanted, &mut deserializer)
            .map_err(|what| RecordError::damaged(path, format!("line {number}: {what}")))?;
        interval.into_iter().for_each(&mut each);
    }
    Ok(())
}

/// The interval in this line; `None` where it is a comment or the legend, or its tag is not wanted.
fn parse(
    text: &[u8],
    wanted: impl Fn(&str) -> bool,
    deserializer: &mut Deserializer,
) -> Result<Option<Interval>, String> {
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    let text = text.trim_end_matches('\r');
    if text.is_empty() || text.starts_with(['#', '"']) {
        return Ok(None);
    }
    let parts = line::parse(text)?;
    if !wanted(&parts.tag) {
        return Ok(None);
    }
    let payload = STANDARD.decode(parts.payload).map_err(|error| error.to_string())?;
    let histogram: Histogram<u64> =
        deserializer.deserialize(&mut &payload[..]).map_err(|error| error.to_string())?;
    let hist = converted(&histogram, parts.max_ns).ok_or("its counts are too large")?;
    Ok(Some(Interval { start_ns: parts.start_ns, len_ns: parts.len_ns, tag: parts.tag, hist }))
}

/// Each bucket's count at its middle, so that sums are right on average; the greatest number,
/// which the line states, at its own place. `None`: it counts more than can be.
fn converted(histogram: &Histogram<u64>, max: u64) -> Option<LogHistogram> {
    let mut hist = LogHistogram::new();
    for bucket in histogram.iter_recorded() {
        let value = bucket.value_iterated_to();
        let count = bucket.count_at_value();
        if hist.count().saturating_add(count) > COUNT_MAX {
            return None;
        }
        let middle = histogram.median_equivalent(value);
        let bounds = histogram.lowest_equivalent(value)..=histogram.highest_equivalent(value);
        if bounds.contains(&max) {
            hist.record(max);
            hist.record_n(middle.min(max), count.saturating_sub(1));
        } else {
            hist.record_n(middle, count);
        }
    }
    Some(hist)
}
