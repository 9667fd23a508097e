//! Comparing with every key, in memory: the definition of the right answer, and the baseline that
//! needs no index.

use multiversion::multiversion;

use super::contender::{Answer, Asker, Contender};

/// Keys that are compared before the matches among them are looked for.
const RUN: usize = 4096;

/// Scans all keys, on a number of threads.
pub struct PlainScan<'k> {
    pub keys: &'k [u64],
    pub threads: usize,
}

impl Contender for PlainScan<'_> {
    fn asker(&self) -> Asker<'_> {
        Box::new(|query, radius| scan_on(self.threads, self.keys, query, radius))
    }
}

/// The right answer.
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
    for (number, run) in keys.chunks(RUN).enumerate() {
        if count_within(run, query, radius) == 0 {
            continue;
        }
        for (place, key) in run.iter().enumerate() {
            let distance = (key ^ query).count_ones();
            if distance <= radius {
                found.push((distance, (first_id + number * RUN + place) as u64));
            }
        }
    }
}

/// How many of the keys lie within the radius, by the widest population count of the processor.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+sse4.2+popcnt",
    "aarch64+neon",
))]
pub fn count_within(keys: &[u64], query: u64, radius: u32) -> usize {
    keys.iter()
        .map(|key| u64::from((key ^ query).count_ones() <= radius))
        .sum::<u64>() as usize
}
