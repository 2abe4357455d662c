//! Which of its kind something is: indices into the lists of a plan, each a type of its own.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)+) => {$(
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u16);

        impl $name {
            /// The index in the list.
            pub fn index(self) -> usize {
                usize::from(self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<u16> for $name {
            fn from(index: u16) -> $name {
                $name(index)
            }
        }
    )+};
}

ids! {
    /// Index of a [`crate::Session`] in [`crate::Plan::sessions`].
    SessionId
    /// Index of a [`crate::Measure`] in [`crate::Plan::measures`].
    MeasureId
    /// Index of a [`crate::Metric`] in [`crate::Plan::metrics`].
    MetricId
    /// Index of an [`crate::Endpoint`] in [`crate::Plan::endpoints`].
    EndpointId
    /// Index of a [`crate::PushedMessage`] in [`crate::Plan::messages`].
    MessageId
    /// Index of [`crate::Data`] in [`crate::Plan::data`].
    DataId
    /// Index of a user's variable, in `0..Session::slots_count`.
    Slot
    /// Index of a user's register (loop counter, pace mark, transaction start), in
    /// `0..Session::registers_count`.
    Register
}

/// Index into [`crate::Session::ops`]. A plain number: programs are made by counting with it.
pub type Pc = u32;
