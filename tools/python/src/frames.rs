//! The lines and sentences around the bodies of many texts.

use pyo3::prelude::*;
use pyo3::types::PyList;
use simdb::frames::{Frame, FrameCounter, Frames, TextEnds};

use crate::interpreter_exit::iterate;
use crate::interruptible::{call, check, run};
use crate::texts::{Texts, refuse_one_text};

/// The frames of texts, an iterable of str: the lines and sentences at the head or the tail of at
/// least in_documents texts with different bodies, such as the name of a site, each with the number
/// of texts, the most frequent first. Lines that tell texts apart are no frames. Takes at most 150
/// MiB of memory.
#[pyfunction]
#[pyo3(signature = (texts, in_documents=10))]
pub fn frames(
    py: Python<'_>,
    texts: &Bound<'_, PyAny>,
    in_documents: u64,
) -> PyResult<Vec<(String, u64)>> {
    refuse_one_text(texts)?;
    let mut texts = iterate(texts)?;
    let mut counter = FrameCounter::new(in_documents);
    let mut done = 0;
    loop {
        let part: PyResult<Vec<_>> = texts.by_ref().take(TEXTS_PER_PART).collect();
        let part = PyList::new(py, part?)?;
        let part = Texts::named(&part, &|index| format!("text {}", done + index))?;
        let part = part.borrow(py)?;
        if part.is_empty() {
            break;
        }
        run(py, None, || {
            check("counting", done as u64, None)?;
            for text in &part {
                counter.push(0, TextEnds::new(text));
            }
            Ok(())
        })?;
        done += part.len();
    }
    call(py, || {
        let frames = counter.frames();
        let counted = frames
            .iter()
            .map(|frame| (frame.text.clone(), frame.documents));
        Ok(counted.collect())
    })
}

/// Texts between two checks for signals.
const TEXTS_PER_PART: usize = 256;

/// Frames of these lines.
pub fn frames_of(lines: Vec<String>) -> Frames {
    let frame = |text| Frame {
        text,
        group: 0,
        documents: 0,
    };
    lines.into_iter().map(frame).collect()
}
