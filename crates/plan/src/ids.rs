//! Which of its kind something is: indices into the lists of a plan.

/// Index of a [`crate::Session`] in [`crate::Plan::sessions`].
pub type SessionId = u16;

/// Index of a [`crate::Measure`] in [`crate::Plan::measures`].
pub type MeasureId = u16;

/// Index of an [`crate::Endpoint`] in [`crate::Plan::endpoints`].
pub type EndpointId = u16;

/// Index of a user's variable, in `0..Session::slots_count`.
pub type Slot = u16;

/// Index of a user's register (loop counter, pace mark, transaction start), in
/// `0..Session::registers_count`.
pub type Register = u16;

/// Index into [`crate::Session::ops`].
pub type Pc = u32;
