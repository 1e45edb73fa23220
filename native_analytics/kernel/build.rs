//! Generates the Rust types of `contracts/messages/fact.proto` from the checked-in descriptors.

use std::path::Path;

use prost::Message;
use prost_types::FileDescriptorSet;

const DESCRIPTORS: &str = "../../contracts/generated/descriptors.binpb";

fn main() {
    println!("cargo:rerun-if-changed={DESCRIPTORS}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DESCRIPTORS);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut descriptors = FileDescriptorSet::decode(bytes.as_slice()).expect("a set of file descriptors");
    descriptors.file.retain(|file| file.name() == "fact.proto");
    prost_build::Config::new()
        .btree_map(["."])
        .compile_fds(descriptors)
        .expect("types of fact.proto");
}
