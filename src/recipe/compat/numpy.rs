//! [`numpy_sums`]: the sums of the recipe `python-simhash`.

/// Above this weight, the package adds whole numbers one by one too.
const LARGE_WEIGHT_CUTOFF: f64 = 50.0;

/// The number of small whole numbers that the package adds up before it adds their sum to the rest.
const BATCH: usize = 200;

/// The sum of the weights of each bit that is set, the least significant first, and of all weights.
///
/// As the Python package simhash 2.1.2 and numpy add up: in doubles, in the order of the list; of
/// weights that are whole numbers up to 50 the sum of each 200 is added as one.
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
