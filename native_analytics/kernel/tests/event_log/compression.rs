//! Compresses logs in every supported container, as Spark and other tools write it.

use std::io::Write;

pub fn zstd(plain: &[u8]) -> Vec<u8> {
    zstd::encode_all(plain, 1).unwrap()
}

pub fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

pub fn lz4(plain: &[u8]) -> Vec<u8> {
    let mut compressed = Vec::new();
    for block in plain.chunks(1 << 15).chain([&[][..]]) {
        let (method, body) = match block.len() {
            0 => (0x10, Vec::new()),
            length if length % 2 == 0 => (0x20, lz4_flex::block::compress(block)),
            _ => (0x10, block.to_vec()),
        };
        let hash = if block.is_empty() {
            0
        } else {
            xxhash_rust::xxh32::xxh32(block, 0x9747_b28c) & 0x0fff_ffff
        };
        compressed.extend_from_slice(b"LZ4Block");
        compressed.push(method | 5);
        for number in [body.len() as u32, block.len() as u32, hash] {
            compressed.extend_from_slice(&number.to_le_bytes());
        }
        compressed.extend_from_slice(&body);
    }
    compressed
}

fn snappy(plain: &[u8]) -> Vec<u8> {
    let mut compressed = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
    for block in plain.chunks(1 << 15) {
        let body = snap::raw::Encoder::new().compress_vec(block).unwrap();
        compressed.extend_from_slice(&(body.len() as u32).to_be_bytes());
        compressed.extend_from_slice(&body);
    }
    compressed
}

fn lzf(plain: &[u8]) -> Vec<u8> {
    let mut compressed = Vec::new();
    for chunk in plain.chunks(0xffff) {
        compressed.extend_from_slice(b"ZV\0");
        compressed.extend_from_slice(&(chunk.len() as u16).to_be_bytes());
        compressed.extend_from_slice(chunk);
    }
    compressed
}

fn zip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).unwrap();
    let body = encoder.finish().unwrap();
    let member = |name: &[u8], method: u16, body: &[u8]| {
        let mut head = b"PK\x03\x04\x14\0\0\0".to_vec();
        head.extend_from_slice(&method.to_le_bytes());
        head.extend_from_slice(&[0; 8]);
        head.extend_from_slice(&(body.len() as u32).to_le_bytes());
        head.extend_from_slice(&[0; 4]);
        head.extend_from_slice(&(name.len() as u16).to_le_bytes());
        head.extend_from_slice(&[0; 2]);
        [&head[..], name, body].concat()
    };
    [
        member(b"logs/", 0, b""),
        member(b"logs/app-1", 8, &body),
        b"PK\x01\x02 the central directory".to_vec(),
    ]
    .concat()
}

pub type Compress = fn(&[u8]) -> Vec<u8>;

pub const COMPRESSIONS: [(&str, Compress); 7] = [
    ("zstd", zstd),
    ("gzip", gzip),
    ("lz4", lz4),
    ("snappy", snappy),
    ("lzf", lzf),
    ("zip", zip),
    ("gzip+zip", |plain| gzip(&zip(plain))),
];
