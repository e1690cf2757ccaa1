#include "CKernelChecks.h"

void burnish_network_float_layer(float *out, const float *in, int width, int height, int inputs, int outputs,
                                 const float *weights, const float *bias, int rectify) {
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int o = 0; o < outputs; o++) {
                float sum = bias[o];
                for (int ky = 0; ky < 3; ky++) {
                    const float *at = in + ((y + ky) * (width + 2) + x) * inputs;
                    const float *w = weights + (o * 3 + ky) * 3 * inputs;
                    for (int i = 0; i < 3 * inputs; i++) sum += at[i] * w[i];
                }
                out[(y * width + x) * outputs + o] = rectify && sum < 0 ? 0 : sum;
            }
}
