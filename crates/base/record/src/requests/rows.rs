//! The columns of `requests.parquet`, and rows turned into columns and back.

use crate::columnar::{Column, Field, Kind, Packing, TableReader};
use crate::{Measurement, Outcome, RecordError};

const LONGS: usize = 4;
const UNSIGNED: usize = 8;

/// The columns in the file's order: first those of 64 bits, then those of 32.
pub(super) const FIELDS: &[Field; LONGS + UNSIGNED] = &[
    field("due_ns", Kind::Long, Packing::Differences),
    field("sent_ns", Kind::Long, Packing::Differences),
    field("done_ns", Kind::Long, Packing::Differences),
    field("user", Kind::Long, Packing::Differences),
    field("measure", Kind::Unsigned(16), Packing::Differences),
    field("session", Kind::Unsigned(16), Packing::Repeats),
    field("loop", Kind::Unsigned(16), Packing::Repeats),
    field("outcome", Kind::Unsigned(8), Packing::Repeats),
    field("status", Kind::Unsigned(16), Packing::Repeats),
    field("weight", Kind::Unsigned(32), Packing::Repeats),
    field("bytes_out", Kind::Unsigned(32), Packing::Differences),
    field("bytes_in", Kind::Unsigned(32), Packing::Differences),
];

const fn field(name: &'static str, kind: Kind, packing: Packing) -> Field {
    Field { name, kind, packing }
}

/// Rows by column. All columns have one length.
pub(super) struct Rows {
    longs: [Vec<i64>; LONGS],
    unsigned: [Vec<i32>; UNSIGNED],
}

impl Rows {
    pub(super) fn with_capacity(rows: usize) -> Rows {
        Rows {
            longs: std::array::from_fn(|_| Vec::with_capacity(rows)),
            unsigned: std::array::from_fn(|_| Vec::with_capacity(rows)),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.longs[0].len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn clear(&mut self) {
        self.longs.iter_mut().for_each(Vec::clear);
        self.unsigned.iter_mut().for_each(Vec::clear);
    }

    /// A column at a time: the rows stay in the cache, and each loop is a plain copy.
    pub(super) fn extend(&mut self, rows: &[Measurement]) {
        let [due, sent, done, user] = &mut self.longs;
        due.extend(rows.iter().map(|row| row.due_ns.cast_signed()));
        sent.extend(rows.iter().map(|row| row.sent_ns.cast_signed()));
        done.extend(rows.iter().map(|row| row.done_ns.cast_signed()));
        user.extend(rows.iter().map(|row| row.user.cast_signed()));
        let [measure, session, loop_id, outcome, status, weight, bytes_out, bytes_in] =
            &mut self.unsigned;
        measure.extend(rows.iter().map(|row| i32::from(row.measure)));
        session.extend(rows.iter().map(|row| i32::from(row.session)));
        loop_id.extend(rows.iter().map(|row| i32::from(row.loop_id)));
        outcome.extend(rows.iter().map(|row| row.outcome as i32));
        status.extend(rows.iter().map(|row| i32::from(row.status)));
        weight.extend(rows.iter().map(|row| row.weight.cast_signed()));
        bytes_out.extend(rows.iter().map(|row| row.bytes_out.cast_signed()));
        bytes_in.extend(rows.iter().map(|row| row.bytes_in.cast_signed()));
    }

    /// The columns in the order of [`FIELDS`].
    pub(super) fn columns(&self) -> impl Iterator<Item = Column<'_>> {
        let longs = self.longs.iter().map(|values| Column::Long(values));
        longs.chain(self.unsigned.iter().map(|values| Column::Unsigned(values)))
    }
}

/// The places of the columns of [`FIELDS`] in this file.
pub(super) fn places(table: &TableReader) -> Result<Vec<usize>, RecordError> {
    FIELDS.iter().map(|field| table.require(field)).collect()
}

/// The rows of a row group.
pub(super) fn read_group(
    table: &TableReader,
    places: &[usize],
    group: usize,
) -> Result<Vec<Measurement>, RecordError> {
    let (long_places, unsigned_places) = places.split_at(LONGS);
    let longs: Vec<Vec<i64>> =
        long_places.iter().map(|&place| table.longs(group, place)).collect::<Result<_, _>>()?;
    let unsigned: Vec<Vec<u32>> = unsigned_places
        .iter()
        .map(|&place| table.unsigned(group, place))
        .collect::<Result<_, _>>()?;
    let long = |column: usize, row: usize| longs[column][row].cast_unsigned();
    let short = |column: usize, row: usize| {
        let value = unsigned[column][row];
        u16::try_from(value).map_err(|_| {
            table.damaged(format!("{value} in column `{}`", FIELDS[LONGS + column].name))
        })
    };
    let outcome = |row: usize| {
        let code = unsigned[3][row];
        u8::try_from(code)
            .ok()
            .and_then(Outcome::from_code)
            .ok_or_else(|| table.damaged(format!("no outcome has code {code}")))
    };
    (0..longs[0].len())
        .map(|row| {
            Ok(Measurement {
                due_ns: long(0, row),
                sent_ns: long(1, row),
                done_ns: long(2, row),
                user: long(3, row),
                measure: short(0, row)?,
                session: short(1, row)?,
                loop_id: short(2, row)?,
                outcome: outcome(row)?,
                status: short(4, row)?,
                weight: unsigned[5][row],
                bytes_out: unsigned[6][row],
                bytes_in: unsigned[7][row],
            })
        })
        .collect()
}
