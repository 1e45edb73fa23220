//! A preloaded library that shifts the system time of a process by the number of seconds in a file.
//!
//! As when someone sets the system clock of a host, the monotonic clock does not change. The environment variable
//! CLOCK_OFFSET_FILE names the file, which is read ten times a second.

use std::env;
use std::ffi::{c_int, c_long, c_void};
use std::fs;
use std::sync::atomic::{AtomicI64, Ordering};

#[cfg(target_arch = "x86_64")]
const CLOCK_GETTIME: c_long = 228;
#[cfg(target_arch = "aarch64")]
const CLOCK_GETTIME: c_long = 113;
const REALTIME: c_int = 0;
const MONOTONIC: c_int = 1;
const REALTIME_COARSE: c_int = 5;
const LOOK_MS: i64 = 100;

static OFFSET_SECONDS: AtomicI64 = AtomicI64::new(0);
static LOOK_AGAIN_MS: AtomicI64 = AtomicI64::new(0);

#[repr(C)]
#[derive(Default)]
pub struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

#[repr(C)]
pub struct Timeval {
    seconds: i64,
    microseconds: i64,
}

extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

fn read(clock: c_int, time: &mut Timespec) -> c_int {
    unsafe { syscall(CLOCK_GETTIME, clock, time as *mut Timespec) as c_int }
}

fn offset_seconds() -> i64 {
    let mut now = Timespec::default();
    read(MONOTONIC, &mut now);
    let now_ms = now.seconds * 1_000 + now.nanoseconds / 1_000_000;
    let due_ms = LOOK_AGAIN_MS.load(Ordering::Relaxed);
    // The first thread reads the file.
    let mine = now_ms >= due_ms
        && LOOK_AGAIN_MS
            .compare_exchange(due_ms, now_ms + LOOK_MS, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok();
    if mine {
        let text = env::var_os("CLOCK_OFFSET_FILE").and_then(|file| fs::read_to_string(file).ok());
        if let Some(offset) = text.and_then(|text| text.trim().parse().ok()) {
            OFFSET_SECONDS.store(offset, Ordering::Relaxed);
        }
    }
    OFFSET_SECONDS.load(Ordering::Relaxed)
}

/// # Safety
/// The requirements are those of the function in libc.
#[no_mangle]
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    let done = read(clock, &mut *time);
    if done == 0 && (clock == REALTIME || clock == REALTIME_COARSE) {
        (*time).seconds += offset_seconds();
    }
    done
}

/// # Safety
/// The requirements are those of the function in libc.
#[no_mangle]
pub unsafe extern "C" fn gettimeofday(time: *mut Timeval, _zone: *mut c_void) -> c_int {
    let mut now = Timespec::default();
    let done = clock_gettime(REALTIME, &mut now);
    if !time.is_null() {
        (*time).seconds = now.seconds;
        (*time).microseconds = now.nanoseconds / 1_000;
    }
    done
}
