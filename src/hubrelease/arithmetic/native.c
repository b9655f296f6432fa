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

/* Squares of errors and of source numbers as whole numbers, so that their sums are exact and no order of adding
   matters; one bin for each power of two of a scale. `lowest` and `highest` are the bins in use.                       */
typedef struct {
    uint64_t errors[256], sources[256];
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

INLINE words add_squares(words sum, words even, words odd) { /* of the low halves, each under 2^15 */
#if AVX2
    __m256i x = _mm256_blend_epi16((__m256i)even, (__m256i)(odd << 16), 0xaa);
    return sum + (words)_mm256_madd_epi16(x, x);
#else
    even &= 0xffffu, odd &= 0xffffu;
    return sum + even * even + odd * odd;
#endif
}

INLINE void store_halves(uint8_t *out, words a, words b) { /* the low halves of sixteen words */
#if AVX2
    __m256i x = _mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)a, (__m256i)b), 0xd8);
    memcpy(out, &x, 32);
#else
    uint16_t x[16];
    for (int i = 0; i < 8; i++) x[i] = (uint16_t)a[i], x[i + 8] = (uint16_t)b[i];
    memcpy(out, x, 32);
#endif
}

INLINE void store_bytes(uint8_t *out, words a, words b, words c, words d) { /* the low bytes of 32 words */
    uint8_t halfway[64];
    store_halves(halfway, a, b);
    store_halves(halfway + 32, c, d);
#if AVX2
    __m256i x = _mm256_packus_epi16((__m256i)load(halfway), (__m256i)load(halfway + 32));
    x = _mm256_permute4x64_epi64(x, 0xd8);
    memcpy(out, &x, 32);
#else
    for (int i = 0; i < 32; i++) out[i] = halfway[2 * i];
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

/* Plus 2^23, which rounds to a whole number and leaves it in the low bits. */
INLINE floats whole(floats x) { return x + 8388608.0f; }

/* ------------------------------------------------------------------------------------------------------- the tally */

/* What is under way: factors that turn an error in steps, and a source number, into whole numbers; their squares,
   in lanes of 32 bits that `settle` empties before they can run over.                                                  */
typedef struct {
    floats error, source;
    words errors, sources, largest;
    longs settled_errors, settled_sources;
} measure;

/* A scale's bin. Scales under 2^-119 count with that exponent, so that factors stay finite; their numbers are too small
   to show in the sums.                                                                                                 */
INLINE uint32_t bin_of(float scale) { return bits_of(scale) >> 23 > 8 ? bits_of(scale) >> 23 : 8; }

INLINE float error_factor(float scale, uint32_t bin, int bits) { return scale * number((uint32_t)(254 - (int)bin + bits) << 23); }

INLINE void begin(measure *m, float scale, uint32_t bin, int error_bits, int source_bits) {
    m->error = every(error_factor(scale, bin, error_bits));
    m->source = every(number((uint32_t)(254 - (int)bin + source_bits) << 23));
    m->errors = m->sources = all(0);
    m->settled_errors = m->settled_sources = (longs){0, 0, 0, 0};
}

INLINE longs widened(words x) { return ((longs)x & 0xffffffffu) + ((longs)x >> 32); }

INLINE void settle(measure *m) {
    m->settled_errors += widened(m->errors);
    m->settled_sources += widened(m->sources);
    m->errors = m->sources = all(0);
}

INLINE void add(tally *t, const measure *m, uint32_t bin) {
    for (int i = 0; i < 4; i++) t->errors[bin] += m->settled_errors[i], t->sources[bin] += m->settled_sources[i];
    t->lowest = bin < t->lowest ? bin : t->lowest;
    t->highest = bin > t->highest ? bin : t->highest;
}

INLINE void add_largest(tally *t, words largest) {
    for (int i = 0; i < 8; i++) t->largest = largest[i] > t->largest ? largest[i] : t->largest;
}

/* Error and source of eight columns, as whole numbers in the low bits. */
INLINE void note(measure *m, words source, words quotient, floats value, words *error, words *square) {
    words off = (words)((floats)quotient - value) & 0x7fffffffu;
    m->largest = larger(m->largest, off);
    *error = (words)whole((floats)off * m->error);
    *square = (words)whole((floats)source * m->source);
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

/* ----------------------------------------------------------------------------------------------- FP8: one code a byte */

/* Two codes a word: even column below odd, each with its number's sign. */
INLINE words fp8_pair(words even, words odd, words source) {
    return (even & 0x7fu) | ((odd & 0x7fu) << 8) | ((source >> 8) & 0x80u) | ((source >> 16) & 0x8000u);
}

/* transformers: times a factor, in binary32. */
INLINE words times(words x, floats factor, measure *m) {
    words plain = x & 0x7fff7fffu, even = plain << 16, odd = plain & 0xffff0000u, e[2], s[2];
    floats value;
    words v = (words)((floats)even * factor);
    words low = narrow(v, E4M3, &value);
    note(m, even, v, value, &e[0], &s[0]);
    v = (words)((floats)odd * factor);
    words high = narrow(v, E4M3, &value);
    note(m, odd, v, value, &e[1], &s[1]);
    m->errors = add_squares(m->errors, e[0], e[1]);
    m->sources = add_squares(m->sources, s[0], s[1]);
    return fp8_pair(low, high, x);
}

/* compressed-tensors: by a scale, the quotient rounded to BF16, clamped, rounded again. */
INLINE words fp8_quotient(words w, floats scale, measure *m, words *error, words *square) {
    floats value;
    words v = (words)((floats)w / scale);
    words code = narrow(smaller(to_bf16(v), all(0x43e00000u)), E4M3, &value); /* 448 */
    note(m, w, v, value, error, square);
    return code;
}

INLINE words over(words x, floats scale, measure *m) {
    words plain = x & 0x7fff7fffu, e[2], s[2];
    words low = fp8_quotient(plain << 16, scale, m, &e[0], &s[0]);
    words high = fp8_quotient(plain & 0xffff0000u, scale, m, &e[1], &s[1]);
    m->errors = add_squares(m->errors, e[0], e[1]);
    m->sources = add_squares(m->sources, s[0], s[1]);
    return fp8_pair(low, high, x);
}

#define FP8_BITS 9, 4 /* an error is at most 16 * 2 * 2^9 = 2^14, a source number 448 * 2 * 2^4: both under 2^15; */
                      /* four pairs of squares fit a lane, so settle every 64 columns                              */

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
            store_halves(codes + i, low, high);
            if (i % 64) settle(m);
        }
}

/* rows and columns are multiples of 128; one binary32 scale a block of 128 x 128. */
API int hubrelease_fp8_block(const uint16_t *x, int64_t rows, int64_t columns, uint8_t *codes, float *scales, tally *t) {
    IEEE;
    measure m = {.largest = all(0)};
    for (int64_t r = 0; r < rows; r += 128)
        for (int64_t c = 0; c < columns; c += 128, scales++) {
            ptrdiff_t at = r * columns + c;
            uint32_t amax = block_amax(x + at, columns);
            if (amax >= INFINITE) return NOT_FINITE;
            float factor = (1.0f / number(amax << 16)) * 448.0f; /* as `448.0 / tensor` in torch: two roundings */
            int empty = bits_of(factor) >= 0x7f800000u;          /* of zeros, or so small that the factor runs over */
            *scales = empty ? 1.0f : 1.0f / factor;
            begin(&m, *scales, bin_of(*scales), FP8_BITS);
            block(x + at, columns, empty ? 0.0f : factor, codes + at, &m);
            add(t, &m, bin_of(*scales));
        }
    add_largest(t, m.largest);
    return FINE;
}

INLINE void channel(const uint16_t *x, ptrdiff_t columns, float scale, uint8_t *codes, measure *m) {
    floats s = every(scale);
    ptrdiff_t i = 0;
    for (; i + 32 <= columns; i += 32) {
        words low = over(load(x + i), s, m), high = over(load(x + i + 16), s, m);
        store_halves(codes + i, low, high);
        if (i % 64) settle(m);
    }
    if (i < columns) { /* zeros fill up the last 32 columns; they add nothing to the tally */
        uint16_t rest[32] = {0};
        uint8_t last[32];
        memcpy(rest, x + i, (size_t)(columns - i) * 2);
        words low = over(load(rest), s, m), high = over(load(rest + 16), s, m);
        store_halves(last, low, high);
        memcpy(codes + i, last, (size_t)(columns - i));
    }
    settle(m);
}

/* One BF16 scale a row. */
API int hubrelease_fp8_channel(const uint16_t *x, int64_t rows, int64_t columns, uint8_t *codes, uint16_t *scales, tally *t) {
    IEEE;
    measure m = {.largest = all(0)};
    for (int64_t r = 0; r < rows; r++, x += columns, codes += columns) {
        uint32_t amax = hubrelease_amax(x, columns);
        if (amax >= INFINITE) return NOT_FINITE;
        uint32_t scale = one_to_bf16(number(amax << 16) / 448.0f);
        scale = scale ? scale : 0x3c000000u; /* BF16's epsilon, 2^-7 */
        scales[r] = (uint16_t)(scale >> 16);
        begin(&m, number(scale), bin_of(number(scale)), FP8_BITS);
        channel(x, columns, number(scale), codes, &m);
        add(t, &m, bin_of(number(scale)));
    }
    add_largest(t, m.largest);
    return FINE;
}

/* ------------------------------------------------------------------------------- NVFP4: groups of 16, two codes a byte */

#define RUN 64 /* groups whose scales are found together and whose squares share a bin */
#define NVFP4_BITS 11, 9 /* errors under 3.2 * 2 * 2^11, sources under 9.6 * 2 * 2^9 (scales that are subnormal in E4M3 */
                         /* are off by up to half); eight groups fit a lane                                             */

typedef struct {
    uint32_t amax[RUN];  /* bits of binary32 numbers */
    float step[RUN];     /* what a group's numbers are divided by */
    float error[RUN];    /* factors of errors, see measure */
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

INLINE words nibble(words w, floats step, measure *m, words *error, words *square, words *marked) {
    floats value;
    words v = (words)((floats)w / step);
    words code = narrow(smaller(v, all(0x40c00000u)), E2M1, &value) & 7u; /* 6 */
    note(m, w, v, value, error, square);
    *marked = (words)((ints)v > (ints)all(0)); /* the sign is the quotient's: one that underflowed to zero has none */
    return code;
}

INLINE words group(const uint16_t *from, float step, float error, measure *m) { /* eight bytes of codes, one a word */
    words x = load(from), plain = x & 0x7fff7fffu, e[2], s[2], signs[2];
    m->error = every(error);
    words low = nibble(plain << 16, every(step), m, &e[0], &s[0], &signs[0]);
    words high = nibble(plain & 0xffff0000u, every(step), m, &e[1], &s[1], &signs[1]);
    m->errors = add_squares(m->errors, e[0], e[1]);
    m->sources = add_squares(m->sources, s[0], s[1]);
    return low | (high << 4) | (signs[0] & (x >> 12) & 8u) | (signs[1] & (x >> 24) & 0x80u);
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
        for (int k = 0; k < 4; k++) b[k] = group(x + 16 * (i + k), g->step[i + k], g->error[i + k], m);
        store_bytes(codes + 8 * i, b[0], b[1], b[2], b[3]);
        settle(m);
    }
    for (; i < groups; i++) {
        words b = group(x + 16 * i, g->step[i], g->error[i], m);
        for (int k = 0; k < 8; k++) codes[8 * i + k] = (uint8_t)b[k];
        settle(m);
    }
}

INLINE int nvfp4(const uint16_t *x, int64_t rows, int64_t columns, float shared, float most, int divides, uint8_t *codes, uint8_t *scales, tally *t) {
    IEEE;
    measure m = {.largest = all(0)};
    uint32_t limit = bits_of(most) >> 16;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t left = columns / 16; left > 0; left -= RUN) {
            run g;
            int groups = left < RUN ? (int)left : RUN;
            uint32_t amax;
            float largest = run_scales(&g, x, groups, shared, divides, &amax, scales);
            if (amax >= INFINITE) return NOT_FINITE;
            if (amax > limit) return ABOVE_SHARED;
            uint32_t bin = bin_of(largest);
            begin(&m, largest, bin, NVFP4_BITS);
            for (int i = 0; i < groups; i++) g.error[i] = error_factor(g.step[i], bin, 11);
            run_codes(&g, x, groups, codes, &m);
            add(t, &m, bin);
            x += 16 * groups, codes += 8 * groups, scales += groups;
        }
    add_largest(t, m.largest);
    return FINE;
}

/* `most` is the largest magnitude in the set that shares the global scale `shared`. */
API int hubrelease_nvfp4_divisor(const uint16_t *x, int64_t rows, int64_t columns, float shared, float most, uint8_t *codes, uint8_t *scales, tally *t) {
    return nvfp4(x, rows, columns, shared, most, 1, codes, scales, t);
}

API int hubrelease_nvfp4_multiplier(const uint16_t *x, int64_t rows, int64_t columns, float shared, float most, uint8_t *codes, uint8_t *scales, tally *t) {
    return nvfp4(x, rows, columns, shared, most, 0, codes, scales, t);
}

/* ---------------------------------------------------------------- integers: groups of 128, offset by half their range */

INLINE words integer(words w, words sign, floats scale, uint32_t half, measure *m, words *error, words *square) {
    words v = (words)((floats)w / scale);
    words n = (words)whole((floats)to_bf16(v)) - 0x4b000000u;
    n = smaller(n, all(half - 1) - sign); /* sign is 0 or all ones: one more fits below zero */
    note(m, w, v, (floats)(n + 0x4b000000u) - 8388608.0f, error, square);
    return ((n ^ sign) - sign) + half;
}

INLINE words integers(const uint16_t *from, floats scale, uint32_t half, measure *m) {
    words x = load(from), plain = x & 0x7fff7fffu, e[2], s[2];
    words low = integer(plain << 16, (words)((ints)(x << 16) >> 31), scale, half, m, &e[0], &s[0]);
    words high = integer(plain & 0xffff0000u, (words)((ints)x >> 31), scale, half, m, &e[1], &s[1]);
    m->errors = add_squares(m->errors, e[0], e[1]);
    m->sources = add_squares(m->sources, s[0], s[1]);
    return low | (high << (half == 8 ? 4 : 8));
}

INLINE int packed(const uint16_t *x, int64_t rows, int64_t columns, uint32_t half, uint8_t *codes, uint16_t *scales, tally *t) {
    IEEE;
    measure m = {.largest = all(0)};
    for (int64_t i = 0; i < rows * (columns / 128); i++, x += 128) {
        uint32_t amax = hubrelease_amax(x, 128);
        if (amax >= INFINITE) return NOT_FINITE;
        uint32_t scale = one_to_bf16(number(amax << 16) / ((float)half - 0.5f));
        scale = scale ? scale : 0x3c000000u; /* BF16's epsilon, 2^-7 */
        scales[i] = (uint16_t)(scale >> 16);
        begin(&m, number(scale), bin_of(number(scale)), 12, half == 8 ? 9 : 5);
        words b[8];
        for (int k = 0; k < 8; k++) {
            b[k] = integers(x + 16 * k, every(number(scale)), half, &m);
            if (k % 4 == 3) settle(&m); /* squares under 2^28, two a lane and vector */
        }
        if (half == 8) store_bytes(codes, b[0], b[1], b[2], b[3]), store_bytes(codes + 32, b[4], b[5], b[6], b[7]), codes += 64;
        else for (int k = 0; k < 8; k += 2, codes += 32) store_halves(codes, b[k], b[k + 1]);
        add(t, &m, bin_of(number(scale)));
    }
    add_largest(t, m.largest);
    return FINE;
}

API int hubrelease_int8(const uint16_t *x, int64_t rows, int64_t columns, uint8_t *codes, uint16_t *scales, tally *t) {
    return packed(x, rows, columns, 128, codes, scales, t);
}

API int hubrelease_int4(const uint16_t *x, int64_t rows, int64_t columns, uint8_t *codes, uint16_t *scales, tally *t) {
    return packed(x, rows, columns, 8, codes, scales, t);
}
