//! [`cut`]: words of characters that no dictionary knows, by a hidden Markov model, as cppjieba does it.

use std::ops::Range;

/// The logarithm of what the model takes to be impossible.
const MIN_FLOAT: f64 = -3.14e100;

/// The states of a character in the order of the model: begin, end, middle of a word, or a word by
/// itself.
const STATES: usize = 4;
const END: u8 = 1;
const SINGLE: u8 = 3;

/// The model of jieba, which jieba-rs does not export: `INITIAL_PROBS`, `TRANS_PROBS`, and
/// `EMIT_PROBS` of the characters that `EMIT_INDEX` knows.
#[allow(clippy::excessive_precision, reason = "the model is written so")]
mod data {
    use super::MIN_FLOAT;

    jieba_macros::generate_hmm_data!();

    // Constants that only jieba-rs needs.
    const _: (char, char, u16) = (HMM_HAN_MIN, HMM_HAN_MAX, EMIT_NONE);
}

/// The logarithms of the probabilities that each state gives a character.
fn emission(c: char) -> [f64; STATES] {
    let offset = (c as u32).checked_sub(data::EMIT_MIN_CHAR);
    offset
        .and_then(|offset| data::EMIT_INDEX.get(offset as usize))
        .and_then(|&row| data::EMIT_PROBS.get(usize::from(row)))
        .copied()
        .unwrap_or([MIN_FLOAT; STATES])
}

/// Hands out the byte ranges of the words of a run of characters.
///
/// The most probable states by Viterbi's algorithm, in the arithmetic of cppjieba's `HMMSegment`: a
/// character that the model does not know is so improbable that its logarithm swallows all others,
/// and then the path is taken to come from the end of a word.
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

/// The state of each character; that of the last one ends a word.
fn states(run: &str) -> Vec<u8> {
    let mut chars = run.chars();
    let Some(first) = chars.next() else {
        return Vec::new();
    };
    let emitted = emission(first);
    let mut weights: [f64; STATES] = std::array::from_fn(|y| data::INITIAL_PROBS[y] + emitted[y]);
    let mut paths = Vec::with_capacity(run.len() / '一'.len_utf8());
    for c in chars {
        let emitted = emission(c);
        let mut next = [MIN_FLOAT; STATES];
        let mut path = [END; STATES];
        for y in 0..STATES {
            for (before, weight) in weights.iter().enumerate() {
                let sum = weight + data::TRANS_PROBS[before][y] + emitted[y];
                if sum > next[y] {
                    next[y] = sum;
                    path[y] = before as u8;
                }
            }
        }
        weights = next;
        paths.push(path);
    }

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
    fn characters_are_joined_as_by_cppjieba() {
        assert_eq!(words("杭研"), ["杭研"]);
        assert_eq!(words("當上總經"), ["當上", "總經"]);
        assert_eq!(words("内"), ["内"]);
        assert!(words("").is_empty());
    }

    #[test]
    fn runs_are_covered_whatever_the_model_knows() {
        for run in ["！", "呢！", "內容儘量", "ééé", "か\u{3099}一"] {
            assert_eq!(words(run).concat(), run);
        }
    }
}
