//! Tests of logs that are read in pieces, and of logs with damaged bytes.

use std::sync::Arc;

use arrow_array::RecordBatch;
use proptest::prelude::*;
use sparkfuse_kernel::event_log::decoder::Decoder;

use crate::compression::COMPRESSIONS;
use crate::sample_log::{LOG, batches, options, read};

fn fed(bytes: &[u8], pieces: &[usize]) -> (Vec<RecordBatch>, u64, u64, bool) {
    let mut decoder = Decoder::new(Arc::new(options()), 0);
    let mut from = 0;
    for piece in pieces.iter().cycle() {
        let to = bytes.len().min(from + piece.max(&1));
        decoder.feed(&bytes[from..to]);
        from = to;
        if from == bytes.len() {
            break;
        }
    }
    decoder.finish();
    let resume_at = decoder.resume_at();
    let log = decoder.take(true, true);
    let torn = log.evidence.truncated;
    (batches(&log), log.evidence.malformed, resume_at, torn)
}

proptest! {
    /// The tables do not depend on how a log is cut into pieces.
    #[test]
    fn any_pieces_give_the_same_tables(pieces in prop::collection::vec(1usize..3000, 1..8), cut in 0usize..LOG.len()) {
        let bytes = &LOG.as_bytes()[..cut];
        prop_assert_eq!(fed(bytes, &pieces), fed(bytes, &[usize::MAX >> 1]));
    }

    /// A decoder that starts at `resume_at` of another decoder reads every remaining event, and no event twice.
    #[test]
    fn decoding_continues_at_resume_at(cut in 0usize..LOG.len()) {
        let mut decoder = Decoder::new(Arc::new(options()), 0);
        decoder.feed(&LOG.as_bytes()[..cut]);
        let mut later = Decoder::new(Arc::new(options()), decoder.resume_at());
        later.feed(&LOG.as_bytes()[decoder.resume_at() as usize..]);
        later.finish();
        prop_assert_eq!(decoder.evidence.events + later.evidence.events, 13);
        prop_assert_eq!(later.resume_at(), LOG.len() as u64);
    }

    /// Whatever bytes of a log are damaged, the decoder does not panic, and it counts every line.
    #[test]
    fn every_damaged_line_is_counted(
        changes in prop::collection::vec((0usize..LOG.len(), any::<u8>()), 1..40),
        compress in 0usize..=COMPRESSIONS.len(),
    ) {
        let mut bytes = match COMPRESSIONS.get(compress) {
            Some((_, compress)) => compress(LOG.as_bytes()),
            None => LOG.as_bytes().to_vec(),
        };
        let length = bytes.len();
        for (place, value) in changes {
            bytes[place % length] = value;
        }
        let log = read(&bytes);
        if compress == COMPRESSIONS.len() {
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace)).count();
            let counted = log.evidence.events + log.evidence.malformed + u64::from(log.evidence.truncated);
            prop_assert_eq!(counted, lines as u64);
        }
    }
}
