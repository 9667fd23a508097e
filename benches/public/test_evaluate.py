"""Scores that are computed by hand."""

import unittest

from evaluate import adjusted_rand_index, classify, core_scores


class Core(unittest.TestCase):
    def test_a_superset_is_right_and_a_part_is_wrong(self):
        self.assertEqual(classify(set(), set()), "TN")
        self.assertEqual(classify({"b"}, set()), "FN")
        self.assertEqual(classify(set(), {"b"}), "FP")
        self.assertEqual(classify({"b"}, {"b", "c"}), "TP")
        self.assertEqual(classify({"b", "c"}, {"b"}), "FP")

    def test_scores_of_eight_documents(self):
        # a and b are labelled; c, d, e too; f, g and h are alone. Found are a, b; c, d; f, g.
        truth = {"a": "b", "b": "a", "c": "de", "d": "ce", "e": "cd", "f": "", "g": "", "h": ""}
        found = {"a": "b", "b": "a", "c": "d", "d": "c", "e": "", "f": "g", "g": "f", "h": ""}
        # TP: a, b. FP: c, d, found in part, and f, g. FN: e. TN: h. Equal: a, b, h.
        scores = core_scores(*({name: set(of) for name, of in sets.items()} for sets in (truth, found)))
        self.assertEqual(scores, {
            "precision_duplicates": 2 / 6, "recall_duplicates": 2 / 3,
            "precision_non_duplicates": 1 / 2, "recall_non_duplicates": 1 / 5,
            "macro_precision": (2 / 6 + 1 / 2) / 2, "accuracy": 3 / 8,
        })


class AdjustedRandIndex(unittest.TestCase):
    def test_index_of_six_documents(self):
        # Pairs together: 6 by the labels, 3 by the clusters, 2 by both, of 15. Expected are 6 * 3 /
        # 15 = 1.2, and (2 - 1.2) / (4.5 - 1.2) = 8 / 33.
        found = adjusted_rand_index([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2])
        self.assertAlmostEqual(found, 8 / 33)

    def test_bounds(self):
        self.assertEqual(adjusted_rand_index([1, 1, 2], [7, 7, 8]), 1)
        self.assertEqual(adjusted_rand_index([1, 2, 3], [7, 8, 9]), 1)
        self.assertEqual(adjusted_rand_index([1, 1, 1, 1], [1, 2, 3, 4]), 0)


if __name__ == "__main__":
    unittest.main()
