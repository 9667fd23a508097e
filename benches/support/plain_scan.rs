//! The plain scan: a comparison with every key, in memory. It is the definition of the right
//! answer, and the baseline without an index.

use multiversion::multiversion;

use super::contender::{Answer, Asker, Contender};

/// Keys per vectorised count. A chunk of 32 KiB stays in the L1 cache for the second pass, which
/// finds the matches and is seldom needed.
const CHUNK_LEN: usize = 4096;

/// A scan of all keys by a number of threads.
pub struct PlainScan<'k> {
    pub keys: &'k [u64],
    pub threads: usize,
}

impl Contender for PlainScan<'_> {
    fn asker(&self) -> Asker<'_> {
        Box::new(|query, radius| scan_on(self.threads, self.keys, query, radius))
    }
}

/// The right answer to a query, computed on all cores.
pub fn answer(keys: &[u64], query: u64, radius: u32) -> Answer {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    scan_on(threads, keys, query, radius)
}

fn scan_on(threads: usize, keys: &[u64], query: u64, radius: u32) -> Answer {
    let mut found = Vec::new();
    if threads == 1 {
        scan(keys, 0, query, radius, &mut found);
    } else {
        let share = keys.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            let shares = keys.chunks(share).enumerate();
            let workers = shares.map(|(number, keys)| {
                scope.spawn(move || {
                    let mut found = Vec::new();
                    scan(keys, number * share, query, radius, &mut found);
                    found
                })
            });
            let workers: Vec<_> = workers.collect();
            for worker in workers {
                found.extend(worker.join().expect("a scan does not panic"));
            }
        });
    }
    found.sort_unstable();
    found
}

fn scan(keys: &[u64], first_id: usize, query: u64, radius: u32, found: &mut Answer) {
    for (number, chunk) in keys.chunks(CHUNK_LEN).enumerate() {
        if count_within(chunk, query, radius) == 0 {
            continue;
        }
        for (place, key) in chunk.iter().enumerate() {
            let distance = (key ^ query).count_ones();
            if distance <= radius {
                found.push((distance, (first_id + number * CHUNK_LEN + place) as u64));
            }
        }
    }
}

/// The number of keys within the radius, with the widest population count of the processor.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+sse4.2+popcnt",
    "aarch64+neon",
))]
pub fn count_within(keys: &[u64], query: u64, radius: u32) -> usize {
    // A sum without branches, which the compiler vectorises.
    keys.iter()
        .map(|key| u64::from((key ^ query).count_ones() <= radius))
        .sum::<u64>() as usize
}
