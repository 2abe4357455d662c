//! The codec against values of every kind, and against bytes of any.

use proptest::prelude::*;

use super::*;

/// Numbers of queues and clients.
fn id() -> impl Strategy<Value = i32> {
    prop_oneof![Just(1), Just(i32::MAX), 1..=i32::MAX]
}

fn receiver() -> impl Strategy<Value = Option<i32>> {
    proptest::option::of(id())
}

fn text() -> impl Strategy<Value = String> {
    "[^\0]{0,40}"
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        id().prop_map(|creator| Request::CreateQueue { creator }),
        id().prop_map(|queue| Request::DeleteQueue { queue }),
        (id(), id(), receiver(), text()).prop_map(|(queue, sender, receiver, text)| {
            Request::Send { queue, sender, receiver, text }
        }),
        (id(), receiver()).prop_map(|(queue, receiver)| Request::Peek { queue, receiver }),
        (id(), receiver(), 0..=WAIT_MAX_MS).prop_map(|(queue, receiver, wait_ms)| Request::Pop {
            queue,
            receiver,
            wait_ms
        }),
        (id(), 1..=QUEUES_MAX).prop_map(|(receiver, limit)| Request::Queues { receiver, limit }),
        (id(), receiver(), 1..=MESSAGES_MAX).prop_map(|(sender, receiver, limit)| {
            Request::Messages { sender, receiver, limit }
        }),
    ]
}

/// The payload as the documentation has it, written without the code under test.
fn payload(request: &Request) -> Vec<u8> {
    let id = |id: &i32| id.to_be_bytes().to_vec();
    let or_none = |receiver: &Option<i32>| receiver.unwrap_or(0).to_be_bytes().to_vec();
    let number = |number: &u32| number.to_be_bytes().to_vec();
    match request {
        Request::CreateQueue { creator } => id(creator),
        Request::DeleteQueue { queue } => id(queue),
        Request::Send { queue, sender, receiver, text } => {
            let text = text.clone().into_bytes();
            [id(queue), id(sender), or_none(receiver), text].concat()
        }
        Request::Peek { queue, receiver } => [id(queue), or_none(receiver)].concat(),
        Request::Pop { queue, receiver, wait_ms } => {
            [id(queue), or_none(receiver), number(wait_ms)].concat()
        }
        Request::Queues { receiver, limit } => [id(receiver), number(limit)].concat(),
        Request::Messages { sender, receiver, limit } => {
            [id(sender), or_none(receiver), number(limit)].concat()
        }
    }
}

fn code_of(operation: Operation, payload: &[u8]) -> Option<Code> {
    Request::parse(operation, payload).err().map(|problem| problem.code)
}

proptest! {
    #[test]
    fn requests_are_read_as_they_were_written(request in request()) {
        let read = Request::parse(request.operation(), &payload(&request));
        prop_assert_eq!(read, Ok(Some(request)));
    }

    #[test]
    fn a_request_of_another_length_is_malformed(request in request(), cut in 0_usize..12, more in 1_usize..5) {
        let mut bytes = payload(&request);
        let fixed = match &request {
            Request::Send { text, .. } => bytes.len() - text.len(),
            _ => bytes.len(),
        };
        let short = &bytes[..cut.min(fixed - 1)];
        prop_assert_eq!(code_of(request.operation(), short), Some(Code::Malformed));
        if request.operation() != Operation::Send {
            bytes.extend(vec![0; more]);
            prop_assert_eq!(code_of(request.operation(), &bytes), Some(Code::Malformed));
        }
    }

    #[test]
    fn no_bytes_panic(kind in any::<u8>(), bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = framing(&bytes, 32);
        if let Some(operation) = Operation::from_kind(kind) {
            let read = Request::parse(operation, &bytes);
            prop_assert_eq!(operation == Operation::Echo, read == Ok(None));
        }
    }

    #[test]
    fn a_frame_is_complete_with_its_last_byte(kind in any::<u8>(), payload in proptest::collection::vec(any::<u8>(), 0..64)) {
        let length = u32::try_from(payload.len()).unwrap();
        let frame = [&length.to_be_bytes()[..], &[kind], &payload].concat();
        for cut in 0..frame.len() {
            let bytes = if cut < HEADER_BYTES { HEADER_BYTES } else { frame.len() };
            prop_assert_eq!(framing(&frame[..cut], 64), Framing::Partial { bytes });
        }
        let complete = Framing::Complete { kind, payload: payload.len() };
        prop_assert_eq!(framing(&frame, 64), complete);
        let two = [&frame[..], &frame[..]].concat();
        prop_assert_eq!(framing(&two, 64), complete);
    }

    #[test]
    fn messages_are_written_as_documented(
        id in 1..=i64::MAX, queue in id(), sender in id(), receiver in receiver(), arrival_us: u64, text in text(),
    ) {
        let message = Message { id, queue, sender, receiver, arrival_us, text: &text };
        let mut out = b"before".to_vec();
        let mut answer = Writer::answer(&mut out, Operation::Pop);
        answer.message(&message);
        answer.finish();
        prop_assert_eq!(receiver_of(&out[6..]), receiver);
        add_trailer(&mut out, 6, [1, 2, 3, u32::MAX]);
        let payload = [
            &id.to_be_bytes()[..], &queue.to_be_bytes(), &sender.to_be_bytes(), &receiver.unwrap_or(0).to_be_bytes(),
            &arrival_us.to_be_bytes(), text.as_bytes(),
            &[0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 255, 255, 255, 255],
        ].concat();
        let length = u32::try_from(payload.len()).unwrap();
        prop_assert_eq!(out, [&b"before"[..], &length.to_be_bytes(), &[0x85], &payload].concat());
    }
}

#[test]
fn fields_out_of_range_are_malformed() {
    let zero = [0; 4];
    let negative = [0x80, 0, 0, 0];
    let one = [0, 0, 0, 1];
    for (operation, fields) in [
        (Operation::CreateQueue, vec![zero]),
        (Operation::DeleteQueue, vec![negative]),
        (Operation::Send, vec![one, zero, zero]),
        (Operation::Peek, vec![one, negative]),
        (Operation::Pop, vec![one, one, 60_001_u32.to_be_bytes()]),
        (Operation::Queues, vec![zero, one]),
        (Operation::Queues, vec![one, 1_001_u32.to_be_bytes()]),
        (Operation::Messages, vec![one, zero, 101_u32.to_be_bytes()]),
    ] {
        assert_eq!(
            code_of(operation, &fields.concat()),
            Some(Code::Malformed),
            "{operation:?} {fields:?}"
        );
    }
    let no_limit = Request::parse(Operation::Queues, &[one, zero].concat());
    let queues = Request::Queues { receiver: 1, limit: QUEUES_MAX };
    assert_eq!(no_limit, Ok(Some(queues)));
}

#[test]
fn texts_that_the_database_cannot_keep_are_refused() {
    let send = |text: &[u8]| code_of(Operation::Send, &[&[0, 0, 0, 1].repeat(3), text].concat());
    assert_eq!(send("größer".as_bytes()), None);
    assert_eq!(send(b""), None);
    assert_eq!(send(b"a\0b"), Some(Code::Text));
    assert_eq!(send(b"a\xffb"), Some(Code::Text));
    // Cut within a character.
    assert_eq!(send(&"größer".as_bytes()[..3]), Some(Code::Text));
}

#[test]
fn lengths_beyond_the_limit_are_too_large_before_the_payload_is_there() {
    for length in [65, 1 << 31, u32::MAX] {
        let frame = [&length.to_be_bytes()[..], &[3]].concat();
        assert_eq!(framing(&frame, 64), Framing::TooLarge { kind: 3, payload: length });
    }
}

#[test]
fn errors_name_the_request_and_a_code() {
    let mut out = Vec::new();
    Writer::error(&mut out, 5, Code::NoQueue, "gone").finish();
    assert_eq!(out, b"\0\0\0\x07\xff\x05\0\x05gone");
}

#[test]
fn codes_and_types_are_their_places() {
    for (place, code) in Code::ALL.into_iter().enumerate() {
        assert_eq!(usize::from(code as u16), place + 1);
    }
    for (place, operation) in Operation::ALL.into_iter().enumerate() {
        assert_eq!(operation as usize, place + 1);
        assert_eq!(Operation::from_kind(operation as u8), Some(operation));
    }
    assert_eq!(Operation::from_kind(0), None);
    assert_eq!(Operation::from_kind(9), None);
}
