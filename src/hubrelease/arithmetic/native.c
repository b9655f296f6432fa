/* The formats' arithmetic on BF16 rows. One file, libc only; the same operations stand in reference.py, in torch, and
   both give the same bits.

   The rounding rules are in the docstrings of hubrelease/formats/. Kept here: IEEE binary32 operations in the order
   written (built with -ffp-contract=off and without fast-math: a fused multiply-add would round once where the rules
   round twice), no tables, no branch on a number.

   Vectors are GCC's and Clang's generic ones, so the file builds for any little-endian machine. Sixteen BF16 numbers
   lie in eight words; `even` and `odd` columns are worked on apart and their codes put together again. Where compilers
   do not find an AVX2 instruction by themselves it is named; HUBRELEASE_PLAIN leaves those out, with the same results.

   Every encoder takes `rows` rows of `columns` BF16 numbers, writes codes and scales, adds to a tally, and returns 0;
   1 if a number is NaN or infinite; 2 if one is above the shared maximum it was given (in both cases what it wrote is
   of no use). Nothing is kept between calls: any number of threads may be inside, each with a tally of its own.       */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX2__) && !defined(HUBRELEASE_PLAIN)
#include <immintrin.h>
#define AVX2 1
#else
#define AVX2 0
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors are little-endian, and so is this file"
#endif

#define API __attribute__((visibility("default")))
#define INLINE static inline __attribute__((always_inline))

typedef float floats __attribute__((vector_size(32)));
typedef uint32_t words __attribute__((vector_size(32)));
typedef int32_t ints __attribute__((vector_size(32)));
typedef uint64_t longs __attribute__((vector_size(32)));
typedef uint16_t halves __attribute__((vector_size(32)));
typedef int16_t shorts __attribute__((vector_size(32)));

/* Squares of errors and of source numbers, exact: what numbers of one step D add up to is a whole number, and its product
   with the square of D's significand goes to the bin of D's exponent field. No order of adding matters. `lowest` and
   `highest` are the bins in use. See values.Sums for what is counted.                                                  */
typedef struct {
    unsigned __int128 errors[256], sources[256];
    uint32_t largest; /* bits of the largest |quotient - value of its code| */
    uint32_t lowest, highest;
} tally;

enum { FINE = 0, NOT_FINITE = 1, ABOVE_SHARED = 2 };
#define INFINITE 0x7f80u /* BF16 bits without sign from here on are no finite number */

/* --------------------------------------------------------------------------------------------------- bits and lanes */

/* Libraries built with fast-math tell the thread that loads them to flush subnormals to zero. IEEE in a function's first
   line puts the arithmetic right until it returns.                                                                     */
#if defined(__x86_64__)
typedef unsigned mode;
INLINE mode ieee(void) {
    mode before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80);
    return before;
}
INLINE void restore(const mode *before) { __builtin_ia32_ldmxcsr(*before); }
#elif defined(__aarch64__)
typedef uint64_t mode;
INLINE mode ieee(void) {
    mode before;
    __asm__ volatile("mrs %0, fpcr\n\tmsr fpcr, xzr" : "=&r"(before)::"memory");
    return before;
}
INLINE void restore(const mode *before) { __asm__ volatile("msr fpcr, %0" ::"r"(*before) : "memory"); }
#else
typedef int mode;
INLINE mode ieee(void) { return 0; }
INLINE void restore(const mode *before) { (void)before; }
#endif
#define IEEE __attribute__((cleanup(restore), unused)) const mode before = ieee()

INLINE words all(uint32_t x) { return (words){x, x, x, x, x, x, x, x}; }
INLINE floats every(float x) { return (floats){x, x, x, x, x, x, x, x}; }
INLINE words either(words mask, words yes, words no) { return (mask & yes) | (~mask & no); }

INLINE float number(uint32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

INLINE uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

INLINE words load(const void *from) {
    words x;
    memcpy(&x, from, sizeof x);
    return x;
}

INLINE words larger(words a, words b) { /* both under 2^31, as bits of numbers without sign are */
#if AVX2
    return (words)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
    return either((words)((ints)a > (ints)b), a, b);
#endif
}

INLINE words smaller(words a, words b) {
#if AVX2
    return (words)_mm256_min_epi32((__m256i)a, (__m256i)b);
#else
    return either((words)((ints)a < (ints)b), a, b);
#endif
}

INLINE words larger_halves(words a, words b) { /* sixteen numbers under 2^15 */
#if AVX2
    return (words)_mm256_max_epi16((__m256i)a, (__m256i)b);
#else
    return either((words)((shorts)a > (shorts)b), a, b);
#endif
}

/* The low halves of sixteen words, in the order of their columns. */
INLINE words zipped(words even, words odd) {
#if AVX2
    return (words)_mm256_blend_epi16((__m256i)even, (__m256i)(odd << 16), 0xaa);
#else
    return (even & 0xffffu) | (odd << 16);
#endif
}

INLINE words add_squares(words sum, words x) { /* of sixteen halves under 2^15, by twos */
#if AVX2
    return sum + (words)_mm256_madd_epi16((__m256i)x, (__m256i)x);
#else
    words even = x & 0xffffu, odd = x >> 16;
    return sum + even * even + odd * odd;
#endif
}

INLINE void store_bytes(uint8_t *out, words a, words b) { /* the low bytes of 32 halves, high bytes being 0 */
#if AVX2
    __m256i x = _mm256_permute4x64_epi64(_mm256_packus_epi16((__m256i)a, (__m256i)b), 0xd8);
    memcpy(out, &x, 32);
#else
    uint16_t x[32];
    memcpy(x, &a, 32), memcpy(x + 16, &b, 32);
    for (int i = 0; i < 32; i++) out[i] = (uint8_t)x[i];
#endif
}

INLINE void store_words(uint8_t *out, const words x[4]) { /* the low bytes of 32 words, high bytes being 0 */
#if AVX2
    __m256i low = _mm256_packus_epi32((__m256i)x[0], (__m256i)x[1]), high = _mm256_packus_epi32((__m256i)x[2], (__m256i)x[3]);
    __m256i done = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    memcpy(out, &done, 32);
#else
    for (int i = 0; i < 32; i++) out[i] = (uint8_t)x[i / 8][i % 8];
#endif
}

/* ------------------------------------------------------------------------------------------------------- roundings */

/* To the nearest number of a small float format, ties to even: `*value` becomes it, the low byte of what is returned
   is its code. `a` holds bits of numbers without sign, none above the format's largest; `mantissa` counts the format's
   stored mantissa bits, `low` is the exponent field of its smallest normal number. Adding 2^(23-mantissa) times the
   number's own power of two leaves just these bits in the sum, and the exponent's share of the code rides along.       */
INLINE words narrow(words a, int mantissa, uint32_t low, floats *value) {
    words power = larger(a & 0x7f800000u, all(low << 23));
    words magic = power + (power >> (23 - mantissa)) + (((uint32_t)(23 - mantissa) << 23) - (low << mantissa));
    floats sum = (floats)a + (floats)magic;
    *value = sum - (floats)magic;
    return (words)sum;
}

#define E4M3 3, 121u /* 448 down to 2^-9 */
#define E2M1 1, 127u /* 6 down to 0.5 */

INLINE words to_bf16(words bits) { return (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u; }

INLINE uint32_t one_to_bf16(float x) { return (bits_of(x) + 0x7fffu + ((bits_of(x) >> 16) & 1u)) & 0xffff0000u; }

/* Plus 2^(23-bits): rounds to a multiple of 2^-bits, and leaves in the low half how many. */
INLINE words multiples(floats x, int bits) { return (words)(x + number((uint32_t)(150 - bits) << 23)); }

/* ------------------------------------------------------------------------------------------------------- the tally */

/* What is under way: squares in lanes of 32 bits, which `settle` empties before they can run over. */
typedef struct {
    words errors, sources, largest;
    longs settled_errors, settled_sources;
} measure;

INLINE measure nothing(words largest) {
    longs zero = {0, 0, 0, 0};
    return (measure){all(0), all(0), largest, zero, zero};
}

INLINE longs widened(words x) { return ((longs)x & 0xffffffffu) + ((longs)x >> 32); }

INLINE void settle(measure *m) {
    m->settled_errors += widened(m->errors);
    m->settled_sources += widened(m->sources);
    m->errors = m->sources = all(0);
}

INLINE void add(tally *t, const measure *m, float step) { /* of numbers whose largest step this is; empties nothing */
    uint32_t bits = bits_of(step), field = bits >> 23 ? bits >> 23 : 1;
    uint64_t significand = (bits & 0x7fffffu) | (bits >> 23 ? 0x800000u : 0), errors = 0, sources = 0;
    for (int i = 0; i < 4; i++) errors += m->settled_errors[i], sources += m->settled_sources[i];
    t->errors[field] += (unsigned __int128)(significand * significand) * errors;
    t->sources[field] += (unsigned __int128)(significand * significand) * sources;
    t->lowest = field < t->lowest ? field : t->lowest;
    t->highest = field > t->highest ? field : t->highest;
}

INLINE void add_largest(tally *t, words largest) {
    for (int i = 0; i < 8; i++) t->largest = largest[i] > t->largest ? largest[i] : t->largest;
}

INLINE words error_of(measure *m, words quotient, floats value) { /* bits of |quotient - value| */
    words off = (words)((floats)quotient - value) & 0x7fffffffu;
    m->largest = larger(m->largest, off);
    return off;
}

/* ---------------------------------------------------------------------------------------------------------- maxima */

INLINE uint32_t widest_of(words most) { /* the largest of sixteen halves */
    uint16_t lanes[16], found = 0;
    memcpy(lanes, &most, 32);
    for (int i = 0; i < 16; i++) found = lanes[i] > found ? lanes[i] : found;
    return found;
}

INLINE words widest16(words most, const uint16_t *x) { return larger_halves(most, load(x) & 0x7fff7fffu); }

/* The largest magnitude of n numbers as BF16 bits; INFINITE and more if one is no finite number. */
API uint32_t hubrelease_amax(const uint16_t *x, int64_t n) {
    words most[4] = {all(0), all(0), all(0), all(0)};
    ptrdiff_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (int k = 0; k < 4; k++) most[k] = widest16(most[k], x + i + 16 * k);
    uint32_t found = widest_of(larger_halves(larger_halves(most[0], most[1]), larger_halves(most[2], most[3])));
    for (; i < n; i++) found = (x[i] & 0x7fffu) > found ? (x[i] & 0x7fffu) : found;
    return found;
}

/* ---------------------------------------------------------------------------------------------- FP8: one code a byte */

#define FP8_ERROR 9  /* at most 16 steps; 17 where quotients are rounded twice; more, where a scale is subnormal, count as 32 */
#define FP8_SOURCE 4 /* at most 671, where a scale is subnormal */

/* Sixteen codes as halves, from quotients (bits without sign) of even and odd columns, those to be rounded, and numbers. */
INLINE words fp8_codes(const words quotient[2], const words clamped[2], words numbers, int capped, measure *m) {
    words code[2], error[2];
    for (int k = 0; k < 2; k++) {
        floats value;
        code[k] = narrow(clamped[k], E4M3, &value);
        words off = error_of(m, quotient[k], value);
        error[k] = multiples((floats)(capped ? smaller(off, all(0x42000000u)) : off), FP8_ERROR);
    }
    m->errors = add_squares(m->errors, zipped(error[0], error[1]));
    words sizes = zipped(multiples((floats)quotient[0], FP8_SOURCE), multiples((floats)quotient[1], FP8_SOURCE));
    m->sources = add_squares(m->sources, sizes);
    return (zipped(code[0], code[1]) & 0x007f007fu) | (words)((halves)numbers >> 8 & (halves)all(0x00800080u));
}

/* transformers: times a factor, in binary32. */
INLINE words times(words x, floats factor, measure *m) {
    words plain = x & 0x7fff7fffu;
    words v[2] = {(words)((floats)(plain << 16) * factor), (words)((floats)(plain & 0xffff0000u) * factor)};
    return fp8_codes(v, v, x, 0, m);
}

/* compressed-tensors: by a scale, the quotient rounded to BF16, clamped, rounded again. */
INLINE words over(words x, floats scale, measure *m) {
    words plain = x & 0x7fff7fffu, clamped[2];
    words v[2] = {(words)((floats)(plain << 16) / scale), (words)((floats)(plain & 0xffff0000u) / scale)};
    for (int k = 0; k < 2; k++) clamped[k] = smaller(to_bf16(v[k]), all(0x43e00000u)); /* 448 */
    return fp8_codes(v, clamped, x, 1, m);
}

INLINE uint32_t block_amax(const uint16_t *x, ptrdiff_t stride) {
    words most[4] = {all(0), all(0), all(0), all(0)};
    for (int r = 0; r < 128; r++, x += stride)
        for (int k = 0; k < 8; k++) most[k % 4] = widest16(most[k % 4], x + 16 * k);
    return widest_of(larger_halves(larger_halves(most[0], most[1]), larger_halves(most[2], most[3])));
}

INLINE void block(const uint16_t *x, ptrdiff_t stride, float factor, uint8_t *codes, measure *m) {
    floats f = every(factor);
    for (int r = 0; r < 128; r++, x += stride, codes += stride)
        for (int i = 0; i < 128; i += 32) {
            words low = times(load(x + i), f, m), high = times(load(x + i + 16), f, m);
            store_bytes(codes + i, low, high);
            if (i == 96) settle(m); /* eight pairs of squares under 2^26 */
        }
}

/* rows and columns are multiples of 128; one binary32 scale a block of 128 x 128. */
API int hubrelease_fp8_block(const uint16_t *x, int64_t rows, int64_t columns, uint8_t *codes, float *scales, tally *t) {
    IEEE;
    words largest = all(0);
    for (int64_t r = 0; r < rows; r += 128)
        for (int64_t c = 0; c < columns; c += 128, scales++) {
            ptrdiff_t at = r * columns + c;
            uint32_t amax = block_amax(x + at, columns);
            if (amax >= INFINITE) return NOT_FINITE;
            float factor = (1.0f / number(amax << 16)) * 448.0f; /* as `448.0 / tensor` in torch: two roundings */
            int empty = bits_of(factor) >= 0x7f800000u;          /* of zeros, or so small that the factor runs over */
            *scales = empty ? 1.0f : 1.0f / factor;
            measure m = nothing(largest);
            block(x + at, columns, empty ? 0.0f : factor, codes + at, &m);
            add(t, &m, *scales);
            largest = m.largest;
        }
    add_largest(t, largest);
    return FINE;
}

INLINE void channel(const uint16_t *x, ptrdiff_t columns, float scale, uint8_t *codes, measure *m) {
    floats s = every(scale);
    ptrdiff_t i = 0;
    for (; i + 32 <= columns; i += 32) {
        words low = over(load(x + i), s, m), high = over(load(x + i + 16), s, m);
        store_bytes(codes + i, low, high);
        if (i % 64) settle(m); /* four pairs of squares up to 2^28 */
    }
    if (i < columns) { /* zeros fill up the last 32 columns; they add nothing */
        uint16_t rest[32] = {0};
        uint8_t last[32];
        memcpy(rest, x + i, (size_t)(columns - i) * 2);
        words low = over(load(rest), s, m), high = over(load(rest + 16), s, m);
        store_bytes(last, low, high);
        memcpy(codes + i, last, (size_t)(columns - i));
    }
    settle(m);
}

/* One BF16 scale a row. */
API int hubrelease_fp8_channel(const uint16_t *x, int64_t rows, int64_t columns, uint8_t *codes, uint16_t *scales, tally *t) {
    IEEE;
    words largest = all(0);
    for (int64_t r = 0; r < rows; r++, x += columns, codes += columns) {
        uint32_t amax = hubrelease_amax(x, columns);
        if (amax >= INFINITE) return NOT_FINITE;
        uint32_t scale = one_to_bf16(number(amax << 16) / 448.0f);
        scale = scale ? scale : 0x3c000000u; /* BF16's epsilon, 2^-7 */
        scales[r] = (uint16_t)(scale >> 16);
        measure m = nothing(largest);
        channel(x, columns, number(scale), codes, &m);
        add(t, &m, number(scale));
        largest = m.largest;
    }
    add_largest(t, largest);
    return FINE;
}

/* ------------------------------------------------------------------------------- NVFP4: groups of 16, two codes a byte */

#define RUN 64          /* groups whose scales are found together, and whose squares have one step to be counted in */
#define NVFP4_ERROR 11  /* at most 3.2 steps, where a scale is subnormal in E4M3 */
#define NVFP4_SOURCE 10 /* at most 9.6 */

typedef struct {
    uint32_t amax[RUN];  /* bits of binary32 numbers */
    float step[RUN];     /* what a group's numbers are divided by */
    float share[RUN];    /* that over the run's largest */
    uint32_t codes[RUN]; /* of the group's scales */
} run;

/* compressed-tensors: `shared` divides. bf16(amax / 6) times shared, to E4M3, 0 becomes 0.125; a step is scale / shared. */
INLINE void divisor_scales(run *g, int i, float shared) {
    floats share = every(shared), value;
    words t = to_bf16((words)((floats)load(g->amax + i) / 6.0f));
    words code = narrow(smaller((words)(share * (floats)t), all(0x43e00000u)), E4M3, &value) & 0x7fu;
    words zero = (words)(code == all(0));
    code = either(zero, all(0x20), code);
    floats step = (floats)either(zero, all(0x3e000000u), (words)value) / share;
    memcpy(g->codes + i, &code, 32);
    memcpy(g->step + i, &step, 32);
}

/* ModelOpt: `shared` multiplies. amax / (6 * shared), 0 becomes 1, clamped to 2^-9 and 448, to E4M3; a step is
   scale * shared. It is near amax / 6, and so not 0: no BF16 number but zero is below 2^-133.                           */
INLINE void multiplier_scales(run *g, int i, float shared) {
    floats share = every(shared), value;
    words b = (words)((floats)load(g->amax + i) / (share * 6.0f));
    b = either((words)(b == all(0)), all(0x3f800000u), b);
    b = smaller(larger(b, all(0x3b000000u)), all(0x43e00000u));
    words code = narrow(b, E4M3, &value) & 0x7fu;
    floats step = value * share;
    memcpy(g->codes + i, &code, 32);
    memcpy(g->step + i, &step, 32);
}

INLINE words nibble(words w, floats step, measure *m, words *quotient, words *off) {
    floats value;
    *quotient = (words)((floats)w / step);
    words code = narrow(smaller(*quotient, all(0x40c00000u)), E2M1, &value) & 7u; /* 6 */
    *off = error_of(m, *quotient, value);
    return code;
}

INLINE words group(const uint16_t *from, float step, float share, measure *m) { /* eight bytes of codes, one a word */
    words x = load(from), plain = x & 0x7fff7fffu, v[2], off[2];
    words low = nibble(plain << 16, every(step), m, &v[0], &off[0]);
    words high = nibble(plain & 0xffff0000u, every(step), m, &v[1], &off[1]);
    floats t = every(share);
    words errors[2] = {multiples((floats)off[0] * t, NVFP4_ERROR), multiples((floats)off[1] * t, NVFP4_ERROR)};
    words sizes[2] = {multiples((floats)v[0] * t, NVFP4_SOURCE), multiples((floats)v[1] * t, NVFP4_SOURCE)};
    m->errors = add_squares(m->errors, zipped(errors[0], errors[1]));
    m->sources = add_squares(m->sources, zipped(sizes[0], sizes[1]));
    /* the sign is the quotient's: one that underflowed to zero has none */
    words below = (words)((ints)v[0] > (ints)all(0)), above = (words)((ints)v[1] > (ints)all(0));
    return low | (high << 4) | (below & (x >> 12) & 8u) | (above & (x >> 24) & 0x80u);
}

/* Scales of up to RUN groups, the last eight filled up with groups of zeros. Returns the largest step there is. */
INLINE float run_scales(run *g, const uint16_t *x, int groups, float shared, int divides, uint32_t *amax, uint8_t *scales) {
    float largest = 0;
    *amax = 0;
    for (int i = 0; i < groups; i++) {
        uint32_t found = widest_of(load(x + 16 * i) & 0x7fff7fffu);
        g->amax[i] = found << 16;
        *amax = found > *amax ? found : *amax;
    }
    for (int i = groups; i % 8; i++) g->amax[i] = 0;
    for (int i = 0; i < groups; i += 8) divides ? divisor_scales(g, i, shared) : multiplier_scales(g, i, shared);
    for (int i = 0; i < groups; i++) {
        scales[i] = (uint8_t)g->codes[i];
        largest = g->step[i] > largest ? g->step[i] : largest;
    }
    return largest;
}

INLINE void run_codes(const run *g, const uint16_t *x, int groups, uint8_t *codes, measure *m) {
    int i = 0;
    for (; i + 4 <= groups; i += 4) {
        words b[4];
        for (int k = 0; k < 4; k++) b[k] = group(x + 16 * (i + k), g->step[i + k], g->share[i + k], m);
        store_words(codes + 8 * i, b);
        settle(m);
    }
    for (; i < groups; i++) {
        words b = group(x + 16 * i, g->step[i], g->share[i], m);
        for (int k = 0; k < 8; k++) codes[8 * i + k] = (uint8_t)b[k];
        settle(m);
    }
}

INLINE int nvfp4(const uint16_t *x, int64_t rows, int64_t columns, float shared, uint32_t limit, int divides, uint8_t *codes, uint8_t *scales, tally *t) {
    IEEE;
    words most_off = all(0);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t left = columns / 16; left > 0; left -= RUN) {
            run g;
            int groups = left < RUN ? (int)left : RUN;
            uint32_t amax;
            float largest = run_scales(&g, x, groups, shared, divides, &amax, scales);
            measure m = nothing(most_off);
            if (amax >= INFINITE) return NOT_FINITE;
            if (amax > limit) return ABOVE_SHARED;
            for (int i = 0; i < groups; i++) g.share[i] = g.step[i] / largest;
            run_codes(&g, x, groups, codes, &m);
            add(t, &m, largest);
            most_off = m.largest;
            x += 16 * groups, codes += 8 * groups, scales += groups;
        }
    add_largest(t, most_off);
    return FINE;
}

/* `shared` has the bits of the global scale, `most` those of the largest magnitude in the set that shares it. */
API int hubrelease_nvfp4_divisor(const uint16_t *x, int64_t rows, int64_t columns, uint32_t shared, uint32_t most, uint8_t *codes, uint8_t *scales,
                                  tally *t) {
    return nvfp4(x, rows, columns, number(shared), most >> 16, 1, codes, scales, t);
}

API int hubrelease_nvfp4_multiplier(const uint16_t *x, int64_t rows, int64_t columns, uint32_t shared, uint32_t most, uint8_t *codes, uint8_t *scales,
                                     tally *t) {
    return nvfp4(x, rows, columns, number(shared), most >> 16, 0, codes, scales, t);
}

/* ---------------------------------------------------------------- integers: groups of 128, offset by half their range */

#define INT_ERROR 12 /* counted up to 4 steps; more than 1.5 only where a scale is subnormal */
#define INT8_SOURCE 5 /* at most 191 */
#define INT4_SOURCE 9 /* at most 11 */

/* Eight codes; `sign` is 0 or all ones: one more fits below zero. */
INLINE words integer(words v, words sign, uint32_t half, measure *m, words *off) {
    words n = multiples((floats)to_bf16(v), 0) - 0x4b000000u;
    n = smaller(n, all(half - 1) - sign);
    *off = smaller(error_of(m, v, (floats)(n + 0x4b000000u) - 8388608.0f), all(0x40800000u)); /* 4 */
    return ((n ^ sign) - sign) + half;
}

INLINE words integers(const uint16_t *from, floats scale, uint32_t half, measure *m) { /* sixteen codes as halves */
    int bits = half == 8 ? INT4_SOURCE : INT8_SOURCE;
    words x = load(from), plain = x & 0x7fff7fffu, off[2];
    words v[2] = {(words)((floats)(plain << 16) / scale), (words)((floats)(plain & 0xffff0000u) / scale)};
    words low = integer(v[0], (words)((ints)(x << 16) >> 31), half, m, &off[0]);
    words high = integer(v[1], (words)((ints)x >> 31), half, m, &off[1]);
    m->errors = add_squares(m->errors, zipped(multiples((floats)off[0], INT_ERROR), multiples((floats)off[1], INT_ERROR)));
    m->sources = add_squares(m->sources, zipped(multiples((floats)v[0], bits), multiples((floats)v[1], bits)));
    return zipped(low, high);
}

INLINE void store_integers(uint8_t *codes, words b[8], uint32_t half) {
    if (half == 8) {
        for (int k = 0; k < 8; k++) b[k] = (b[k] | b[k] >> 12) & 0xffu;
        store_words(codes, b), store_words(codes + 32, b + 4);
    } else {
        for (int k = 0; k < 8; k += 2) store_bytes(codes + 16 * k, b[k], b[k + 1]);
    }
}

INLINE int packed(const uint16_t *x, int64_t rows, int64_t columns, uint32_t half, uint8_t *codes, uint16_t *scales, tally *t) {
    IEEE;
    words largest = all(0);
    for (int64_t i = 0; i < rows * (columns / 128); i++, x += 128, codes += half == 8 ? 64 : 128) {
        uint32_t amax = hubrelease_amax(x, 128);
        if (amax >= INFINITE) return NOT_FINITE;
        uint32_t scale = one_to_bf16(number(amax << 16) / ((float)half - 0.5f));
        scale = scale ? scale : 0x3c000000u; /* BF16's epsilon, 2^-7 */
        scales[i] = (uint16_t)(scale >> 16);
        measure m = nothing(largest);
        words b[8];
        for (int k = 0; k < 8; k++) {
            b[k] = integers(x + 16 * k, every(number(scale)), half, &m);
            if (k % 4 == 3) settle(&m); /* four pairs of squares up to 2^28 */
        }
        store_integers(codes, b, half);
        add(t, &m, number(scale));
        largest = m.largest;
    }
    add_largest(t, largest);
    return FINE;
}

API int hubrelease_int8(const uint16_t *x, int64_t rows, int64_t columns, uint8_t *codes, uint16_t *scales, tally *t) {
    return packed(x, rows, columns, 128, codes, scales, t);
}

API int hubrelease_int4(const uint16_t *x, int64_t rows, int64_t columns, uint8_t *codes, uint16_t *scales, tally *t) {
    return packed(x, rows, columns, 8, codes, scales, t);
}
