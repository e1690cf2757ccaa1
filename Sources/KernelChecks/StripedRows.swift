// The order of pixels that the `striped` network kernels need (CKernels/include/network.h), by its definition. A pixel
// has four bytes.

/// Copies a row of `width` pixels into stripes, with the two extra vectors at the end.
@unsafe func copyIntoStripes(_ row: UnsafePointer<UInt8>, into striped: UnsafeMutablePointer<UInt8>, width: Int) {
    let vectors = (width + 15) / 16
    for vector in 0..<vectors + 2 {
        for lane in 0..<16 {
            for k in 0..<4 {
                unsafe striped[64 * vector + 4 * lane + k] = row[4 * (lane * vectors + vector) + k]
            }
        }
    }
}

extension CheckMemory {
    /// Brings rows of `width` pixels from stripes back into their order.
    func removeStripes(width: Int) {
        let vectors = (width + 15) / 16
        for y in 0..<height {
            let row = unsafe row(y)
            let striped = (0..<64 * vectors).map { unsafe row[$0] }
            for vector in 0..<vectors {
                for lane in 0..<16 {
                    for k in 0..<4 {
                        unsafe row[4 * (lane * vectors + vector) + k] = striped[64 * vector + 4 * lane + k]
                    }
                }
            }
        }
    }
}
