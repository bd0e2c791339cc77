#!/usr/bin/env python3
"""A second implementation of what docs/SYNC.md calls F, and the test vectors that both implementations must agree on.

    vectors.py check                    exits with 1 if vectors.jsonl beside this file differs
    vectors.py write                    writes it
    vectors.py compare NUMBER [SEED]    compares NUMBER random sets of heads with the crate
"""
import datetime, hashlib, json, os, pathlib, random, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
DISTANCE, TEXT_BYTES = 1000, 1 << 20


# ---- Merging

def hunks(base, new):
    """The changes from base to new as (start, end, lines), by a table of longest common subsequences."""
    n, m = len(base), len(new)
    table = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            table[i][j] = table[i+1][j+1] + 1 if base[i] == new[j] else max(table[i+1][j], table[i][j+1])
    if n + m - 2 * table[0][0] > DISTANCE:
        return None
    found, i, j, start, new_start = [], 0, 0, 0, 0
    while i < n and j < m:
        if base[i] == new[j]:
            if (start, new_start) != (i, j):
                found.append((start, i, new[new_start:j]))
            i, j = i + 1, j + 1
            start, new_start = i, j
        elif table[i+1][j] >= table[i][j+1]:
            i += 1
        else:
            j += 1
    if start < n or new_start < m:
        found.append((start, n, new[new_start:]))
    return found


def union(first, second):
    if second < first:
        first, second = second, first
    edits = hunks(first, second)
    if edits is None:
        return None
    out, at = [], 0
    for start, end, lines in edits:
        out += first[at:end] + lines
        at = end
    return out + first[at:]


def merge_lines(base, first, second):
    one, two = hunks(base, first), hunks(base, second)
    if one is None or two is None:
        return None
    point = lambda h: h[0] == h[1]
    for h in one:
        for g in two:
            if h == g or point(h) and point(g) and h[0] == g[0]:
                continue
            if max(h[0], g[0]) < min(h[1], g[1]):
                return None
            if point(h) and g[0] < h[0] < g[1] or point(g) and h[0] < g[0] < h[1]:
                return None

    def said(g, others):
        return point(g) and any(
            not point(h) and (h[1] == g[0] and h[2][-len(g[2]):] == g[2] or h[0] == g[0] and h[2][:len(g[2])] == g[2])
            for h in others)
    one, two = [h for h in one if not said(h, two)], [g for g in two if not said(g, one)]
    edits, points = [], {h[0]: h for h in one if point(h)}
    for g in two:
        if point(g) and g[0] in points:
            lines = union(points.pop(g[0])[2], g[2])
            if lines is None:
                return None
            edits.append((g[0], g[0], lines))
        elif g not in one:
            edits.append(g)
    edits += [h for h in one if not point(h) or h[0] in points]
    out, at = [], 0
    for start, end, lines in sorted(edits, key=lambda e: e[:2]):
        out += base[at:start] + lines
        at = end
    return out + base[at:]


def split(text):
    if text == b'':
        return [], True
    ended = text.endswith(b'\n')
    return (text[:-1] if ended else text).split(b'\n'), ended


def merge(base, first, second):
    """Lines are compared as bytes. None for a conflict."""
    base, first, second = (text.encode() for text in (base, first, second))
    if max(map(len, (base, first, second))) > TEXT_BYTES:
        return None
    if first == second or second == base:
        return first.decode()
    if first == base:
        return second.decode()
    (b, b_end), (f, f_end), (s, s_end) = map(split, (base, first, second))
    lines = merge_lines(b, f, s)
    if lines is None:
        return None
    ended = f_end if f_end == s_end else not b_end
    return (b'\n'.join(lines) + (b'\n' if ended and lines else b'')).decode()


# ---- Vectors: sets of indices into the objects of a case

class Chains:
    def __init__(self, objects):
        self.below = []
        for o in objects:
            self.below.append({len(self.below)} | (self.below[o['previous']] if o['previous'] is not None else set()))

    def covers(self, vector, i): return any(i in self.below[t] for t in vector)
    def within(self, a, b): return all(self.covers(b, i) for i in a)

    def join(self, *vectors):
        tips = set().union(*vectors)
        return {t for t in tips if not any(u != t and t in self.below[u] for u in tips)}


# ---- Names

def halves(name):
    dot = name.rfind('.')
    return (name[:dot], name[dot:]) if dot > 0 and len(name[dot:].encode()) <= 16 else (name, '')


def beside(path, suffix):
    folder, _, name = path.rpartition('/')
    room = min(255, 1014 - len(folder.encode()) - 1)
    if not folder or room < 96:
        folder, room = '', 255
    stem, extension = halves(name)
    stem = stem.encode()[:max(0, room - len((suffix + extension).encode()))].decode(errors='ignore')
    return (folder + '/' if folder else '') + stem + suffix + extension


def structured(path):
    return halves(path.rpartition('/')[2])[1].lower() in ('.json', '.yaml', '.yml', '.toml', '.xml', '.html', '.ipynb')


def folders(path):
    return [path[:i] for i, c in enumerate(path) if c == '/']


def day(time):
    return str(datetime.date(1970, 1, 1) + datetime.timedelta(days=min(time // 86400000, 2932896)))


# ---- F

def fold(chains, objects, file):
    order = lambda h: (h['lamport'], objects[h['object']]['tag'])
    heads = sorted(file['texts'], key=order)
    if not heads:
        return None
    wanted = max(file['paths'], key=order)['path'] if file['paths'] else heads[-1]['path']

    def known(head):
        return [(set(b['vector']), b['text']) for b in head['bases'] if not chains.within(b['vector'], file['forgotten'])] \
            + [(chains.join(head['over'], {head['object']}), head['text'])]
    groups = {}
    for head in heads:
        groups.setdefault(head['text'], []).append(head)
    groups = sorted(groups.values(), key=lambda g: order(g[-1]))
    vector_of = lambda g: chains.join(*(known(h)[-1][0] for h in g))
    bases_of = lambda g: [b for h in g for b in known(h)]
    last = groups.pop()
    text, vector, bases, copies = last[-1]['text'], vector_of(last), bases_of(last), []
    for group in reversed(groups):
        its, mine, value = vector_of(group), bases_of(group), group[-1]['text']
        good = [b for b in bases + mine if chains.within(b[0], vector) and chains.within(b[0], its)]
        if not good:
            good = [b for b in mine if b[1] in {c[1] for c in bases}]
        newest = {b[1] for b in good if not any(b[0] != c[0] and chains.within(b[0], c[0]) for c in good)}
        if value == text:
            result = text
        elif len(newest) == 1 and not structured(wanted):
            result = merge(newest.pop(), value, text)
        else:
            result = None
        if result is None:
            copies.append(group[-1])
        else:
            text, vector, bases = result, chains.join(vector, its), bases + mine
    return {'wanted': wanted, 'text': text, 'merged': sorted(vector), 'copy_of': None}, [c for c in copies if c['text'] != text]


def tree(case):
    objects, chains, files, copies = case['objects'], Chains(case['objects']), {}, []
    for file in case['files']:
        shown = fold(chains, objects, file)
        if shown:
            files[file['id']] = shown[0]
            copies += [(file['id'], c) for c in shown[1]]
    for origin, head in copies:
        o = objects[head['object']]
        data = b'inmost-sync copy' + bytes.fromhex(origin + o['log']) + o['number'].to_bytes(8, 'big') + bytes.fromhex(o['tag'])
        wanted = beside(head['path'], f" (from {head['label']} {day(head['time'])})")
        files.setdefault(hashlib.sha256(data).hexdigest()[:32], {'wanted': wanted, 'text': head['text'], 'merged': [], 'copy_of': origin})
    wanted = {f['wanted'] for f in files.values()}
    above = {a for path in wanted for a in folders(path)}
    taken, losers = set(), []
    for i in sorted(files):
        if files[i]['wanted'] in above | taken:
            losers.append(i)
        else:
            files[i]['path'] = files[i]['wanted']
            taken.add(files[i]['wanted'])
    for i in losers:
        suffixes = [f' ({i[:k]})' for k in (4, 8, 12)] + [f' ({i[:12]} {k})' for k in range(2, len(files) + 9)]
        paths = (beside(files[i]['wanted'], s) for s in suffixes)
        files[i]['path'] = next(p for p in paths if p not in wanted | taken | above)
        taken.add(files[i]['path'])
    return [{'id': i, **{k: files[i][k] for k in ('path', 'wanted', 'text', 'merged', 'copy_of')}} for i in sorted(files)]


# ---- Random cases

LINES = ['a', 'b', 'c', 'd', 'e', '', 'two words', 'é', 'a\r', '\U0001f600', '\ue000']
PATHS = ['x', 'x', 'y.md', 'a/x', 'a', 'a/b/x.md', 'data.json', '.env', 'a.b/c', 'x (0101)', 'é' * 126 + 'z', '/'.join(['d' * 200] * 5) + '/n.md']


def text_of(rng):
    return ''.join(rng.choice(LINES) + '\n' for _ in range(rng.choice((0, 1, 2, 3, 5, 8)))).removesuffix(rng.choice(('', '', '\n')))


def edited(rng, text):
    lines, ended = text.split('\n'), None
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(lines) + 1)
        lines[at:at + rng.randint(0, 1)] = [rng.choice(LINES) for _ in range(rng.randint(0, 2))]
    return '\n'.join(lines)


def random_case(rng):
    digits = lambda n=16: bytes(rng.randrange(256) for _ in range(n)).hex()
    objects, ends = [], {}
    logs = [digits() for _ in range(rng.randint(1, 4))]
    for _ in range(rng.randint(1, 12)):
        log = rng.choice(logs)
        before = ends.get(log)
        if before is not None and rng.random() < .15:
            before = objects[before]['previous']            # a copy of the device goes on from there
        number = objects[before]['number'] + 1 if before is not None else 1
        ends[log] = len(objects)
        objects.append({'log': log, 'number': number, 'tag': digits(), 'previous': before})
    chains = Chains(objects)
    vector = lambda: sorted(chains.join({rng.randrange(len(objects)) for _ in range(rng.randint(0, 3))}))
    files = []
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        first = text_of(rng)
        pool = [first] + [edited(rng, first) for _ in range(rng.randint(0, 3))]
        bases = [{'vector': vector(), 'text': t} for t in pool]
        texts = [{'object': i, 'over': rng.choice((vector(), rng.choice(bases)['vector'])), 'lamport': rng.randint(1, 4),
                  'text': edited(rng, rng.choice(pool)), 'path': rng.choice(PATHS), 'label': rng.choice(('laptop', 'my desk 2')),
                  'time': rng.randrange(4 * 10**12), 'bases': rng.sample(bases, rng.randint(0, min(3, len(bases))))}
                 for i in rng.sample(range(len(objects)), min(len(objects), rng.choice((0, 1, 2, 2, 3, 4))))]
        paths = [{'object': i, 'over': vector(), 'lamport': rng.randint(1, 4), 'path': rng.choice(PATHS)}
                 for i in rng.sample(range(len(objects)), min(len(objects), rng.choice((0, 1, 1, 2))))]
        id = digits() if rng.random() < .7 else '01' * 8 + digits(8)
        files.append({'id': id, 'forgotten': vector() if rng.random() < .1 else [], 'texts': texts, 'paths': paths})
    case = {'objects': objects, 'files': files}
    return {**case, 'tree': tree(case)}


def random_merge(rng):
    base = text_of(rng)
    first, second = edited(rng, base), edited(rng, base)
    return {'base': base, 'first': first, 'second': second, 'merged': merge(base, first, second)}


def large_merge():
    base = ''.join(f'old {i}\n' for i in range(520))
    far, near = (''.join(f'{w} {i}\n' for i in range(520)) for w in ('new', 'old'))
    return [{'base': base, 'first': f, 'second': near + 'end\n', 'merged': merge(base, f, near + 'end\n')} for f in (far, 'begin\n' + near)]


def main():
    if sys.argv[1:2] in (['check'], ['write']):
        rng = random.Random(1)
        merges = large_merge() + [random_merge(rng) for _ in range(200)]
        cases = [random_case(rng) for _ in range(150)]
        lines = [json.dumps({'merges': merges[i:i+1], 'cases': []}) for i in range(len(merges))] + [json.dumps({'merges': [], 'cases': [c]}) for c in cases]
        path, text = HERE / 'vectors.jsonl', '\n'.join(lines) + '\n'
        if sys.argv[1] == 'write':
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit('vectors.jsonl differs from what vectors.py computes')
    elif sys.argv[1:2] == ['compare']:
        number, seed = int(sys.argv[2]), int((sys.argv + ['1'])[3])
        step, kinds = 5000, {'merged': 0, 'copies': 0, 'suffixes': 0}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'vectors.jsonl'
            for first in range(0, number, step):
                rng, lines = random.Random(f'{seed} {first}'), []
                for _ in range(min(step, number - first)):
                    case = random_case(rng)
                    lines.append(json.dumps({'merges': [random_merge(rng)], 'cases': [case]}))
                    kinds['copies'] += any(f['copy_of'] for f in case['tree'])
                    kinds['suffixes'] += any(f['path'] != f['wanted'] for f in case['tree'])
                    heads = {f['id']: {t['text'] for t in f['texts']} for f in case['files']}
                    kinds['merged'] += any(f['text'] not in heads.get(f['id'], {f['text']}) for f in case['tree'])
                path.write_text('\n'.join(lines) + '\n')
                subprocess.run(['cargo', 'test', '-q', '-p', 'inmost-sync', '--test', 'vectors'], check=True, stdout=subprocess.DEVNULL,
                               cwd=HERE, env={**os.environ, 'INMOST_SYNC_VECTORS': str(path)})
        print(f'{number} sets of heads and {number} merges agree; sets with {kinds}')
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main()
