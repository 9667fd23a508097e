//! [`Metrics`]: counts of the server, as the text of Prometheus.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use simdb::maintenance::CacheMisses;
use simdb_tools::console::prometheus::{write_head, write_metric, write_sample};

/// The upper bounds of the buckets of times, in seconds.
const SECONDS: [f64; 13] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0,
];

/// The upper bounds of the buckets of changes in a commit.
const GROUP_CHANGES: [f64; 11] = [
    1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 512.0, 2048.0, 8192.0,
];

/// Counts since the start.
#[derive(Default)]
pub struct Metrics {
    /// A row for each route, and the last for addresses without a route.
    routes: Vec<RouteCounts>,
    refusals: Mutex<BTreeMap<&'static str, u64>>,
    /// The times from the submission of changes to their commit.
    pub commit_seconds: TimeHistogram,
    group_changes: Histogram<{ GROUP_CHANGES.len() + 1 }>,
    pub connections: AtomicU64,
    pub refused_connections: AtomicU64,
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
}

#[derive(Default)]
struct RouteCounts {
    method: &'static str,
    path: &'static str,
    /// Answers by the first digit of their status, from 2 to 5.
    by_status: [AtomicU64; 4],
    seconds: TimeHistogram,
}

/// A histogram of times.
#[derive(Default)]
pub struct TimeHistogram(Histogram<{ SECONDS.len() + 1 }>);

impl TimeHistogram {
    pub fn record(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.0.record(&SECONDS, time.as_secs_f64(), micros);
    }

    /// The number of times, and their sum in seconds.
    pub fn count_and_sum(&self) -> (u64, f64) {
        let count = self
            .0
            .buckets
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum();
        (count, self.0.sum.load(Ordering::Relaxed) as f64 * 1e-6)
    }
}

/// Counts of values by their bucket, and their sum in a unit that is a whole number.
struct Histogram<const BUCKETS: usize> {
    buckets: [AtomicU64; BUCKETS],
    sum: AtomicU64,
}

impl<const BUCKETS: usize> Default for Histogram<BUCKETS> {
    fn default() -> Self {
        Self {
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            sum: AtomicU64::new(0),
        }
    }
}

impl<const BUCKETS: usize> Histogram<BUCKETS> {
    fn record(&self, bounds: &[f64], value: f64, sum: u64) {
        let bucket = bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.buckets.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(sum, Ordering::Relaxed);
    }

    /// Writes the samples of a histogram. `unit` is what the sum counts.
    fn write(&self, text: &mut String, name: &str, labels: &str, bounds: &[f64], unit: f64) {
        let comma = if labels.is_empty() { "" } else { "," };
        let bucket_name = format!("{name}_bucket");
        let mut count = 0;
        for (index, bucket) in self.buckets.iter().enumerate() {
            count += bucket.load(Ordering::Relaxed);
            let bound = bounds.get(index).map_or("+Inf".to_owned(), f64::to_string);
            let labels = format!("{labels}{comma}le=\"{bound}\"");
            write_sample(text, &bucket_name, &labels, count);
        }
        let sum = self.sum.load(Ordering::Relaxed) as f64 * unit;
        write_sample(text, &format!("{name}_sum"), labels, sum);
        write_sample(text, &format!("{name}_count"), labels, count);
    }
}

impl Metrics {
    /// Counts for routes, each a method and a path.
    pub fn new(routes: impl IntoIterator<Item = (&'static str, &'static str)>) -> Self {
        let counts = routes.into_iter().map(|(method, path)| RouteCounts {
            method,
            path,
            ..RouteCounts::default()
        });
        Self {
            routes: counts.chain([RouteCounts::default()]).collect(),
            ..Self::default()
        }
    }

    /// Counts an answer. `route` is the number of the route, or `None` without a route.
    pub fn answered(&self, route: Option<usize>, status: u16, time: Duration) {
        let counts = &self.routes[route.unwrap_or(self.routes.len() - 1)];
        let class = usize::from(status / 100).clamp(2, 5) - 2;
        counts.by_status[class].fetch_add(1, Ordering::Relaxed);
        counts.seconds.record(time);
    }

    pub fn refused(&self, kind: &'static str) {
        *self.refusals.lock().entry(kind).or_default() += 1;
    }

    /// Counts a commit of this many changes; none is no commit.
    pub fn committed(&self, changes: usize) {
        if changes == 0 {
            return;
        }
        self.group_changes
            .record(&GROUP_CHANGES, changes as f64, changes as u64);
    }

    /// The text of Prometheus. `gauges` are the values of the moment: name, help and value.
    pub fn text(&self, gauges: &[(&str, &str, f64)], misses: CacheMisses) -> String {
        let mut text = String::new();
        let out = &mut text;
        for (name, help, value) in gauges {
            write_metric(out, name, "gauge", help, value);
        }
        for (name, help, count) in [
            (
                "simdb_received_bytes_total",
                "Bytes of requests.",
                &self.bytes_in,
            ),
            (
                "simdb_sent_bytes_total",
                "Bytes of answers.",
                &self.bytes_out,
            ),
            (
                "simdb_refused_connections_total",
                "Connections beyond the limit.",
                &self.refused_connections,
            ),
        ] {
            write_metric(out, name, "counter", help, count.load(Ordering::Relaxed));
        }
        let name = "simdb_refusals_total";
        let help = "Refused requests and documents by kind.";
        write_head(out, name, "counter", help);
        for (kind, count) in &*self.refusals.lock() {
            write_sample(out, name, &format!("kind=\"{kind}\""), count);
        }
        let name = "simdb_cache_misses_total";
        let help = "Reads that the cache did not answer.";
        write_head(out, name, "counter", help);
        for (part, count) in [
            ("buckets", misses.buckets),
            ("nodes", misses.nodes),
            ("wordings", misses.wordings),
        ] {
            write_sample(out, name, &format!("part=\"{part}\""), count);
        }
        let name = "simdb_commit_seconds";
        let help = "From the submission of changes to their commit.";
        write_head(out, name, "histogram", help);
        self.commit_seconds.0.write(out, name, "", &SECONDS, 1e-6);
        let name = "simdb_commit_changes";
        let help = "Changes in a commit: its count is the number of commits.";
        write_head(out, name, "histogram", help);
        self.group_changes.write(out, name, "", &GROUP_CHANGES, 1.0);
        self.write_routes(out);
        text
    }

    fn write_routes(&self, text: &mut String) {
        let labels =
            |counts: &RouteCounts| format!("method=\"{}\",path=\"{}\"", counts.method, counts.path);
        let name = "simdb_answers_total";
        write_head(text, name, "counter", "Answers by address and status.");
        for counts in &self.routes {
            for (class, count) in counts.by_status.iter().enumerate() {
                let count = count.load(Ordering::Relaxed);
                if count > 0 {
                    let labels = format!("{},status=\"{}xx\"", labels(counts), class + 2);
                    write_sample(text, name, &labels, count);
                }
            }
        }
        let name = "simdb_answer_seconds";
        let help = "From the head of a request to the head of its answer.";
        write_head(text, name, "histogram", help);
        for counts in &self.routes {
            let is_used = |count: &AtomicU64| count.load(Ordering::Relaxed) > 0;
            if counts.by_status.iter().any(is_used) {
                let seconds = &counts.seconds.0;
                seconds.write(text, name, &labels(counts), &SECONDS, 1e-6);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histogram_counts_each_value_in_all_buckets_above_it() {
        let metrics = Metrics::new([("get", "/healthz")]);
        for changes in [1, 3, 64, 100_000] {
            metrics.committed(changes);
        }
        metrics.answered(None, 404, Duration::from_millis(3));
        let text = metrics.text(
            &[("simdb_documents", "Documents.", 7.0)],
            CacheMisses::default(),
        );
        for line in [
            "simdb_documents 7",
            "simdb_cache_misses_total{part=\"buckets\"} 0",
            "simdb_commit_changes_bucket{le=\"1\"} 1",
            "simdb_commit_changes_bucket{le=\"2\"} 1",
            "simdb_commit_changes_bucket{le=\"4\"} 2",
            "simdb_commit_changes_bucket{le=\"8192\"} 3",
            "simdb_commit_changes_bucket{le=\"+Inf\"} 4",
            "simdb_commit_changes_sum 100068",
            "simdb_commit_changes_count 4",
            "simdb_answers_total{method=\"\",path=\"\",status=\"4xx\"} 1",
            "simdb_answer_seconds_bucket{method=\"\",path=\"\",le=\"0.0025\"} 0",
            "simdb_answer_seconds_bucket{method=\"\",path=\"\",le=\"0.005\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
