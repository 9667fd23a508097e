//! Memory and bytes written, from `/proc` of Linux. Other systems give `None`.

/// Bytes of memory that can be allocated without swapping.
pub fn available() -> Option<u64> {
    kibibytes("/proc/meminfo", "MemAvailable:")
}

/// Bytes of memory of this process.
pub fn resident() -> Option<u64> {
    kibibytes("/proc/self/status", "VmRSS:")
}

/// The largest number of bytes of memory of this process so far.
pub fn peak_resident() -> Option<u64> {
    kibibytes("/proc/self/status", "VmHWM:")
}

/// Bytes of this process that went to the disk, and bytes of its `write` calls.
pub fn written() -> Option<(u64, u64)> {
    let file = std::fs::read_to_string("/proc/self/io").ok()?;
    Some((number(&file, "write_bytes:")?, number(&file, "wchar:")?))
}

fn kibibytes(path: &str, name: &str) -> Option<u64> {
    number(&std::fs::read_to_string(path).ok()?, name).map(|kibibytes| kibibytes << 10)
}

fn number(file: &str, name: &str) -> Option<u64> {
    let line = file.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
