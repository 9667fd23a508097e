//! [`BodyText`]: a text as it is compared with other texts of its collection.

use super::Frames;
use crate::analysis::Analysed;

/// A text without its frames, and the frames.
#[derive(Clone, Debug)]
pub(crate) struct BodyText {
    pub(crate) body: Analysed,
    pub(crate) frames: Vec<String>,
}

impl BodyText {
    /// Cuts the frames of a group out of a text.
    pub(crate) fn new(text: &str, group: u64, frames: &Frames) -> Self {
        let (body, own) = frames.body_and_frames(group, text);
        Self {
            body: Analysed::lazy(&*body),
            frames: own.into_iter().map(str::to_owned).collect(),
        }
    }
}
