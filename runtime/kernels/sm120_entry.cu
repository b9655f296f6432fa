// The SM120 block-FP8 GEMM of FlashInfer behind a C interface that says what happened.
//
// D (M x N, BF16) = A (M x K, E4M3, scale per row and 128 of K) x B (N x K, E4M3, scale per 128 x 128)^T.
// FlashInfer's own wrapper drops the launcher's status, so a shape that the kernel refuses leaves D as it was and nobody
// knows. Here every refusal is a number: 0 is done, 1 to 15 are ours (below), from 16 on it is 16 + the cudaError_t.
// Built for the compute_120f family, so one binary serves 12.0 and 12.1; see build_sm120.sh. Needs only libstdc++ and libc.

#include <cstdint>

#include <cuda_runtime.h>

#include <flashinfer/gemm/gemm_groupwise_sm120.cuh>

namespace {

enum Refusal { kDone = 0, kEmpty = 1, kColumns = 2, kDepth = 3, kPointer = 4, kNull = 5, kSize = 6 };

bool misaligned(const void* p) { return (reinterpret_cast<std::uintptr_t>(p) & 15u) != 0; }

int shape_refusal(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (m <= 0 || n <= 0 || k <= 0) return kEmpty;
  if (n % 128 != 0) return kColumns;  // CUTLASS ties N to the scale's granularity
  if (k % 128 != 0) return kDepth;
  if (m > INT32_MAX || n > INT32_MAX || k > INT32_MAX) return kSize;
  return kDone;
}

}  // namespace

#define HR_EXPORT extern "C" __attribute__((visibility("default")))

HR_EXPORT int hr_sm120_fp8_abi() { return 1; }

HR_EXPORT int hr_sm120_fp8_can_implement(const void* a, const void* b, const void* d, std::int64_t m, std::int64_t n,
                                         std::int64_t k) {
  if (int refused = shape_refusal(m, n, k)) return refused;
  return misaligned(a) || misaligned(b) || misaligned(d) ? kPointer : kDone;
}

// Scales are FP32 and K-major: a_scale (M, K/128), b_scale (N/128, K/128), both contiguous.
HR_EXPORT int hr_sm120_fp8_gemm(void* workspace, std::int64_t workspace_bytes, void* a, void* b, float* a_scale,
                                float* b_scale, void* d, std::int64_t m, std::int64_t n, std::int64_t k, void* stream) {
  if (a == nullptr || b == nullptr || a_scale == nullptr || b_scale == nullptr || d == nullptr) return kNull;
  if (int refused = hr_sm120_fp8_can_implement(a, b, d, m, n, k)) return refused;
  cudaError_t status =
      flashinfer::gemm::CutlassGroupwiseScaledGEMMSM120<1, 128, 128, true, cutlass::float_e4m3_t, cutlass::bfloat16_t>(
          workspace, static_cast<std::size_t>(workspace_bytes), static_cast<cutlass::float_e4m3_t*>(a),
          static_cast<cutlass::float_e4m3_t*>(b), a_scale, b_scale, static_cast<cutlass::bfloat16_t*>(d),
          static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), 1, static_cast<cudaStream_t>(stream));
  return status == cudaSuccess ? kDone : 16 + static_cast<int>(status);
}
