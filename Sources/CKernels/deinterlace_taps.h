// The filters across rows in 1/32768: W3FDIF's, which are in 1/8192.
#pragma once

enum {
    /// From the kept field alone: 1 row and 3 rows away.
    TAP_ALONE_1 = 4 * 5077,
    TAP_ALONE_3 = 4 * 981,
    /// The low frequencies from the kept field.
    TAP_KEPT_1 = 4 * 4309,
    TAP_KEPT_3 = 4 * 213,
    /// The high frequencies from the missing row's own field at two moments: 0, 2 and 4 rows away.
    TAP_NEAR_0 = 5570,
    TAP_NEAR_2 = 3801,
    TAP_NEAR_4 = 1016,
};
