//! Fuzzes the decoder of Protobuf facts. Checks that there is no panic, and that each record becomes a row or is
//! rejected.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sparkfuse_kernel::facts::Decoder;

static DECODER: OnceLock<Decoder> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let decoder = DECODER.get_or_init(|| {
        let descriptors = include_bytes!("../../../../contracts/generated/descriptors.binpb");
        Decoder::new(descriptors, "sparkfuse.contracts.Fact").expect("the contract's own message")
    });
    let records: Vec<Option<&[u8]>> = bytes.split(|byte| *byte == 0xff).map(Some).collect();
    let decoded = decoder.decode(&records).expect("far below the largest batch");
    assert_eq!(decoded.batch.num_rows() + decoded.rejected.len(), records.len());
});
