#include "CKernels.h"
#include "families.h"

void burnish_kernels_init(burnish_kernels *table, uint32_t features) {
    table->features = features;
    burnish_scale_init_scalar(&table->scale);
#if defined(__x86_64__)
    if (features & BURNISH_CPU_AVX2) {
        burnish_scale_init_avx2(&table->scale);
    }
    if (features & BURNISH_CPU_AVX512) {
        // Families with AVX-512 versions come here.
    }
#endif
}
