use super::*;

#[test]
fn a_frame_has_its_length_and_the_least_memory_that_holds_it() {
    let mut buffers = Buffers::default();
    for (length, held) in [
        (1, 256),
        (256, 256),
        (257, 2048),
        (2049, 16_384),
        (20_000, FRAME_BYTES_MAX),
        (FRAME_BYTES_MAX, FRAME_BYTES_MAX),
    ] {
        assert_eq!(Buffers::held_bytes(length), held);
        let frame = buffers.frame(length, |bytes| bytes.fill(7));
        assert_eq!(frame.bytes(), vec![7; length]);
        assert_eq!(frame.held_bytes(), held);
        buffers.release(frame);
    }
}

#[test]
fn memory_is_used_again_but_not_kept_without_limit() {
    let mut buffers = Buffers::default();
    let count = FREE_BYTES_MAX / FRAME_BYTES_MAX + 10;
    let frames: Vec<_> = (0..count).map(|_| buffers.frame(FRAME_BYTES_MAX, |_| {})).collect();
    for frame in frames {
        buffers.release(frame);
    }
    assert_eq!(buffers.free[3].len(), count - 10);
    let _again = buffers.frame(60_000, |_| {});
    assert_eq!(buffers.free[3].len(), count - 11);
    assert_eq!(buffers.free_bytes, (count - 11) * FRAME_BYTES_MAX);
}
