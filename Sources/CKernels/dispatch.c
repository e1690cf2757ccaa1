#include "CKernels.h"
#include "families.h"

void burnish_kernels_init(burnish_kernels *table, uint32_t features) {
    table->features = features;
    burnish_scale_init_scalar(&table->scale);
    burnish_motion_init_scalar(&table->motion);
    burnish_network_init_scalar(&table->network);
    burnish_sharpen_init_scalar(&table->sharpen);
    burnish_color_init_scalar(&table->color);
    burnish_deinterlace_init_scalar(&table->deinterlace);
    burnish_noise_init_scalar(&table->noise);
    burnish_fusion_init_scalar(&table->fusion);
    burnish_overlay_init_scalar(&table->overlay);
#if defined(__x86_64__)
    if (features & BURNISH_CPU_AVX2) {
        burnish_scale_init_avx2(&table->scale);
        burnish_motion_init_avx2(&table->motion);
        burnish_network_init_avx2(&table->network);
        burnish_sharpen_init_avx2(&table->sharpen);
        burnish_color_init_avx2(&table->color);
        burnish_deinterlace_init_avx2(&table->deinterlace);
        burnish_noise_init_avx2(&table->noise);
        burnish_fusion_init_avx2(&table->fusion);
        burnish_overlay_init_avx2(&table->overlay);
    }
    if (features & BURNISH_CPU_AVX512) {
        burnish_scale_init_avx512(&table->scale);
        burnish_network_init_avx512(&table->network);
        burnish_fusion_init_avx512(&table->fusion);
    }
#elif defined(__aarch64__)
    if (features & BURNISH_CPU_NEON) {
        burnish_scale_init_neon(&table->scale);
        burnish_network_init_neon(&table->network);
        burnish_sharpen_init_neon(&table->sharpen);
        burnish_fusion_init_neon(&table->fusion);
    }
#endif
    table->tiled_network = table->network;
#if defined(__x86_64__)
    if (features & BURNISH_CPU_AMX) burnish_network_init_amx(&table->tiled_network);
#endif
}
