"""The kernels of :mod:`attlas.measures.device`, in Triton: attention, and what its rows and columns add up to.

A *tile* is some queries by some keys of one head. Both kernels go over the tiles of a block of queries from key to
key: first those in which every query sees every key, which need no questions asked, then those at the edges of what
may be seen and near the diagonal. What a query may see is an interval of keys, which padding, causal order, windows,
chunks and packed texts all are. Scores are kept in units of log 2, since exponentials of base two are cheaper.

:func:`attend` is attention as anybody would write it: outputs, and the log-sum-exp of every row. :func:`add_up` is
told the log-sum-exps, so that the exponential of a score is the weight itself, and needs no second look at anything:

- sums of weights times the columns that a key carries are products of matrices. Weights are taken times 2^15, in half
  precision where the model has it: eleven bits of each, however small;
- entropies are such products with alpha log alpha instead of alpha;
- distances: within a tile that lies wholly before or after its queries, |i - j| is the distance to the tile's edge
  and the key's place in the tile, so they come from the same products; near the diagonal they are added one by one;
- what keys receive are products from the other side, added to those of other queries as whole numbers of 2^-40, whose
  sum does not depend on who comes first.

Column 0 of the packed columns is one, column 1 the key's place in its tile as a share of the tile; where norms are
asked for, the last columns carry nu, the length of what a key brings.
"""

from __future__ import annotations

import triton
import triton.language as tl

_LN2 = tl.constexpr(0.6931471805599453)
_LIFT = tl.constexpr(15.0)  # weights are taken times 2^15
_UNLIFT = tl.constexpr(2.0**-15)
_WHOLE = tl.constexpr(2.0**25)  # from there to whole numbers of 2^-40
_NOTHING = tl.constexpr(-1.0e30)


@triton.jit
def _scale(Most, plane):
    """By what nu is divided to be at most one: a power of two of each head of each text."""
    return tl.exp2(tl.ceil(tl.log2(tl.maximum(tl.load(Most + plane), 1e-30))))


@triton.jit
def _interval(Starts, Stops, of_text, row, queries, keys, KIND: tl.constexpr):
    """From which key to which each query sees: all (0), up to its own place (1), or as it is given (2). Rows beyond
    the last see everything, so that they keep nobody from going the short way."""
    if KIND == 2:
        start = tl.load(Starts + of_text + row, mask=row < queries, other=0)
        stop = tl.load(Stops + of_text + row, mask=row < queries, other=keys)
    elif KIND == 1:
        start = row * 0
        stop = tl.minimum(row + 1, keys)
    else:
        start = row * 0
        stop = row * 0 + keys
    return start, stop


@triton.jit
def _plan(
    start, stop, row, queries, first_row, keys, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BAND: tl.constexpr
):
    """Which tiles there are to go over: five borders of three stretches of tiles that need care, with two between
    them that do not. ``BAND`` is how far from the diagonal care is needed, below 0 if nowhere."""
    empty = start >= stop
    inside = (row < queries) & (start < stop)
    low = tl.min(tl.where(inside, start, keys), 0) // BLOCK_N
    high = tl.cdiv(tl.max(tl.where(inside, stop, 0), 0), BLOCK_N)
    high = tl.maximum(high, low)
    full_low = tl.cdiv(tl.max(tl.where(empty, keys + BLOCK_N, start), 0), BLOCK_N)
    full_high = tl.min(tl.where(empty, 0, stop), 0) // BLOCK_N
    a = tl.minimum(tl.maximum(full_low, low), high)
    d = tl.minimum(tl.maximum(full_high, a), high)
    if BAND >= 0:
        near_low = tl.maximum(first_row - BAND, 0) // BLOCK_N
        near_high = tl.cdiv(first_row + BLOCK_M + BAND, BLOCK_N)
        b = tl.minimum(tl.maximum(near_low, a), d)
        c = tl.minimum(tl.maximum(near_high, b), d)
    else:
        b = d
        c = d
    return low, a, b, c, d, high


@triton.jit
def _scores(q, K, Bias, row, tile, key, wide, keys, queries, stride_kn, stride_kd, stride_bm, stride_bn, scale, cap,
            BLOCK_N: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr, HAS_CAP: tl.constexpr,
            HAS_BIAS: tl.constexpr, EDGE: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """Scores of a tile in units of log 2."""
    local = tl.arange(0, BLOCK_N)
    at = K + tile.to(tl.int64) * BLOCK_N * stride_kn + (local[None, :] * stride_kn + wide[:, None] * stride_kd)
    if EDGE:
        k = tl.load(at, mask=(key[None, :] < keys) & (wide[:, None] < WIDTH), other=0.0)
    elif D == WIDTH:
        k = tl.load(at)
    else:
        k = tl.load(at, mask=wide[:, None] < WIDTH, other=0.0)
    scores = tl.dot(q, k, input_precision=PRECISION)
    if HAS_CAP:
        halved = scores * (2.0 * scale / cap)
        scores = cap * (2.0 * tl.sigmoid(halved) - 1.0)
        if HAS_BIAS:
            scores += tl.load(
                Bias + row[:, None].to(tl.int64) * stride_bm + key[None, :] * stride_bn,
                mask=(row[:, None] < queries) & (key[None, :] < keys), other=0.0,
            ).to(tl.float32)  # fmt: skip
        scores = scores * (1.0 / _LN2)
    elif HAS_BIAS:
        scores = scores * scale
        scores += tl.load(
            Bias + row[:, None].to(tl.int64) * stride_bm + key[None, :] * stride_bn,
            mask=(row[:, None] < queries) & (key[None, :] < keys), other=0.0,
        ).to(tl.float32)  # fmt: skip
        scores = scores * (1.0 / _LN2)
    else:
        scores = scores * (scale * (1.0 / _LN2))
    return scores


@triton.jit
def _soften(q, K, V, Bias, out, most, total, tile, row, start, stop, wide, wide_v, keys, queries, stride_kn,
            stride_kd, stride_vn, stride_vd, stride_bm, stride_bn, scale, cap, BLOCK_N: tl.constexpr,
            D: tl.constexpr, WIDTH: tl.constexpr, DV: tl.constexpr, WIDTH_V: tl.constexpr, HAS_CAP: tl.constexpr,
            HAS_BIAS: tl.constexpr, EDGE: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """One tile more of a softmax that goes from tile to tile."""
    key = tile * BLOCK_N + tl.arange(0, BLOCK_N)
    scores = _scores(q, K, Bias, row, tile, key, wide, keys, queries, stride_kn, stride_kd, stride_bm, stride_bn,
                     scale, cap, BLOCK_N, D, WIDTH, HAS_CAP, HAS_BIAS, EDGE, PRECISION)  # fmt: skip
    if EDGE:
        seen = (key[None, :] >= start[:, None]) & (key[None, :] < stop[:, None])
        scores = tl.where(seen, scores, _NOTHING)
    higher = tl.maximum(most, tl.max(scores, 1))
    weights = tl.exp2(scores - higher[:, None])
    if EDGE:
        weights = tl.where(seen, weights, 0.0)
    shrink = tl.exp2(most - higher)
    total = total * shrink + tl.sum(weights, 1)
    out = out * shrink[:, None]
    local = tl.arange(0, BLOCK_N)
    at = V + tile.to(tl.int64) * BLOCK_N * stride_vn + (local[:, None] * stride_vn + wide_v[None, :] * stride_vd)
    if EDGE:
        v = tl.load(at, mask=(key[:, None] < keys) & (wide_v[None, :] < WIDTH_V), other=0.0)
    elif DV == WIDTH_V:
        v = tl.load(at)
    else:
        v = tl.load(at, mask=wide_v[None, :] < WIDTH_V, other=0.0)
    out = tl.dot(weights.to(v.dtype), v, out, input_precision=PRECISION)
    return out, higher, total


@triton.jit
def attend(Q, K, V, Out, Lse, Starts, Stops, Bias, Sinks, scale, cap, heads, group, queries, keys, stride_qb,
           stride_qh, stride_qm, stride_qd, stride_kb, stride_kh, stride_kn, stride_kd, stride_vb, stride_vh,
           stride_vn, stride_vd, stride_ob, stride_oh, stride_om, stride_lb, stride_bb, stride_bh, stride_bm,
           stride_bn, KIND: tl.constexpr, HAS_CAP: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_SINKS: tl.constexpr,
           D: tl.constexpr, WIDTH: tl.constexpr, DV: tl.constexpr, WIDTH_V: tl.constexpr, BLOCK_M: tl.constexpr,
           BLOCK_N: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """Outputs of a block of queries of one head, and the log-sum-exp of each row; long rows begin first."""
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    text, head = tl.program_id(1).to(tl.int64) // heads, tl.program_id(1) % heads
    Q += text * stride_qb + head.to(tl.int64) * stride_qh
    K += text * stride_kb + (head // group).to(tl.int64) * stride_kh
    V += text * stride_vb + (head // group).to(tl.int64) * stride_vh
    Bias += text * stride_bb + head.to(tl.int64) * stride_bh
    row = block * BLOCK_M + tl.arange(0, BLOCK_M)
    wide, wide_v = tl.arange(0, D), tl.arange(0, DV)
    q = tl.load(Q + row[:, None].to(tl.int64) * stride_qm + wide[None, :] * stride_qd,
                mask=(row[:, None] < queries) & (wide[None, :] < WIDTH), other=0.0)  # fmt: skip
    start, stop = _interval(Starts, Stops, text * stride_lb, row, queries, keys, KIND)
    low, a, _, _, d, high = _plan(start, stop, row, queries, block * BLOCK_M, keys, BLOCK_M, BLOCK_N, -1)
    out = tl.zeros([BLOCK_M, DV], tl.float32)
    most = tl.full([BLOCK_M], _NOTHING, tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    for step in range(d - a):
        tile = a + step
        out, most, total = _soften(
            q, K, V, Bias, out, most, total, tile, row, start, stop, wide, wide_v, keys, queries, stride_kn,
            stride_kd, stride_vn, stride_vd, stride_bm, stride_bn, scale, cap, BLOCK_N, D, WIDTH, DV, WIDTH_V,
            HAS_CAP, HAS_BIAS, False, PRECISION,
        )  # fmt: skip
    for step in range((a - low) + (high - d)):
        tile = tl.where(step < a - low, low + step, d + step - (a - low))
        out, most, total = _soften(
            q, K, V, Bias, out, most, total, tile, row, start, stop, wide, wide_v, keys, queries, stride_kn,
            stride_kd, stride_vn, stride_vd, stride_bm, stride_bn, scale, cap, BLOCK_N, D, WIDTH, DV, WIDTH_V,
            HAS_CAP, HAS_BIAS, True, PRECISION,
        )  # fmt: skip
    if HAS_SINKS:
        sink = tl.load(Sinks + head).to(tl.float32) * (1.0 / _LN2)
        higher = tl.maximum(most, sink)
        shrink = tl.exp2(most - higher)
        out = out * shrink[:, None]
        total = total * shrink + tl.exp2(sink - higher)
        most = higher
    seen = total > 0.0
    whole = tl.where(seen, total, 1.0)
    out = out / whole[:, None]
    lse = tl.where(seen, (most + tl.log2(whole)) * _LN2, float("-inf"))
    here = row < queries
    tl.store(Lse + (tl.program_id(1).to(tl.int64) * queries + row), lse, mask=here)
    tl.store(Out + text * stride_ob + row[:, None].to(tl.int64) * stride_om + head * stride_oh + wide_v[None, :],
             out.to(Out.dtype.element_ty), mask=here[:, None] & (wide_v[None, :] < WIDTH_V))  # fmt: skip


@triton.jit
def _add_tile(q, K, Bias, C, Received, readers, sums, logs, tile, row, lse, start, stop, wide, column, keys, queries,
              stride_kn, stride_kd, stride_bm, stride_bn, stride_rr, scale, cap, BLOCK_N: tl.constexpr,
              COLUMNS: tl.constexpr, READERS: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr,
              HAS_CAP: tl.constexpr, HAS_BIAS: tl.constexpr, EDGE: tl.constexpr,
              PRECISION: tl.constexpr):  # fmt: skip
    """What a tile adds to the columns and to alpha log alpha of its queries, and to what its keys receive; its
    weights, times 2^15, and its largest scores."""
    key = tile * BLOCK_N + tl.arange(0, BLOCK_N)
    scores = _scores(q, K, Bias, row, tile, key, wide, keys, queries, stride_kn, stride_kd, stride_bm, stride_bn,
                     scale, cap, BLOCK_N, D, WIDTH, HAS_CAP, HAS_BIAS, EDGE, PRECISION)  # fmt: skip
    if EDGE:
        seen = (key[None, :] >= start[:, None]) & (key[None, :] < stop[:, None])
        scores = tl.where(seen, scores, _NOTHING)
    top = tl.max(scores, 1)
    logged = scores - lse[:, None]
    weights = tl.exp2(logged + _LIFT)
    if EDGE:
        weights = tl.where(seen, weights, 0.0)
        packed = tl.load(C + key[:, None] * COLUMNS + column[None, :], mask=key[:, None] < keys, other=0.0)
    else:
        packed = tl.load(C + key[:, None] * COLUMNS + column[None, :])
    taken = weights.to(packed.dtype)
    # What tensor cores add to is cut off and not rounded, which many tiles would show. A factor of each product, here
    # the one that is due anyway, keeps the compiler from having them add to the sums themselves.
    added = tl.dot(taken, packed, input_precision=PRECISION) * _UNLIFT
    logs += tl.dot((weights * logged).to(packed.dtype), packed, input_precision=PRECISION) * (_UNLIFT * _LN2)
    by_key = tl.dot(readers, taken, input_precision=PRECISION)
    reader = tl.arange(0, 16)
    tl.atomic_add(
        Received + reader[:, None] * stride_rr + key[None, :], (by_key * _WHOLE + 0.5).to(tl.int64),
        mask=(reader[:, None] < READERS) & (key[None, :] < keys), sem="relaxed",
    )  # fmt: skip
    return sums + added, logs, added, top, weights


@triton.jit
def add_up(Q, K, Lse, C, Nu, Most, Readers, Starts, Stops, Bias, Sums, Rows, Received, scale, cap, heads, group,
           queries, keys, window, one_nu, stride_qb, stride_qh, stride_qm, stride_qd, stride_kb, stride_kh, stride_kn,
           stride_kd, stride_cb, stride_ch, stride_rb, stride_rm, stride_rr, stride_lb, stride_bb, stride_bh,
           stride_bm, stride_bn, KIND: tl.constexpr, HAS_CAP: tl.constexpr, HAS_BIAS: tl.constexpr,
           HAS_NU: tl.constexpr, READERS: tl.constexpr, SAME: tl.constexpr, BOTH: tl.constexpr,
           COLUMNS: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr, BLOCK_M: tl.constexpr,
           BLOCK_N: tl.constexpr, BAND: tl.constexpr, EDGES: tl.constexpr, MORE: tl.constexpr,
           PRECISION: tl.constexpr):  # fmt: skip
    """Sums over keys of a block of queries of one head, and over these queries for every key: of the tiles that need
    no care, or of those that do (``EDGES``), which are added to what is there already where there is ``MORE``.

    Into ``Sums`` go the columns, (text, head, query, column), into ``Rows`` (text, head, 10, query): the largest
    score, the sums of alpha log alpha and alpha nu log alpha, the distances by weight and by norm, what lies within
    the window by weight and by norm, and the weights on the previous, own and next place.
    """
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    plane = tl.program_id(1).to(tl.int64)
    text, head = plane // heads, plane % heads
    Q += text * stride_qb + head * stride_qh
    K += text * stride_kb + (head // group) * stride_kh
    C += text * stride_cb + head * stride_ch
    Nu += plane * keys
    Bias += text * stride_bb + head * stride_bh
    Received += plane * READERS * stride_rr
    row = block * BLOCK_M + tl.arange(0, BLOCK_M)
    wide, column = tl.arange(0, D), tl.arange(0, COLUMNS)
    here = row < queries
    q = tl.load(Q + row[:, None].to(tl.int64) * stride_qm + wide[None, :] * stride_qd,
                mask=here[:, None] & (wide[None, :] < WIDTH), other=0.0)  # fmt: skip
    lse = tl.load(Lse + plane * queries + row, mask=here, other=float("inf"))
    lse = tl.where(lse == float("-inf"), 1.0e30, tl.minimum(lse, 1.0e30)) * (1.0 / _LN2)
    start, stop = _interval(Starts, Stops, text * stride_lb, row, queries, keys, KIND)
    low, a, b, c, d, high = _plan(start, stop, row, queries, block * BLOCK_M, keys, BLOCK_M, BLOCK_N, BAND)
    reader = tl.arange(0, 16)
    readers = tl.load(Readers + text * stride_rb + row[None, :] * stride_rm + reader[:, None],
                      mask=here[None, :] & (reader[:, None] < READERS), other=0.0).to(C.dtype.element_ty)  # fmt: skip
    sums = tl.zeros([BLOCK_M, COLUMNS], tl.float32)
    logs = tl.zeros([BLOCK_M, COLUMNS], tl.float32)
    top = tl.full([BLOCK_M], _NOTHING, tl.float32)
    Sums += plane * queries * COLUMNS
    at = Sums + row[:, None].to(tl.int64) * COLUMNS + column[None, :]
    Rows += plane * 10 * queries + row
    first = tl.where(column == 0, 1.0, 0.0)[None, :]
    first_nu = tl.where(column == one_nu, 1.0, 0.0)[None, :]
    if not EDGES:
        far = tl.zeros([BLOCK_M, COLUMNS], tl.float32)
        signed = tl.zeros([BLOCK_M, COLUMNS], tl.float32)
        for step in range((b - a) + (d - c)):
            tile = tl.where(step < b - a, a + step, c + step - (b - a))
            sums, logs, added, highest, weights = _add_tile(
                q, K, Bias, C, Received, readers, sums, logs, tile, row, lse, start, stop, wide, column, keys,
                queries, stride_kn, stride_kd, stride_bm, stride_bn, stride_rr, scale, cap, BLOCK_N, COLUMNS, READERS,
                D, WIDTH, HAS_CAP, HAS_BIAS, False, PRECISION,
            )  # fmt: skip
            top = tl.maximum(top, highest)
            if SAME:
                far += added * tl.abs((row - tile * BLOCK_N).to(tl.float32))[:, None]
            if BOTH:
                signed += tl.where(tile < b, added, -added)
        if not BOTH:
            signed = sums  # all of these tiles lie before their queries
        place = tl.where(column == 1, -BLOCK_N * 1.0, 0.0)[None, :] * signed
        by_weight = tl.sum(first * far + place, 1)
        place = tl.where(column == one_nu + 1, -BLOCK_N * 1.0, 0.0)[None, :] * signed
        by_norm = tl.sum(first_nu * far + place, 1)
        tl.store(Rows, tl.where(top > 0.5 * _NOTHING, top * _LN2, float("-inf")), mask=here)
        tl.store(Rows + queries, tl.sum(first * logs, 1), mask=here)
        tl.store(Rows + 2 * queries, tl.sum(first_nu * logs, 1), mask=here)
        tl.store(Rows + 3 * queries, by_weight, mask=here)
        tl.store(Rows + 4 * queries, by_norm, mask=here)
        tl.store(at, sums, mask=here[:, None])
    else:
        extra = tl.zeros([BLOCK_M, 8], tl.float32)
        kind = tl.arange(0, 8)[None, :]
        for step in range((a - low) + (c - b) + (high - d)):
            tile = tl.where(step < a - low, low + step, b + step - (a - low))
            tile = tl.where(step < (a - low) + (c - b), tile, d + step - (a - low) - (c - b))
            sums, logs, added, highest, weights = _add_tile(
                q, K, Bias, C, Received, readers, sums, logs, tile, row, lse, start, stop, wide, column, keys,
                queries, stride_kn, stride_kd, stride_bm, stride_bn, stride_rr, scale, cap, BLOCK_N, COLUMNS, READERS,
                D, WIDTH, HAS_CAP, HAS_BIAS, True, PRECISION,
            )  # fmt: skip
            top = tl.maximum(top, highest)
            if SAME:
                key = tile * BLOCK_N + tl.arange(0, BLOCK_N)
                apart = key[None, :] - row[:, None]
                gap = tl.abs(apart).to(tl.float32)
                near = tl.where(tl.abs(apart) <= window, weights, 0.0)
                extra += tl.where(kind == 0, tl.sum(weights * gap, 1)[:, None], 0.0)
                extra += tl.where(kind == 1, tl.sum(near, 1)[:, None], 0.0)
                extra += tl.where(kind == 2, tl.sum(tl.where(apart == -1, weights, 0.0), 1)[:, None], 0.0)
                extra += tl.where(kind == 3, tl.sum(tl.where(apart == 0, weights, 0.0), 1)[:, None], 0.0)
                extra += tl.where(kind == 4, tl.sum(tl.where(apart == 1, weights, 0.0), 1)[:, None], 0.0)
                if HAS_NU:
                    nu = tl.load(Nu + key, mask=key < keys, other=0.0).to(tl.float32)
                    extra += tl.where(kind == 5, tl.sum(weights * gap * nu[None, :], 1)[:, None], 0.0)
                    extra += tl.where(kind == 6, tl.sum(near * nu[None, :], 1)[:, None], 0.0)
        extra = extra * _UNLIFT
        top = tl.where(top > 0.5 * _NOTHING, top * _LN2, float("-inf"))
        by_log = tl.sum(first * logs, 1)
        by_log_nu = tl.sum(first_nu * logs, 1)
        by_weight = tl.sum(tl.where(kind == 0, extra, 0.0), 1)
        by_norm = tl.zeros([BLOCK_M], tl.float32)
        if MORE:
            top = tl.maximum(top, tl.load(Rows, mask=here, other=0.0))
            by_log += tl.load(Rows + queries, mask=here, other=0.0)
            by_log_nu += tl.load(Rows + 2 * queries, mask=here, other=0.0)
            by_weight += tl.load(Rows + 3 * queries, mask=here, other=0.0)
            by_norm += tl.load(Rows + 4 * queries, mask=here, other=0.0)
            sums += tl.load(at, mask=here[:, None], other=0.0)
        if HAS_NU:
            scale_nu = _scale(Most, plane)
            by_log_nu = by_log_nu * scale_nu
            by_norm = by_norm * scale_nu + tl.sum(tl.where(kind == 5, extra, 0.0), 1)
            sums = sums * tl.where(column >= one_nu, scale_nu, 1.0)[None, :]
        else:
            by_log_nu = by_log
            by_norm = by_weight
            extra += tl.where(kind == 6, tl.sum(tl.where(kind == 1, extra, 0.0), 1)[:, None], 0.0)
        tl.store(Rows, top, mask=here)
        tl.store(Rows + queries, by_log, mask=here)
        tl.store(Rows + 2 * queries, by_log_nu, mask=here)
        tl.store(Rows + 3 * queries, by_weight, mask=here)
        tl.store(Rows + 4 * queries, by_norm, mask=here)
        tl.store(Rows + 5 * queries, tl.sum(tl.where(kind == 1, extra, 0.0), 1), mask=here)
        tl.store(Rows + 6 * queries, tl.sum(tl.where(kind == 6, extra, 0.0), 1), mask=here)
        tl.store(Rows + 7 * queries, tl.sum(tl.where(kind == 2, extra, 0.0), 1), mask=here)
        tl.store(Rows + 8 * queries, tl.sum(tl.where(kind == 3, extra, 0.0), 1), mask=here)
        tl.store(Rows + 9 * queries, tl.sum(tl.where(kind == 4, extra, 0.0), 1), mask=here)
        tl.store(at, sums, mask=here[:, None])


@triton.jit
def pack(Columns, Nu, Most, Packed, keys, columns, heads, stride_cb, stride_ck, HAS_NU: tl.constexpr,
         COLUMNS: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr):  # fmt: skip
    """What keys carry, side by side: one, the place in its tile, the columns; then nu, nu times the place, nu log nu
    and nu times the columns, the latter by nu as a share of the power of two that no nu of its head exceeds."""
    plane = tl.program_id(1).to(tl.int64)
    key, column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, COLUMNS)[None, :]
    here = key < keys
    place = ((key % TILE).to(tl.float32) / TILE)[:, None]
    Columns += (plane // heads) * stride_cb
    own = tl.load(Columns + key[:, None].to(tl.int64) * stride_ck + (column - 2),
                  mask=here[:, None] & (column >= 2) & (column < columns + 2), other=0.0)  # fmt: skip
    values = own + tl.where(column == 0, 1.0, 0.0) + tl.where(column == 1, place, 0.0)
    if HAS_NU:
        length = tl.load(Nu + plane * keys + key, mask=here, other=0.0).to(tl.float32)[:, None]
        nu = length / _scale(Most, plane)
        after = columns + 2
        again = tl.load(Columns + key[:, None].to(tl.int64) * stride_ck + (column - after - 3),
                        mask=here[:, None] & (column >= after + 3) & (column < after + 3 + columns),
                        other=0.0)  # fmt: skip
        values += again * nu + tl.where(column == after, nu, 0.0) + tl.where(column == after + 1, nu * place, 0.0)
        values += tl.where(column == after + 2, nu * tl.log(tl.maximum(length, 1e-30)), 0.0)
    at = Packed + plane * keys * COLUMNS + key[:, None].to(tl.int64) * COLUMNS + column
    tl.store(at, values.to(Packed.dtype.element_ty), mask=here[:, None])


@triton.jit
def bring(V, Grams, Lengths, keys, heads, group, stride_vb, stride_vh, stride_vn, stride_vd, DV: tl.constexpr,
          WIDTH_V: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """||f(x)|| of a block of keys of one head: the root of v G v, with G in two halves where v has half precision."""
    plane = tl.program_id(1).to(tl.int64)
    text, head = plane // heads, plane % heads
    key, wide = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, DV)
    V += text * stride_vb + (head // group) * stride_vh
    v = tl.load(V + key[:, None].to(tl.int64) * stride_vn + wide[None, :] * stride_vd,
                mask=(key[:, None] < keys) & (wide[None, :] < WIDTH_V), other=0.0)  # fmt: skip
    gram = tl.load(Grams + head * WIDTH_V * WIDTH_V + wide[:, None] * WIDTH_V + wide[None, :],
                   mask=(wide[:, None] < WIDTH_V) & (wide[None, :] < WIDTH_V), other=0.0)  # fmt: skip
    upper = gram.to(v.dtype)
    product = tl.dot(v, upper, input_precision=PRECISION)
    if v.dtype != tl.float32:
        product = tl.dot(v, (gram - upper.to(tl.float32)).to(v.dtype), product)
    squares = tl.sum(product * v.to(tl.float32), 1)
    tl.store(Lengths + plane * keys + key, tl.sqrt(tl.maximum(squares, 0.0)), mask=key < keys)


@triton.jit
def weigh(Q, K, Lse, Pairs, Starts, Stops, Bias, Weights, scale, cap, pairs, heads, group, queries, keys, stride_qb,
          stride_qh, stride_qm, stride_qd, stride_kb, stride_kh, stride_kn, stride_kd, stride_pb, stride_lb,
          stride_bb, stride_bh, stride_bm, stride_bn, KIND: tl.constexpr, HAS_CAP: tl.constexpr,
          HAS_BIAS: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """The weights of single pairs of query and key, of one head; 0 where the key may not be seen."""
    plane = tl.program_id(1).to(tl.int64)
    text, head = plane // heads, plane % heads
    pair, wide = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)[None, :]
    here = pair < pairs
    i = tl.load(Pairs + text * stride_pb + pair * 2, mask=here, other=0)
    j = tl.load(Pairs + text * stride_pb + pair * 2 + 1, mask=here, other=0)
    q = tl.load(Q + text * stride_qb + head * stride_qh + i[:, None] * stride_qm + wide * stride_qd,
                mask=here[:, None] & (wide < WIDTH), other=0.0).to(tl.float32)  # fmt: skip
    k = tl.load(K + text * stride_kb + (head // group) * stride_kh + j[:, None] * stride_kn + wide * stride_kd,
                mask=here[:, None] & (wide < WIDTH), other=0.0).to(tl.float32)  # fmt: skip
    scores = tl.sum(q * k, 1) * scale
    if HAS_CAP:
        scores = cap * (2.0 * tl.sigmoid(2.0 * scores / cap) - 1.0)
    if HAS_BIAS:
        at = Bias + text * stride_bb + head * stride_bh + i * stride_bm + j * stride_bn
        scores += tl.load(at, mask=here, other=0.0).to(tl.float32)
    start, stop = _interval(Starts, Stops, text * stride_lb, i, queries, keys, KIND)
    lse = tl.load(Lse + plane * queries + i, mask=here, other=0.0)
    weights = tl.where((j >= start) & (j < stop), tl.exp(scores - lse), 0.0)
    tl.store(Weights + plane * pairs + pair, weights, mask=here)
