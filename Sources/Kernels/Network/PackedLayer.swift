import CKernels

/// A layer's weights in the layout that the kernels read (CKernels/include/network.h). Immutable.
@safe package final class PackedLayer {
    /// Steps of one group of outputs, and how many groups of four outputs there are.
    let steps: Int
    let groups: Int
    private let shift: Int
    private let weights: UnsafeMutablePointer<Int8>
    private let tapWeights: UnsafeMutablePointer<Int8>
    private let tileWeights: UnsafeMutablePointer<Int8>?
    private let order: UnsafeMutablePointer<UInt8>
    private let runs: UnsafeMutablePointer<UInt8>
    private let bias: UnsafeMutablePointer<Int32>
    private let multipliers: UnsafeMutablePointer<Int16>
    private let narrow: UnsafeMutablePointer<UInt8>

    /// - Parameters:
    ///   - hasOneInput: whether it is a first layer with one channel.
    ///   - hasTiles: whether to make `tile_weights`. Only layers between the first and the last may have them.
    package init(_ layer: NetworkFile.Layer, hasOneInput: Bool, hasTiles: Bool, buckets: Int) {
        let inputGroups = (layer.inputs + 3) / 4
        let steps = hasOneInput ? 3 : 9 * inputGroups
        let groups = (layer.outputs + 3) / 4
        self.steps = steps
        self.groups = groups
        shift = layer.shift
        unsafe weights = .allocate(capacity: groups * steps * 16)
        unsafe tapWeights = .allocate(capacity: groups * steps * 16)
        unsafe order = .allocate(capacity: groups * steps)
        unsafe runs = .allocate(capacity: groups * (steps + 1))
        unsafe bias = .allocate(capacity: buckets * groups * 4)
        unsafe multipliers = .allocate(capacity: buckets * groups * 16)
        unsafe narrow = .allocate(capacity: buckets * groups)

        /// The weight of byte k at a tap: a row of three neighbours of one channel, else one of four channels.
        func weight(_ output: Int, tap: Int, _ k: Int) -> Int8 {
            guard output < layer.outputs else { return 0 }
            if hasOneInput { return k < 3 ? layer.weight(output, tap, k, 0) : 0 }
            let (row, inputGroup, column) = (tap / 3 / inputGroups, tap / 3 % inputGroups, tap % 3)
            let channel = 4 * inputGroup + k
            return channel < layer.inputs ? layer.weight(output, row, column, channel) : 0
        }

        let tiles =
            hasTiles
            ? TileDivision(inputGroups: inputGroups, groups: groups).weights(
                inputGroups: inputGroups, groups: groups, weight) : []
        unsafe tileWeights = tiles.isEmpty ? nil : .allocate(capacity: tiles.count)
        for (i, value) in tiles.enumerated() { unsafe tileWeights![i] = value }

        unsafe runs.initialize(repeating: 0, count: groups * (steps + 1))
        for group in 0..<groups {
            let blocks = (0..<steps).map { tap in
                (0..<16).map { weight(4 * group + $0 / 4, tap: tap, $0 % 4) }
            }
            for (tap, block) in blocks.enumerated() {
                for (i, value) in block.enumerated() { unsafe tapWeights[(group * steps + tap) * 16 + i] = value }
            }
            let packed = Self.runs(of: blocks)
            var step = group * steps
            for (r, run) in packed.enumerated() {
                unsafe runs[group * (steps + 1) + r] = UInt8(run.count)
                for tap in run {
                    unsafe order[step] = UInt8(tap)
                    for (i, value) in blocks[tap].enumerated() { unsafe weights[step * 16 + i] = value }
                    step += 1
                }
            }
        }
        for bucket in 0..<buckets {
            for output in 0..<groups * 4 {
                let exists = output < layer.outputs
                let at = bucket * groups * 4 + output
                unsafe bias[at] = exists ? layer.bias[bucket * layer.outputs + output] : 0
                let multiplier = exists ? layer.multipliers[bucket * layer.outputs + output] : 1
                for k in 0..<4 { unsafe multipliers[4 * at + k] = multiplier }
            }
            for group in 0..<groups {
                let allowed = (4 * group..<4 * group + 4).allSatisfy { output in
                    guard output < layer.outputs else { return true }
                    let weights = (0..<steps).flatMap { tap in (0..<4).map { Int(weight(output, tap: tap, $0)) } }
                    let at = bucket * layer.outputs + output
                    return Self.isNarrow(
                        largestSum: weights.reduce(Int(layer.bias[at])) { $0 + 255 * max($1, 0) }, shift: shift,
                        multiplier: Int(layer.multipliers[at]))
                }
                unsafe narrow[bucket * groups + group] = allowed ? 1 : 0
            }
        }
    }

    deinit {
        unsafe narrow.deallocate()
        unsafe multipliers.deallocate()
        unsafe bias.deallocate()
        unsafe runs.deallocate()
        unsafe order.deallocate()
        unsafe tileWeights?.deallocate()
        unsafe tapWeights.deallocate()
        unsafe weights.deallocate()
    }

    /// The C struct for a bucket. It points into this object.
    @unsafe package func fixed(bucket: Int) -> burnish_network_layer {
        unsafe burnish_network_layer(
            steps: Int32(steps), groups: Int32(groups), shift: Int32(shift), weights: UnsafePointer(weights),
            order: UnsafePointer(order), runs: UnsafePointer(runs), tap_weights: UnsafePointer(tapWeights),
            tile_weights: UnsafePointer(tileWeights),
            bias: UnsafePointer(bias + bucket * groups * 4),
            mult: UnsafePointer(multipliers + bucket * groups * 16),
            narrow: UnsafePointer(narrow + bucket * groups))
    }

    /// Whether an output that is clamped to bytes stays the same when its sums are first clamped to 0 ... 65535.
    ///
    /// Sums below 0 give 0 either way, because multipliers are positive. Larger sums than 65535 must be impossible, or
    /// 65535 must already give 255. And the shifted sum must fit 15 bits, because the multiplication reads it as
    /// signed.
    static func isNarrow(largestSum: Int, shift: Int, multiplier: Int) -> Bool {
        let top = min(largestSum, 65535)
        if top >> shift > 32767 { return false }
        return largestSum <= 65535 || ((top >> shift) * multiplier + 16384) >> 15 >= 255
    }

    /// Sorts the steps into runs whose sums stay in 16 bits: each 16-bit lane adds products of two bytes a step, up
    /// to 255 each, so within a run a lane's positive weights may sum to 128, and its negative ones to −128. First
    /// fit, the steps with the largest weights first; the fewer runs, the less widening.
    private static func runs(of blocks: [[Int8]]) -> [[Int]] {
        let limit = 128
        /// Positive and negative sums of each lane: an output's first or second pair of inputs.
        let loads = blocks.map { block in
            (0..<8).flatMap { lane in
                let pair = [Int(block[2 * lane]), Int(block[2 * lane + 1])]
                return [pair.reduce(0) { $0 + max($1, 0) }, pair.reduce(0) { $0 - min($1, 0) }]
            }
        }
        var runs: [(steps: [Int], load: [Int])] = []
        for step in blocks.indices.sorted(by: { loads[$0].max()! > loads[$1].max()! }) {
            let fitting = runs.firstIndex { run in
                zip(run.load, loads[step]).allSatisfy { $0 + $1 <= limit }
            }
            if let fitting {
                runs[fitting].steps.append(step)
                runs[fitting].load = zip(runs[fitting].load, loads[step]).map(+)
            } else {
                runs.append(([step], loads[step]))
            }
        }
        return runs.map(\.steps)
    }
}
