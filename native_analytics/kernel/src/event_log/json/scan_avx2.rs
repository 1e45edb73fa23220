//! Scans 64 bytes at a time on processors with AVX2.
//!
//! This is the only module with unsafe code: unaligned loads from slices of a checked length, and calls of functions
//! that need the processor's feature.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

const STEP: usize = 64;

#[inline]
pub fn available() -> bool {
    is_x86_feature_detected!("avx2")
}

/// Does the same as `scan::skip_container`. Never panics. Must only be called if `available()` is true.
#[inline]
pub fn skip_container(text: &[u8], at: usize, open: u8, close: u8) -> Option<usize> {
    debug_assert!(available());
    // SAFETY: `available()` is true by the contract of this function.
    unsafe { skip(text, at, open, close) }
}

/// Returns the index of the first quote or backslash from `at` on. Must only be called if `available()` is true.
#[inline]
pub fn quote_or_backslash(text: &[u8], at: usize) -> Option<usize> {
    debug_assert!(available());
    // SAFETY: `available()` is true by the contract of this function.
    unsafe { first_of_two(text, at) }
}

#[target_feature(enable = "avx2,bmi1")]
fn first_of_two(text: &[u8], mut at: usize) -> Option<usize> {
    const HALF: usize = STEP / 2;
    let quote = _mm256_set1_epi8(b'"' as i8);
    let backslash = _mm256_set1_epi8(b'\\' as i8);
    while let Some(step) = text.get(at..at + HALF) {
        // SAFETY: `step` has 32 bytes.
        let bytes = unsafe { _mm256_loadu_si256(step.as_ptr().cast::<__m256i>()) };
        let either = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, quote), _mm256_cmpeq_epi8(bytes, backslash));
        let found = _mm256_movemask_epi8(either) as u32;
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
        at += HALF;
    }
    let rest = text.get(at..)?;
    rest.iter()
        .position(|byte| matches!(byte, b'"' | b'\\'))
        .map(|place| at + place)
}

/// Returns a bit for each byte, which is set if a backslash escapes the byte; `carry` is 1 if the previous step ended
/// with a backslash that escapes the next byte. One addition finds the runs of backslashes with an odd length, as in
/// simdjson (Langdale and Lemire, 2019, section 3.1.1).
#[inline(always)]
fn escaped(backslashes: u64, carry: &mut u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let backslashes = backslashes & !*carry;
    let follows = (backslashes << 1) | *carry;
    let odd_starts = backslashes & !EVEN & !follows;
    let (even_runs, over) = odd_starts.overflowing_add(backslashes);
    *carry = u64::from(over);
    (EVEN ^ (even_runs << 1)) & follows
}

/// Bit i of the result is the parity of bits 0 to i.
#[inline(always)]
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn equal(low: __m256i, high: __m256i, byte: u8) -> u64 {
    let wanted = _mm256_set1_epi8(byte as i8);
    let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)) as u32;
    let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)) as u32;
    u64::from(low) | (u64::from(high) << 32)
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn skip(text: &[u8], start: usize, open: u8, close: u8) -> Option<usize> {
    let mut at = start;
    let mut depth = 1i64;
    let mut in_string = 0u64; // either all bits are set or no bit
    let mut escape_carry = 0u64;
    while at < text.len() {
        let mut tail = [0u8; STEP];
        let step: &[u8] = match text.get(at..at + STEP) {
            Some(step) => step,
            None => {
                let rest = &text[at..];
                tail[..rest.len()].copy_from_slice(rest);
                &tail
            }
        };
        // SAFETY: `step` has 64 bytes in both arms.
        let (low, high) = unsafe {
            let from = step.as_ptr();
            (
                _mm256_loadu_si256(from.cast::<__m256i>()),
                _mm256_loadu_si256(from.add(32).cast::<__m256i>()),
            )
        };
        let backslashes = equal(low, high, b'\\');
        let mut quotes = equal(low, high, b'"');
        if backslashes | escape_carry != 0 {
            quotes &= !escaped(backslashes, &mut escape_carry);
        }
        let mut closes = equal(low, high, close);
        let mut opens = equal(low, high, open);
        if closes | opens == 0 {
            if quotes.count_ones() & 1 == 1 {
                in_string = !in_string;
            }
            at += STEP;
            continue;
        }
        let strings = prefix_xor(quotes) ^ in_string;
        in_string = ((strings as i64) >> 63) as u64;
        closes &= !strings;
        opens &= !strings;
        if i64::from(closes.count_ones()) < depth {
            depth += i64::from(opens.count_ones()) - i64::from(closes.count_ones());
        } else {
            let mut counted = 0u64;
            while closes != 0 {
                let place = closes.trailing_zeros();
                let below = (1u64 << place) - 1;
                depth += i64::from((opens & below & !counted).count_ones()) - 1;
                if depth == 0 {
                    return Some(at + place as usize + 1).filter(|end| *end <= text.len());
                }
                counted |= below;
                closes &= closes - 1;
            }
            depth += i64::from((opens & !counted).count_ones());
        }
        at += STEP;
    }
    None
}
