//! How types of `proto` are serialised, which itself knows no serialisation.

use std::num::NonZeroUsize;

use proto::frame::{Counts, Delimiter, Framing, LengthField, Marks, Width};
use proto::ws::Offer;
use serde::{Serialize, Serializer};

/// Serialises what compression a handshake offers.
pub(crate) fn offer<S: Serializer>(
    offer: &Option<Offer>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let offer = offer.map(|offer| match offer {
        Offer::Shared => "shared",
        Offer::Separate => "separate",
    });
    offer.serialize(serializer)
}

/// Serialises how messages are delimited.
pub(crate) fn framing<S: Serializer>(framing: &Framing, serializer: S) -> Result<S::Ok, S::Error> {
    (marks(&framing.marks), framing.header).serialize(serializer)
}

#[derive(Serialize)]
enum MarksForm<'a> {
    Length { width: usize, little_endian: bool, at: usize, counts: &'static str },
    Varint { at: usize },
    Delimiter(&'a [u8]),
    Fixed(NonZeroUsize),
    Nothing,
}

fn marks(marks: &Marks) -> MarksForm<'_> {
    match marks {
        Marks::Length(field) => length(*field),
        Marks::Varint { at } => MarksForm::Varint { at: *at },
        Marks::Delimiter(delimiter) => MarksForm::Delimiter(Delimiter::bytes(delimiter)),
        Marks::Fixed(bytes) => MarksForm::Fixed(*bytes),
        Marks::Nothing => MarksForm::Nothing,
    }
}

fn length(field: LengthField) -> MarksForm<'static> {
    MarksForm::Length {
        width: Width::bytes(field.width),
        little_endian: field.little_endian,
        at: field.at,
        counts: match field.counts {
            Counts::Rest => "rest",
            Counts::Payload => "payload",
            Counts::Frame => "frame",
        },
    }
}
