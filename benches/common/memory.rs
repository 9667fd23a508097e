//! What a process and the machine say about memory and bytes written, on Linux.

/// What is to be had without swapping, in bytes; nothing where the system does not tell.
pub fn available() -> Option<u64> {
    kibibytes("/proc/meminfo", "MemAvailable:")
}

/// What this process holds now.
pub fn resident() -> Option<u64> {
    kibibytes("/proc/self/status", "VmRSS:")
}

/// The most that this process ever held.
pub fn peak_resident() -> Option<u64> {
    kibibytes("/proc/self/status", "VmHWM:")
}

/// Bytes that this process had the disk write, and bytes that it handed over to be written.
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
