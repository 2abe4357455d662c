//! HPACK: the examples of RFC 7541, appendix C, and what a decoder must refuse.

use proptest::prelude::*;
use proto::hpack::{Decoder, Error, Scratch, encode_field, encode_huffman, encode_table_size};

type Fields = Vec<(String, String)>;

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Fields, Error> {
    let mut fields = Vec::new();
    let mut scratch = Scratch::default();
    decoder.decode(block, &mut scratch, |name, value| {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        fields.push((text(name), text(value)));
    })?;
    Ok(fields)
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let digit = |digit: u8| char::from(digit).to_digit(16).expect("a digit") as u8;
    let byte = |pair: &[u8]| digit(pair[0]) << 4 | digit(pair[1]);
    digits.chunks(2).map(byte).collect()
}

/// Blocks of one connection, each with its fields as `name: value` lines.
fn check(decoder: &mut Decoder, blocks: &[(&str, &str)]) {
    for (hex, lines) in blocks {
        let fields = decode(decoder, &bytes(hex)).expect("a block");
        let read: Vec<String> = fields.iter().map(|(n, v)| format!("{n}: {v}")).collect();
        let lines: Vec<&str> = lines.lines().map(str::trim).collect();
        assert_eq!(read, lines, "{hex}");
    }
}

#[test]
fn single_fields_of_the_rfc() {
    // C.2.1 to C.2.4.
    let mut decoder = Decoder::new(4096);
    check(
        &mut decoder,
        &[
            (
                "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
                "custom-key: custom-header",
            ),
            ("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path"),
            ("1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret"),
            ("82", ":method: GET"),
            // Of these, one was added to the table.
            ("be", "custom-key: custom-header"),
        ],
    );
    assert_eq!(decode(&mut decoder, &[0xbf]), Err(Error::BadIndex));
}

const REQUESTS: [&str; 3] = [
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com",
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\ncache-control: no-cache",
    ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value",
];

#[test]
fn requests_of_the_rfc() {
    // C.3, without Huffman, and C.4, with it.
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let coded = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    for blocks in [plain, coded] {
        let blocks: Vec<_> = blocks.into_iter().zip(REQUESTS).collect();
        check(&mut Decoder::new(4096), &blocks);
    }
}

#[test]
fn responses_of_the_rfc() {
    // C.5 and C.6: a table of 256 bytes, from which fields are evicted.
    let responses = [
        ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com",
        ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com",
        ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\nlocation: https://www.example.com\n\
         content-encoding: gzip\nset-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
    ];
    let plain = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d
         546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f
         6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b
         2076 6572 7369 6f6e 3d31",
    ];
    let coded = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7
         8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335
         dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ];
    for blocks in [plain, coded] {
        let blocks: Vec<_> = blocks.into_iter().zip(responses).collect();
        check(&mut Decoder::new(256), &blocks);
    }
}

#[test]
fn bad_blocks_are_refused() {
    for (hex, error) in [
        // Index 0, and one beyond both tables.
        ("80", Error::BadIndex),
        ("be", Error::BadIndex),
        ("7f00 0161", Error::BadIndex),
        // Numbers that do not end, or are too large.
        ("ff", Error::Truncated),
        ("ff80 8080", Error::Truncated),
        ("ffff ffff ff7f", Error::NumberTooLarge),
        ("ffff ffff ffff ffff ffff", Error::NumberTooLarge),
        // Strings that are longer than the block.
        ("0005 6162", Error::Truncated),
        ("00", Error::Truncated),
        ("0001 61", Error::Truncated),
        ("007f ffff ff0f", Error::Truncated),
        // Huffman: the end of strings, and padding of a byte.
        ("0084 ffff ffff 00", Error::BadHuffman),
        ("0081 ff00", Error::BadHuffman),
        // Sizes: too large, after a field, too often.
        ("3fe2 1f", Error::TableTooLarge),
        ("8220", Error::MisplacedSizeUpdate),
        ("2020 20", Error::MisplacedSizeUpdate),
    ] {
        let mut decoder = Decoder::new(4096);
        assert_eq!(decode(&mut decoder, &bytes(hex)), Err(error), "{hex}");
    }
}

#[test]
fn a_smaller_table_forgets_and_owns_no_memory() {
    let mut decoder = Decoder::new(4096);
    decode(&mut decoder, &bytes("400161 0162")).unwrap();
    assert!(decoder.memory_bytes() > 0);
    assert_eq!(decode(&mut decoder, &[0xbe]).unwrap()[0], ("a".into(), "b".into()));
    let mut block = Vec::new();
    encode_table_size(&mut block, 0);
    assert_eq!(decode(&mut decoder, &block), Ok(vec![]));
    assert_eq!(decoder.memory_bytes(), 0);
    // Nothing is added to a table that holds nothing.
    decode(&mut decoder, &bytes("400161 0162")).unwrap();
    assert_eq!(decode(&mut decoder, &[0xbe]), Err(Error::BadIndex));
}

/// However many fields a peer adds, its table takes a few times what was agreed on.
#[test]
fn a_table_stays_small() {
    let mut decoder = Decoder::new(4096);
    for number in 0..20_000_u32 {
        let name = number.to_string();
        let mut block = vec![0x40, name.len() as u8];
        block.extend_from_slice(name.as_bytes());
        block.extend_from_slice(&[0]);
        decode(&mut decoder, &block).unwrap();
        let bytes = decoder.memory_bytes();
        assert!(bytes <= 8 << 10, "{bytes} bytes after {number} fields");
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        fields in proptest::collection::vec(("[a-z0-9:-]{1,20}", "[ -~]{0,200}"), 0..20),
    ) {
        let mut block = Vec::new();
        for (name, value) in &fields {
            encode_field(&mut block, name, value.as_bytes());
        }
        prop_assert_eq!(decode(&mut Decoder::new(0), &block), Ok(fields));
    }

    #[test]
    fn huffman_strings_are_decoded(name in "[a-z-]{1,20}", value in "[ -~]{0,80}") {
        let mut block = vec![0x40];
        for text in [&name, &value] {
            let mut coded = Vec::new();
            encode_huffman(text.as_bytes(), &mut coded);
            block.push(0x80 | coded.len() as u8);
            block.extend_from_slice(&coded);
        }
        prop_assume!(!block.contains(&0xff) || block.len() < 128);
        prop_assert_eq!(decode(&mut Decoder::new(4096), &block), Ok(vec![(name, value)]));
    }

    #[test]
    fn no_block_panics(blocks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 0..8)) {
        let mut decoder = Decoder::new(4096);
        let mut scratch = Scratch::default();
        for block in blocks {
            let _ = decoder.decode(&block, &mut scratch, |_, _| {});
        }
    }
}
