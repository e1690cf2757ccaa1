import Media

/// What a picture that is encoded is to its stream.
public enum EncodeKind: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    /// It came, or was synthesised in place of one that did.
    case came
    /// It was synthesised beside those.
    case synthesised
    /// It was shown before.
    case repeated
}

/// What encoding takes of each kind of picture apart, and how often each kind is encoded. The choice of the output counts with it
/// (``OutputLadder``). The scheduler's own estimate (``Work/encode``) is one for all that are not repeated.
///
/// A value; no call allocates.
public struct EncodeCosts: Sendable, BitwiseCopyable {
    /// Of one kind. The estimates follow as those of ``CostModel`` do.
    public struct Entry: Sendable, BitwiseCopyable {
        /// Nanoseconds of one picture.
        public fileprivate(set) var mean = 0.0
        public fileprivate(set) var low = 0.0
        /// Pictures in a nanosecond.
        public fileprivate(set) var rate = 0.0
        fileprivate var observations: Int32 = 0
        /// Pictures since the rate was learnt.
        fileprivate var count: Int32 = 0

        public var isObserved: Bool { observations > 0 }

        fileprivate mutating func observe(_ cost: Nanoseconds) {
            var x = max(Double(cost.count), CostModel.floor)
            if observations > 0 { x = min(x, mean * CostModel.largestRatio) }
            let warmUp = observations < 16 ? 1 / Double(observations + 1) : 0
            if observations < 16 { observations += 1 }
            count += 1
            mean += (x - mean) * max(warmUp, x > mean ? CostModel.riseOfMean : CostModel.fallOfMean)
            low += (x - low) * max(warmUp, x > low ? CostModel.riseOfLow : CostModel.fallOfLow)
            low = min(low, mean)
        }
    }

    /// Two thirds of what was encoded before this long count no more.
    static let timeOfRate = Double(Nanoseconds.milliseconds(500.0).count)

    private var came = Entry(), synthesised = Entry(), repeated = Entry()
    private var last: MonotonicTime?

    init() {}

    public subscript(kind: EncodeKind) -> Entry {
        switch kind {
        case .came: came
        case .synthesised: synthesised
        case .repeated: repeated
        }
    }

    private mutating func withEach(_ body: (inout Entry) -> Void) {
        body(&came)
        body(&synthesised)
        body(&repeated)
    }

    mutating func observe(_ kind: EncodeKind, _ cost: Nanoseconds) {
        switch kind {
        case .came: came.observe(cost)
        case .synthesised: synthesised.observe(cost)
        case .repeated: repeated.observe(cost)
        }
    }

    /// Learns the rates. Call it for each picture that comes.
    mutating func advance(to now: MonotonicTime) {
        guard let last else { return self.last = now }
        let time = Double((now - last).count)
        guard time > 0 else { return }
        self.last = now
        let weight = min(1, time / Self.timeOfRate)
        withEach {
            $0.rate += (Double($0.count) / time - $0.rate) * weight
            $0.count = 0
        }
    }

    /// Pictures have so many times the pixels from now on.
    mutating func resize(by factor: Double) {
        withEach {
            $0.mean *= factor
            $0.low *= factor
        }
    }
}
