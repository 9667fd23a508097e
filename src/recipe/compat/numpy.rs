//! [`numpy_sums`]: the sums of the Python package simhash 2.1.2, which adds with numpy.

/// Whole numbers above 50 are not batched: the package's constant `large_weight_cutoff`.
const LARGE_WEIGHT_CUTOFF: f64 = 50.0;

/// FeatureWeights per batch: the package's constant `batch_size`.
const BATCH: usize = 200;

/// For each bit, least significant first, the sum of the weights of hashes with this bit; and the
/// sum of all weights.
///
/// Sums are doubles in the order of the list. FeatureWeights that are whole numbers up to 50 are
/// summed in batches of 200, and the sum of a batch is added at its end. Beside fractions this
/// changes the last bit of a sum.
pub(in crate::recipe) fn numpy_sums<const BITS: usize>(
    features: &[(u128, f64)],
) -> ([f64; BITS], f64) {
    let (mut sums, mut batch, mut batched, mut total) = ([0.0; BITS], [0.0; BITS], 0, 0.0);
    for &(hash, weight) in features {
        total += weight;
        let is_batched = weight <= LARGE_WEIGHT_CUTOFF && weight.fract() == 0.0;
        let added = if is_batched { &mut batch } else { &mut sums };
        for (bit, sum) in added.iter_mut().enumerate() {
            *sum += if hash >> bit & 1 == 1 { weight } else { 0.0 };
        }
        batched += usize::from(is_batched);
        if batched == BATCH {
            flush(&mut sums, &mut batch);
            batched = 0;
        }
    }
    flush(&mut sums, &mut batch);
    (sums, total)
}

fn flush<const BITS: usize>(sums: &mut [f64; BITS], batch: &mut [f64; BITS]) {
    for (sum, batched) in sums.iter_mut().zip(batch) {
        *sum += std::mem::take(batched);
    }
}
