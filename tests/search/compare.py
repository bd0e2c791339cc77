"""Compares the scores of `inmost-search` with those of bm25s, and measures how well paths and texts are found.

A text is the documentation of one function, class or module of a package; its path is the name. The queries are the first
sentences of some of them. With `--found`, texts are without them, and the mean reciprocal rank of the text to which a sentence
belongs is printed, too.
"""

import ast
import importlib.util
import pathlib
import random
import subprocess
import sys
import time

import bm25s

PACKAGES = ["numpy", "docutils", "sympy"]
BOUND = 1e-6


def main() -> None:
    program, *options = sys.argv[1:]
    found = "--found" in options
    for package in PACKAGES:
        texts = list(documentation(package))
        chosen = random.Random(package).sample(range(len(texts)), 200 if found else 40)
        queries = [first_sentence(texts[at][1]) for at in chosen]
        if found:
            texts = [(path, text.removeprefix(first_sentence(text))) for path, text in texts]
        lines = [f"{path}\t{text}" for path, text in texts] + [f"\t{query}" for query in queries]
        run = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True, check=True)
        tokens, words, scores, times = parse(run.stdout, len(queries))
        if found:
            ranks = [1 + sum(score > row[at] for score in row) for row, at in zip(scores, chosen) if row[at] > 0]
            print(f"{package}: mean reciprocal rank {sum(1 / rank for rank in ranks) / len(chosen):.4f}")
            continue
        assert len(tokens) == len(texts)
        start = time.perf_counter()
        differences = [compare(tokens, *pair) for pair in zip(words, scores)]
        print(
            f"{package}: {len(texts)} texts, {len(queries)} queries, largest difference {max(differences):.1e}; "
            f"{run.stderr.strip()}, a search {sum(times) / len(times) / 1000:.2f} ms; bm25s {time.perf_counter() - start:.1f} s"
        )
        if not max(differences) < BOUND:
            sys.exit("the scores differ")


def documentation(package: str):
    """Yields the paths and texts of the documentation in the sources, on one line each."""
    folder = pathlib.Path(importlib.util.find_spec(package).origin).parent
    for file in sorted(folder.rglob("*.py")):
        module = ast.parse(file.read_text(encoding="utf-8", errors="replace"))
        for node in ast.walk(module):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = " ".join((ast.get_docstring(node) or "").split())
                if len(text) > 200:
                    path = file.relative_to(folder).with_suffix("") / getattr(node, "name", "")
                    yield f"/memories/{package}/{path.as_posix()}", text


def first_sentence(text: str) -> str:
    return text.partition(". ")[0]


def parse(output: str, queries: int):
    """Returns the tokens of each text; and of each query the alternatives of each word, the scores and the microseconds."""
    tokens, words, scores, times = [], [{} for _ in range(queries)], [], []
    for line in output.splitlines():
        kind, *fields = line.split("\t")
        if kind == "text":
            tokens.append(fields)
        elif kind == "alternative":
            words[int(fields[0])].setdefault(fields[1], set()).add(fields[2])
        else:
            times.append(int(fields[1]))
            scores.append([float(score) for score in fields[2:]])
    return tokens, words, scores, times


def compare(tokens, words, scores) -> float:
    """Returns the largest difference from what bm25s computes for a query. Alternatives of one word are one token for it."""
    terms = []
    for forms in words.values():
        for other in [other for other in terms if other & forms]:
            terms.remove(other)
            forms = forms | other
        terms.append(forms)
    names = {form: f"term {number}" for number, forms in enumerate(terms) for form in forms}
    # The other words matter by their number only.
    texts = [[names.get(token, "other") for token in text] for text in tokens]
    reference = bm25s.BM25(method="lucene", k1=1.5, b=0.75, dtype="float64")
    reference.index(texts, show_progress=False)
    known = [name for name in dict.fromkeys(names.values()) if name in reference.vocab_dict]
    if not known:
        return max(map(abs, scores))
    return max(abs(ours - theirs) for ours, theirs in zip(scores, reference.get_scores(known)))


main()
