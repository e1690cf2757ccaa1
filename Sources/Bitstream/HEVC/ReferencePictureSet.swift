/// A short-term reference picture set (ITU-T H.265, 7.3.7 and 7.4.8), as far as the sizes of later fields depend on it.
struct ReferencePictureSet: Sendable {
    /// How many of each kind a set may have.
    static let limit = 16

    /// Distances in display order to pictures that are shown before (negative), the nearest first, then to those after.
    private var distances = InlineArray<32, Int32>(repeating: 0)
    private var isUsed: UInt32 = 0
    private var beforeCount = 0
    private(set) var count = 0

    /// How many of its pictures the present one may refer to.
    var usedCount: Int { isUsed.nonzeroBitCount }

    init() {}

    /// Reads a set.
    /// - Parameters:
    ///   - index: its place among the sequence's sets; their number for one in a slice header.
    ///   - known: the sequence's sets so far.
    /// - Returns: nil where it makes no sense.
    init?(_ r: inout RBSPReader, index: Int, known: [ReferencePictureSet], isInSlice: Bool) {
        if index > 0, r.flag() {
            let back = isInSlice ? r.unsigned() + 1 : 1
            guard back <= index else { return nil }
            let sign = r.bit()
            let size = r.unsigned() + 1
            guard size <= 1 << 15 else { return nil }
            self.init(&r, known[index - back], shift: Int32(sign == 1 ? -size : size))
        } else {
            self.init()
            let (before, after) = (r.unsigned(), r.unsigned())
            guard before <= Self.limit, after <= Self.limit, !r.isExhausted else { return nil }
            for sign in [Int32(-1), 1] {
                var distance: Int32 = 0
                for _ in 0..<(sign < 0 ? before : after) {
                    let step = r.unsigned() + 1
                    guard step <= 1 << 15 else { return nil }
                    distance += sign * Int32(step)
                    append(distance, isUsed: r.flag())
                }
                if sign < 0 { beforeCount = count }
            }
        }
        if r.isExhausted { return nil }
    }

    /// Reads a set that is predicted from another (7-61 and 7-62).
    private init(_ r: inout RBSPReader, _ other: ReferencePictureSet, shift: Int32) {
        self.init()
        // The entry behind the others stands for the other set's own picture.
        var used: UInt64 = 0
        var kept: UInt64 = 0
        for j in 0...other.count {
            let isUsed = r.flag()
            if isUsed { used |= 1 << UInt64(j) }
            if isUsed || r.flag() { kept |= 1 << UInt64(j) }
        }
        func add(_ j: Int, _ set: inout ReferencePictureSet, before: Bool) {
            let distance = (j < other.count ? other.distances[j] : 0) + shift
            guard before ? distance < 0 : distance > 0, kept >> UInt64(j) & 1 == 1 else { return }
            set.append(distance, isUsed: used >> UInt64(j) & 1 == 1)
        }
        for j in (other.beforeCount..<other.count).reversed() { add(j, &self, before: true) }
        add(other.count, &self, before: true)
        for j in 0..<other.beforeCount { add(j, &self, before: true) }
        beforeCount = count
        for j in (0..<other.beforeCount).reversed() { add(j, &self, before: false) }
        add(other.count, &self, before: false)
        for j in other.beforeCount..<other.count { add(j, &self, before: false) }
    }

    private mutating func append(_ distance: Int32, isUsed used: Bool) {
        guard count < 32 else { return }
        distances[count] = distance
        if used { isUsed |= 1 << UInt32(count) }
        count += 1
    }
}
