/// How the kernels for matrix units divide a layer: its outputs into bands of at most 16, the inputs of one column of its
/// kernel, 3 rows of groups of four, into pieces of at most 16 groups (CKernels/network_amx.c).
struct TileDivision {
    let bands: Int
    /// Outputs of a band. The last band may have fewer, and is filled up.
    let outputs: Int
    let pieces: Int
    /// Groups of four inputs in a piece.
    let inputs: Int

    init(inputGroups: Int, groups: Int) {
        bands = (groups + 3) / 4
        outputs = (4 * groups + bands - 1) / bands
        pieces = 3 * inputGroups > 16 ? 2 : 1
        inputs = 3 * inputGroups / pieces
    }

    /// Whether tiles are full enough to be faster than vectors. Layers of eight channels leave too much of them empty.
    static func suits(inputs: Int, outputs: Int) -> Bool { inputs == outputs && [16, 32, 40].contains(inputs) }

    /// `tile_weights` of CKernels/include/network.h.
    /// - Parameter weight: of an output, at a tap, of one of four inputs.
    func weights(inputGroups: Int, groups: Int, _ weight: (_ output: Int, _ tap: Int, _ input: Int) -> Int8) -> [Int8] {
        var all: [Int8] = []
        all.reserveCapacity(18 * pieces * bands * outputs * 64)
        for direction in [1, -1] {
            for place in 0..<3 {
                for column in 0..<3 {
                    for piece in 0..<pieces {
                        for output in 0..<bands * outputs {
                            for group in piece * inputs..<(piece + 1) * inputs {
                                // The row above the pixel is the ring's `place`-th, and the others follow or precede it.
                                let row = (direction * (group / inputGroups - place) + 3) % 3
                                let tap = (row * inputGroups + group % inputGroups) * 3 + column
                                for k in 0..<4 { all.append(output < 4 * groups ? weight(output, tap, k) : 0) }
                            }
                            all.append(contentsOf: repeatElement(0, count: 64 - 4 * inputs))
                        }
                    }
                }
            }
        }
        return all
    }
}
