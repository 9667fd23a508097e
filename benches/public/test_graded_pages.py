"""Pairs of made pages, graded and scored by hand."""

import os
import tempfile
import unittest

from graded_pages import fold, graded_pairs, jaccard, row, scores


def write(folder, files):
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class Pairs(unittest.TestCase):
    def test_pair_has_the_full_texts_and_the_grade(self):
        with tempfile.TemporaryDirectory() as folder:
            write(folder, {
                "A_vs_B/full-text-A": "A page. Its end.", "A_vs_B/full-text-B": "A page.\nIts end",
                "A_vs_B/A": "A page.", "A_vs_B/B": "A page.", "A_vs_B/label": "3\n", "A_vs_B/s3score": "{}",
                "C_vs_D/full-text-C": "Café", "C_vs_D/full-text-D": "Tea", "C_vs_D/label": "0",
                "E_vs_F/full-text-E": "not graded", "E_vs_F/full-text-F": "not graded",
            })
            found = graded_pairs(folder)
        self.assertEqual(found, [("A page. Its end.", "A page.\nIts end", 3), ("Café", "Tea", 0)])

    def test_pair_with_one_text_ends_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            write(folder, {"A_vs_B/full-text-A": "alone", "A_vs_B/label": "3"})
            with self.assertRaisesRegex(SystemExit, "1 files"):
                graded_pairs(folder)


class Measures(unittest.TestCase):
    def test_folded_texts_have_letters_and_digits_in_one_case(self):
        self.assertEqual(fold("Ａ page,\n no. 1!"), fold("a PAGE – No 1"))
        self.assertNotEqual(fold("page 1"), fold("page 2"))

    def test_jaccard_index_of_three_words_in_a_row(self):
        # abc bcd of both, cde and cdf of one text each.
        self.assertEqual(jaccard("a b c d e", "A b, c d f"), 2 / 4)
        # Each character of Chinese is a word: 今天天 天天气 of both, 天气好 of one.
        self.assertEqual(jaccard("今天天气", "今天天气好"), 2 / 3)
        self.assertEqual(jaccard("one two", "One, two"), 1)
        self.assertEqual(jaccard("", ""), 1)

    def test_scores_of_five_pairs(self):
        found, truth = [True, True, False, False, True], [True, False, True, False, True]
        self.assertEqual(scores(found, truth), (2 / 3, 2 / 3, 2, 1, 1))
        self.assertEqual(row("x", found, truth), "| x | 0.667 | 0.667 | 2 | 1 | 1 |")
        self.assertEqual(row("x", [False], [False]), "| x | - | - | 0 | 0 | 0 |")


if __name__ == "__main__":
    unittest.main()
