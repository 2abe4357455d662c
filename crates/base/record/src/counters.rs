//! The counters that each loop keeps for an interval. Each counter is declared once: its name, its unit, how two are
//! merged, and where its total goes. The types that loops send, the check of what a worker sends, the merging of all
//! loops, the columns of the series and the notes of a run follow from the declaration.

use serde::{Deserialize, Serialize};

use crate::schema::SeriesRow;

/// The largest value of a counter in an interval that is accepted from another process. The sum over the
/// maximum number of loops cannot overflow.
pub const COUNTER_MAX: u64 = 1 << 48;

/// One counter's declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Name of the field.
    pub name: &'static str,
    /// `1`, `B` or `ns`.
    pub unit: &'static str,
    /// How the values of two loops, or of two intervals, are merged.
    pub merge: Merge,
    /// Destination of the merged value.
    pub output: Output,
}

/// How two values of a counter become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// They are added up.
    Sum,
    /// The larger one is kept.
    Max,
}

impl Merge {
    /// The merged value.
    pub fn apply(self, a: u64, b: u64) -> u64 {
        match self {
            Merge::Sum => a.saturating_add(b),
            Merge::Max => a.max(b),
        }
    }
}

/// The destination of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// To this column of `series.parquet`.
    Column(&'static str),
    /// To a note at the end of the run, unless it is 0: the value and this text.
    Note(&'static str),
    /// Nowhere: another figure is computed from it.
    None,
}

macro_rules! counters {
    ($(
        $(#[$meta:meta])*
        pub struct $Counters:ident {
            $($(#[$doc:meta])* $field:ident: $unit:literal, $merge:ident, $output:ident $(($to:tt))?;)+
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        pub struct $Counters {
            $($(#[$doc])* pub $field: u64,)+
        }

        impl $Counters {
            /// The declarations, in the order of the fields.
            pub const COUNTERS: &'static [Counter] = &[$(Counter {
                name: stringify!($field),
                unit: $unit,
                merge: Merge::$merge,
                output: counters!(@output $output $(($to))?),
            },)+];

            /// The values, in the order of [`COUNTERS`](Self::COUNTERS).
            pub fn values(&self) -> impl Iterator<Item = u64> + use<> {
                [$(self.$field,)+].into_iter()
            }

            /// Merges the values of `other` into these.
            pub fn merge(&mut self, other: &$Counters) {
                $(self.$field = Merge::$merge.apply(self.$field, other.$field);)+
            }

            /// Merges the values into the columns of `row`.
            pub fn merge_into(&self, row: &mut SeriesRow) {
                $(counters!(@column row, self.$field, $merge, $output $(($to))?);)+
            }
        }
    )+};
    (@output Column($column:ident)) => { Output::Column(stringify!($column)) };
    (@output Note($text:literal)) => { Output::Note($text) };
    (@output None) => { Output::None };
    (@column $row:ident, $value:expr, $merge:ident, Column($column:ident)) => {
        $row.$column = Merge::$merge.apply($row.$column, $value)
    };
    (@column $row:ident, $value:expr, $merge:ident, $output:ident $(($to:tt))?) => {};
}

counters! {
    /// The counters of a loop in an interval.
    pub struct Counts {
        /// Sessions that users of a closed population began again; they count as started as well.
        users_repeated: "1", Sum, Column(users_repeated);
        /// Sessions started.
        users_started: "1", Sum, Column(users_started);
        /// Sessions that came to the end of their program.
        users_finished: "1", Sum, Column(users_finished);
        /// Sessions that ended because a step failed.
        users_failed: "1", Sum, Column(users_failed);
        /// Sessions that ended because the generator had no file, port or memory for a step.
        users_stopped: "1", Sum, Column(users_stopped);
        /// Sessions that were cut off at the end of the run.
        users_cut: "1", Sum, Column(users_cut);
        /// Users that were due before the end and had not started by then.
        users_unstarted: "1", Sum, Column(users_unstarted);
        /// Paced steps, and others, that were due before the end and had not begun by then.
        steps_missed: "1", Sum, Column(steps_missed);
        /// Users not started for lack of files, ports or memory.
        users_refused: "1", Sum, Column(users_refused);
        /// Users that had to wait because `options.connecting_max` connections were being set up.
        users_held: "1", Sum, Column(users_held);
        /// Users that were due while arrivals were paused.
        users_paused: "1", Sum, Column(users_paused);
        /// Those of them that started after the pause, or were refused then.
        users_resumed: "1", Sum, Column(users_resumed);
        /// Users that fell due, each once.
        users_fell_due: "1", Sum, Column(users_fell_due);
        /// Users whose first connection was established.
        users_connected: "1", Sum, Column(users_connected);
        /// Connections that failed and were retried (`options.connect_retries`).
        connects_retried: "1", Sum, Column(connects_retried);
        /// Requests that were sent again over another connection because the server had ended theirs.
        requests_retried: "1", Sum, Column(requests_retried);
        /// Those of them whose connection's end the server had announced (`GOAWAY` of HTTP/2). The others met the end
        /// of an idle connection.
        requests_goaway: "1", Sum, Column(requests_goaway);
        /// TLS handshakes that agreed on everything.
        tls_handshakes_full: "1", Sum, Column(tls_handshakes_full);
        /// TLS handshakes that resumed a session of before.
        tls_handshakes_resumed: "1", Sum, Column(tls_handshakes_resumed);
        /// Operations begun, of all measures.
        sends: "1", Sum, Column(sends);
        /// Operations ended, of all measures.
        done: "1", Sum, Column(done);
        /// Operations that failed, of all measures. The column of errors counts those of steps.
        errors: "1", Sum, None;
        /// Application bytes sent.
        bytes_out: "B", Sum, Column(bytes_out);
        /// Application bytes received.
        bytes_in: "B", Sum, Column(bytes_in);
        /// Bytes of bodies that were decoded, as they came.
        encoded_in: "B", Sum, Column(encoded_in);
        /// The same bodies, decoded.
        decoded_in: "B", Sum, Column(decoded_in);
        /// Messages that no step waited for and no `messages` entry matched.
        unmatched: "1", Sum, Column(unmatched);
        /// Messages that a later step could have taken, and that were too many or too large to be kept for it.
        early_dropped: "1", Sum, Note("messages came before a step that could have taken them, and were too many or too large to be kept for it");
        /// Messages whose stamp was in the future. They have a measure of their own.
        stamps_ahead: "1", Sum, None;
        /// Messages whose stamp was before the run; they have no age.
        stamps_before: "1", Sum, Note("messages were stamped before the run began; they are counted without their age");
        /// Messages that came before their sender's clock was known, which should correct their stamps.
        stamps_uncorrected: "1", Sum, Note("messages came before any reply with a stamp by which theirs could be corrected; they are counted without their age");
        /// Numbered messages that were too many in an interval to report the receivers of each.
        broadcasts_unreported: "1", Sum, Note("receipts of numbered messages came too many at once, and are not among the times to the first and the last receiver");
        /// Numbered messages of more sequences than are tracked for one user, or so far ahead that the
        /// messages between do not count as lost.
        numbers_unaccounted: "1", Sum, Note("numbered messages could not be tracked: their user had too many sequences, or they were too far ahead of the previous one");
        /// HTTP connections that were closed because bytes came that answer no request.
        unsolicited: "1", Sum, Note("HTTP connections were closed because the server sent bytes that answer no request");
        /// Users that left because their data had no further row, as `end: stop` says.
        rows_used_up: "1", Sum, Note("times a user left because its data had no further row (`end: stop`): since then there were fewer users than planned");
        /// Calls of functions and steps in JavaScript.
        script_calls: "1", Sum, Column(script_calls);
        /// Time that they took.
        scripts_ns: "ns", Sum, Column(scripts_ns);
        /// Calls by which scripts end the run.
        script_aborts: "1", Sum, None;
        /// Lines that scripts wrote and that were too many to be kept.
        console_dropped: "1", Sum, Note("lines that scripts wrote (`console.log`) were too many to be kept");
    }

    /// Levels at an interval's end, and the highest one within it. Over all loops numbers of users, connections
    /// and operations are added up.
    pub struct Gauges {
        /// Users that have started and not finished.
        users: "1", Sum, Column(users);
        /// The most users at once. Set when the interval is closed.
        users_peak: "1", Sum, Column(users_peak);
        /// Open connections.
        connections: "1", Sum, Column(connections);
        /// Operations in flight.
        in_flight: "1", Sum, Column(in_flight);
        /// How long after its end the interval was closed: a loop did not run for this time.
        closed_late_ns: "ns", Max, Column(closed_late_ns);
    }

    /// CPU time of a loop's thread in an interval.
    pub struct LoopCpu {
        /// CPU time of the thread.
        used_ns: "ns", Sum, Column(cpu_loops_ns);
        /// Time in which it was ready but did not run.
        waited_ns: "ns", Sum, Column(cpu_wait_ns);
        /// Time in which it had nothing to do: asleep, or spinning for a due time. The busiest loop's share
        /// follows from it.
        idle_ns: "ns", Sum, None;
    }
}

impl Counts {
    /// The notes of a run with these totals: one for each anomaly that occurred.
    pub fn notes(&self) -> impl Iterator<Item = String> + use<> {
        let totals = self.values().zip(Counts::COUNTERS);
        totals.filter_map(|(count, counter)| match counter.output {
            Output::Note(text) if count > 0 => Some(format!("{count} {text}")),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_up_and_fills_the_columns() {
        let mut sum = Counts { sends: 2, ..Counts::default() };
        sum.merge(&Counts { sends: 3, unmatched: 1, ..Counts::default() });
        let mut row = SeriesRow::default();
        sum.merge_into(&mut row);
        let cpu = LoopCpu { used_ns: 7, waited_ns: 8, idle_ns: 9 };
        cpu.merge_into(&mut row);
        cpu.merge_into(&mut row);
        let expected = SeriesRow {
            sends: 5,
            unmatched: 1,
            cpu_loops_ns: 14,
            cpu_wait_ns: 16,
            ..SeriesRow::default()
        };
        assert_eq!(row, expected);
        assert_eq!(Merge::Max.apply(2, 3), 3);
    }

    #[test]
    fn each_anomaly_that_occurred_is_one_note() {
        assert_eq!(Counts::default().notes().count(), 0);
        let counts =
            Counts { sends: 9, stamps_before: 4, numbers_unaccounted: 2, ..Counts::default() };
        let notes: Vec<String> = counts.notes().collect();
        assert_eq!(notes.len(), 2);
        assert!(notes[0].starts_with("4 messages were stamped before"));
        assert!(notes[1].starts_with("2 numbered messages"));
    }
}
