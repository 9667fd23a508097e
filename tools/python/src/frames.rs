//! The lines and sentences around the bodies of many texts.

use pyo3::prelude::*;
use simdb::frames::{Frame, FrameCounter, Frames, TextEnds};

use crate::interruptible::call;
use crate::texts::Text;

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
    let mut counter = FrameCounter::new(in_documents);
    for text in texts.try_iter()? {
        let text: Text = text?.extract()?;
        py.check_signals()?;
        counter.push(0, TextEnds::new(&text));
    }
    call(py, || {
        let frames = counter.frames();
        let counted = frames
            .iter()
            .map(|frame| (frame.text.clone(), frame.documents));
        Ok(counted.collect())
    })
}

/// Frames of these lines.
pub fn frames_of(lines: Vec<String>) -> Frames {
    let frame = |text| Frame {
        text,
        group: 0,
        documents: 0,
    };
    lines.into_iter().map(frame).collect()
}
