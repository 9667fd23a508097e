//! [`cut`]: words of characters that are not in the dictionary, by the hidden Markov model of
//! cppjieba.

use std::ops::Range;

/// The logarithm that the model uses for probability 0.
const MIN_FLOAT: f64 = -3.14e100;

/// The number of states of a character. The states in the order of the model are: begin, end and
/// middle of a word, and a word of one character.
const STATES: usize = 4;
const END: u8 = 1;
const SINGLE: u8 = 3;

/// The model of jieba, which jieba-rs does not export: `INITIAL_PROBS`, `TRANS_PROBS`, and
/// `EMIT_PROBS` for the characters in `EMIT_INDEX`.
#[allow(
    clippy::excessive_precision,
    reason = "the generated model has such literals"
)]
mod data {
    use super::MIN_FLOAT;

    jieba_macros::generate_hmm_data!();

    // The macro also generates constants for jieba-rs. Without a use they would be reported as dead
    // code.
    const _: (char, char, u16) = (HMM_HAN_MIN, HMM_HAN_MAX, EMIT_NONE);
}

/// The logarithms of the emission probabilities of a character, by state.
fn emission(c: char) -> [f64; STATES] {
    let offset = (c as u32).checked_sub(data::EMIT_MIN_CHAR);
    offset
        .and_then(|offset| data::EMIT_INDEX.get(offset as usize))
        .and_then(|&row| data::EMIT_PROBS.get(usize::from(row)))
        .copied()
        .unwrap_or([MIN_FLOAT; STATES])
}

/// Calls `word` with the byte range of each word of a run of characters.
///
/// The words follow from the most probable states (Viterbi's algorithm), in the arithmetic of
/// cppjieba's `HMMSegment`. The logarithm of an unknown character is so large that the sum keeps no
/// digit of the other terms, and then the previous state is taken to be the end of a word.
pub(super) fn cut(run: &str, mut word: impl FnMut(Range<usize>)) {
    let states = states(run);
    let mut start = 0;
    for ((at, c), state) in run.char_indices().zip(states) {
        if state == END || state == SINGLE {
            let end = at + c.len_utf8();
            word(start..end);
            start = end;
        }
    }
}

/// The state of each character. The state of the last character is the end of a word or a single
/// word.
fn states(run: &str) -> Vec<u8> {
    let mut chars = run.chars();
    let Some(first) = chars.next() else {
        return Vec::new();
    };
    let emitted = emission(first);
    let mut weights: [f64; STATES] =
        std::array::from_fn(|state| data::INITIAL_PROBS[state] + emitted[state]);
    let mut paths = Vec::with_capacity(run.len() / '一'.len_utf8());
    for c in chars {
        let emitted = emission(c);
        // As in `HMMSegment`: a sum of `MIN_FLOAT` or less leaves `MIN_FLOAT` and `END` in place.
        // jieba-rs differs here, and 5 of 85 test texts got other fingerprints with its
        // segmentation.
        let mut next = [MIN_FLOAT; STATES];
        let mut path = [END; STATES];
        for state in 0..STATES {
            for (before, weight) in weights.iter().enumerate() {
                // The order of these additions decides the last bit, and so ties.
                let sum = weight + data::TRANS_PROBS[before][state] + emitted[state];
                if sum > next[state] {
                    next[state] = sum;
                    path[state] = before as u8;
                }
            }
        }
        weights = next;
        paths.push(path);
    }

    // Back along the best path, from the better of the two states that end a word.
    let is_end = weights[usize::from(END)] >= weights[usize::from(SINGLE)];
    let mut state = if is_end { END } else { SINGLE };
    let mut states = vec![state; paths.len() + 1];
    for (index, path) in paths.iter().enumerate().rev() {
        state = path[usize::from(state)];
        states[index] = state;
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(run: &str) -> Vec<&str> {
        let mut words = Vec::new();
        cut(run, |range| words.push(&run[range]));
        words
    }

    #[test]
    fn words_equal_those_of_cppjieba() {
        assert_eq!(words("杭研"), ["杭研"]);
        assert_eq!(words("當上總經"), ["當上", "總經"]);
        assert_eq!(words("内"), ["内"]);
        assert!(words("").is_empty());
    }

    #[test]
    fn words_cover_runs_with_unknown_characters() {
        for run in ["！", "呢！", "內容儘量", "ééé", "か\u{3099}一"] {
            assert_eq!(words(run).concat(), run);
        }
    }
}
