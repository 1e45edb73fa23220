//! Tests of compressed logs: complete, concatenated, truncated, invalid and hostile ones.

use sparkfuse_kernel::event_log::options::{Limits, Options};

use crate::compression::{COMPRESSIONS, Compress, gzip, lz4, zstd};
use crate::sample_log::{LOG, batches, options, read, read_with_options, read_with_threads};

#[test]
fn log_is_the_same_in_every_container() {
    // The smaller log fits into one chunk, the larger one needs many.
    for times in [40, 2000] {
        let plain = LOG.repeat(times);
        let wanted = batches(&read(plain.as_bytes()));
        for (name, compress) in COMPRESSIONS {
            let compressed = compress(plain.as_bytes());
            for threads in [1, 2] {
                let log = read_with_threads(&compressed, options(), threads);
                assert_eq!(batches(&log), wanted, "{name}");
                assert_eq!(
                    (log.evidence.files[0].codec.as_str(), log.evidence.truncated),
                    (name, false)
                );
                assert_eq!(log.evidence.plain_bytes, plain.len() as u64, "{name}");
                assert_eq!(log.evidence.files[0].bytes, compressed.len() as u64, "{name}");
            }
        }
    }
}

#[test]
fn events_before_an_invalid_block_are_read() {
    let plain = LOG.repeat(2000);
    for (name, compress) in COMPRESSIONS
        .into_iter()
        .filter(|(name, _)| ["lz4", "snappy"].contains(name))
    {
        let mut compressed = compress(plain.as_bytes());
        let half = compressed.len() / 2;
        compressed[half..half + 64].fill(0xff);
        let logs = [1, 2].map(|threads| read_with_threads(&compressed, options(), threads));
        let [alone, helped] = logs.each_ref().map(|log| {
            let file = &log.evidence.files[0];
            (log.evidence.events, file.plain_bytes, file.error.clone())
        });
        assert_eq!(alone, helped, "{name}");
        assert!(alone.0 > 9000 && alone.2.is_some(), "{name} {alone:?}");
    }
}

#[test]
fn empty_blocks_are_skipped() {
    let mark = &lz4(b"")[..21];
    let compressed = [&mark.repeat(50_000), &lz4(LOG.as_bytes())[..]].concat();
    for threads in [1, 2] {
        let log = read_with_threads(&compressed, options(), threads);
        assert_eq!((log.evidence.events, log.evidence.truncated), (13, false));
    }
}

#[test]
fn reader_that_stops_early_ends_its_threads() {
    let bounded = Options {
        limits: Limits {
            plain_bytes: 1 << 20,
            ..Limits::default()
        },
        ..options()
    };
    for (name, compress) in COMPRESSIONS {
        let file = &read_with_threads(&compress(LOG.repeat(4000).as_bytes()), bounded.clone(), 2)
            .evidence
            .files[0];
        assert_eq!(
            file.error.as_deref(),
            Some("decompresses to more than 1048576 bytes"),
            "{name}"
        );
    }
}

#[test]
fn concatenated_streams_are_one_log() {
    for (name, compress) in &COMPRESSIONS[..5] {
        let (first, second) = LOG.as_bytes().split_at(500);
        let log = read(&[compress(first), compress(second)].concat());
        assert_eq!((log.evidence.events, log.evidence.truncated), (13, false), "{name}");
    }
}

#[test]
fn truncated_container_gives_the_events_before_the_cut() {
    for (name, compress) in COMPRESSIONS {
        let compressed = compress(LOG.repeat(3).as_bytes());
        let mut before = 0;
        for cut in (17..compressed.len()).step_by(13) {
            let log = read(&compressed[..cut]);
            assert!(log.evidence.events >= before, "{name} at {cut}");
            before = log.evidence.events;
        }
    }
}

#[test]
fn container_truncated_in_its_first_block_is_named() {
    for (name, compress) in COMPRESSIONS {
        let compressed = compress(LOG.as_bytes());
        let file = &read(&compressed[..17]).evidence.files[0];
        assert!(name.starts_with(&file.codec) && file.truncated, "{name} {file:?}");
    }
}

#[test]
fn wrong_checksum_is_reported() {
    let mut compressed = lz4(LOG.repeat(40).as_bytes());
    let place = compressed.len() - 60;
    compressed[place] ^= 1;
    let file = &read(&compressed).evidence.files[0];
    assert!(file.truncated);
    assert_eq!(file.error.as_deref(), Some("lz4: wrong checksum"));
}

#[test]
fn decompression_bomb_stops_at_the_limits() {
    let mut bounded = options();
    bounded.limits = Limits {
        ratio: 50,
        ratio_from: 1 << 20,
        ..Limits::default()
    };
    for compress in [zstd as Compress, gzip, lz4] {
        let bomb = compress(&vec![b'\n'; 8 << 20]);
        let file = &read_with_options(&bomb, bounded.clone()).evidence.files[0];
        assert!(file.truncated && file.plain_bytes < 6 << 20, "{file:?}");
        assert_eq!(
            file.error.as_deref(),
            Some("decompresses to more than 50 times its size")
        );
    }
    bounded.limits = Limits {
        plain_bytes: 1 << 20,
        ..Limits::default()
    };
    let file = &read_with_options(&zstd(LOG.repeat(1000).as_bytes()), bounded)
        .evidence
        .files[0];
    assert_eq!(file.error.as_deref(), Some("decompresses to more than 1048576 bytes"));
}

#[test]
fn block_with_a_wrong_length_is_an_error() {
    let files = [
        [
            &b"LZ4Block\x25"[..],
            &[0xff, 0xff, 0xff, 0x03, 0xff, 0xff, 0xff, 0x03, 0, 0, 0, 0],
        ]
        .concat(),
        [
            &b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01"[..],
            &[0x03, 0xff, 0xff, 0xff],
            b"xx",
        ]
        .concat(),
        [
            &b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01"[..],
            &[0, 0, 0, 5],
            &[0xff, 0xff, 0xff, 0x7f, 0],
        ]
        .concat(),
        vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0, 0, 0],
    ];
    for bytes in files {
        let file = &read(&bytes).evidence.files[0];
        assert!(file.truncated && file.error.is_some(), "{file:?}");
    }
}
