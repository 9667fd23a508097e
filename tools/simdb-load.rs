//! `simdb-load`: loads files of documents into a database, all of them or none.

/// redb frees pages that other threads have allocated. In the allocator of glibc, threads wait for
/// each other there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    simdb_tools::simdb_load()
}
