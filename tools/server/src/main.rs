//! `simdb-serve`: serves one database over HTTP.

/// redb frees pages that other threads have allocated. In the allocator of glibc, threads wait for
/// each other there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    simdb_server::simdb_serve()
}
