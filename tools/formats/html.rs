//! The text of HTML, as a reader sees it.

use html5gum::{DefaultEmitter, Token, Tokenizer};

/// Elements whose content is no text of the page.
const HIDDEN: &str = "script style template noscript iframe noembed noframes svg object";

/// Elements within a line. Any other tag ends the line.
const INLINE: &str = "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr \
                      object output picture q ruby s samp small source span strike strong sub sup svg time tt u wbr";

/// Elements with an empty line around them.
const PARAGRAPHS: &str = "p h1 h2 h3 h4 h5 h6 blockquote pre ul ol table";

/// Returns `true` if a list has the name of an element.
fn has(list: &str, name: &[u8]) -> bool {
    list.split(' ').any(|each| each.as_bytes() == name)
}

/// The text of HTML: without tags, comments, scripts and styles, with character references
/// resolved.
///
/// An element of its own line has its own line here, a paragraph has an empty line around it, and
/// cells of a table have a blank between them. Other white space is one blank, except in `pre`.
/// Tags are read as browsers read them (the WHATWG standard), however badly they are nested.
pub fn text_of_html(html: &str) -> String {
    let mut emitter = DefaultEmitter::default();
    // The content of scripts, styles and titles has no tags.
    emitter.naively_switch_states(true);
    let mut text = HtmlText::default();
    for token in Tokenizer::new_with_emitter(html, emitter) {
        // A string is always read: its errors are of no type.
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => text.start(&tag.name, tag.self_closing),
            Token::EndTag(tag) => text.end(&tag.name),
            Token::String(part) => text.push(&String::from_utf8_lossy(&part)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    text.text.truncate(text.text.trim_end().len());
    text.text
}

/// The white space before the next word.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Space {
    #[default]
    None,
    Blank,
    Line,
    Paragraph,
}

#[derive(Default)]
struct HtmlText {
    text: String,
    space: Space,
    /// The hidden element that is open, and the number of its open elements of that name.
    hidden: Option<(Vec<u8>, usize)>,
    /// The number of open `pre` elements.
    pre: usize,
}

impl HtmlText {
    fn start(&mut self, name: &[u8], is_empty: bool) {
        match &mut self.hidden {
            Some((open, depth)) => *depth += usize::from(open == name && !is_empty),
            None if has(HIDDEN, name) && !is_empty => self.hidden = Some((name.to_vec(), 1)),
            None => {
                self.pre += usize::from(name == b"pre");
                self.separate(name);
            }
        }
    }

    fn end(&mut self, name: &[u8]) {
        match &mut self.hidden {
            Some((open, depth)) if open == name => {
                *depth -= 1;
                if *depth == 0 {
                    self.hidden = None;
                }
            }
            Some(_) => {}
            None => {
                self.pre -= usize::from(name == b"pre" && self.pre > 0);
                self.separate(name);
            }
        }
    }

    /// Notes the white space that a tag is.
    fn separate(&mut self, name: &[u8]) {
        let space = match name {
            b"td" | b"th" => Space::Blank,
            _ if has(INLINE, name) => Space::None,
            _ if has(PARAGRAPHS, name) => Space::Paragraph,
            _ => Space::Line,
        };
        self.space = self.space.max(space);
    }

    fn push(&mut self, part: &str) {
        if self.hidden.is_some() {
            return;
        }
        for c in part.chars() {
            // A no-break space is a character of the text.
            let is_space = matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}');
            if is_space && (self.pre == 0 || self.space > Space::Blank) {
                self.space = self.space.max(Space::Blank);
                continue;
            }
            if !self.text.is_empty() {
                self.text.push_str(match self.space {
                    Space::None => "",
                    Space::Blank => " ",
                    Space::Line => "\n",
                    Space::Paragraph => "\n\n",
                });
            }
            self.space = Space::None;
            self.text.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_neither_tags_nor_scripts() {
        for (html, text) in [
            ("", ""),
            ("plain &amp; simple", "plain & simple"),
            ("1 < 2 && 3 > 2", "1 < 2 && 3 > 2"),
            (
                "<p>One <b>bold</b>ness.</p><p>Two&nbsp;three</p>",
                "One boldness.\n\nTwo\u{a0}three",
            ),
            (
                "<h1>Head</h1>\n\n<div>a\n  b</div><div>c<br>d</div>",
                "Head\n\na b\nc\nd",
            ),
            (
                "<script>if (a < b) document.write('<p>x</p>')</script>text",
                "text",
            ),
            ("a<style>p { color: red }</style>b<!-- note -->c", "abc"),
            (
                "<svg><title>logo</title><svg></svg></svg>shown<svg/>too",
                "showntoo",
            ),
            (
                "<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>",
                "1 2\n3",
            ),
            ("<pre>a  b\n  c</pre>", "a  b\n  c"),
            ("<ul><li>one<li>two</ul>after", "one\ntwo\n\nafter"),
            ("<title>A &lt;b&gt; title</title>body", "A <b> title\nbody"),
            ("北京<b>大</b>学", "北京大学"),
            ("&#x1F44D;&copy &notit; &bogus;", "👍© ¬it; &bogus;"),
            ("</p></div>x</pre> y", "x\n\ny"),
            ("cut <a href=\"x", "cut"),
            ("<template><p>a</template>b", "b"),
        ] {
            assert_eq!(text_of_html(html), text, "{html}");
        }
    }

    #[test]
    fn deep_nesting_takes_linear_time() {
        let html = "<div><svg>".repeat(20_000);
        assert_eq!(text_of_html(&html), "");
        let html = format!("{}x", "<b><p>".repeat(20_000));
        assert_eq!(text_of_html(&html), "x");
    }
}
