import Container
import Media
import Schedule
import Synchronization

/// An original on its way into the one more encode of a call.
struct ExtraPicture: ~Copyable, Sendable {
    let picture: PictureLease
    let color: ColorDescription
    let presentation: MediaTime
    /// Of the mask that it has.
    let maskNumber: Int
    /// The frame's own time at the source, or else at the relay's input.
    let turn: MonotonicTime
    /// From the original before; zero when it is not known.
    let interval: Nanoseconds
}

/// Channel: the one more encode of a call: whether viewers need it, what it is, and the pictures on their way into it.
///
/// - Writers: send (``wanted``, ``wantKeyframe()``, ``wantKeyframe(behind:)``), the observer (``carried``), encode
///   (``offer(_:)``), the encode's own thread (``rates``, ``hasFailed``, ``load``).
/// - Readers: encode (``wanted``), the encode's own thread, send (``rates``, ``hasFailed``), the observer (``rates``, ``load``).
/// - Read together: the picture with its facts.
///
/// Thread-safe; one atomic each, and the lock of a queue for a picture.
final class ExtraEncode: Sendable {
    /// What the operator asked for, by codec; nil for what may not be.
    let small: ExtraEncoding?
    let vp8: ExtraEncoding?
    let baseline: ExtraEncoding?

    /// The newest picture that has not been taken. One that waits gives way to the next.
    let pictures = BoundedQueue<ExtraPicture>(capacity: 1)
    private let codec = Atomic<UInt8>(0)
    private let failures = Atomic<UInt8>(0)
    private let lowest = Atomic<Int>(0)
    private let highest = Atomic<Int>(0)
    private let links = Atomic<Int>(.max)
    private let keyframeIsWanted = Atomic<Bool>(false)
    private let wantedBehind = Atomic<Int64>(.max)
    private let thousandths = Atomic<Int>(0)

    init(small: ExtraEncoding?, vp8: ExtraEncoding? = nil, baseline: ExtraEncoding? = nil) {
        (self.small, self.vp8, self.baseline) = (small, vp8, baseline)
    }

    func encoding(_ codec: ExtraEncoding.Codec) -> ExtraEncoding? {
        switch codec {
        case .h264: small
        case .vp8: vp8
        case .baseline: baseline
        }
    }

    /// Whether viewers may ever need it.
    var canBeNeeded: Bool { small != nil || vp8 != nil || baseline != nil }

    /// What it can give, as far as is known.
    var offer: ExtraOffer {
        var offer = ExtraOffer(
            hasVP8: vp8 != nil && !hasFailed(.vp8), hasBaseline: baseline != nil && !hasFailed(.baseline))
        if let small, !hasFailed(.h264) { offer.small = small.box.map { small.rates(of: $0).lowerBound } }
        return offer
    }

    // MARK: Who needs it

    /// What viewers need; nil where nobody does.
    var wanted: ExtraEncoding.Codec? {
        get { ExtraEncoding.Codec(rawValue: codec.load(ordering: .acquiring)) }
        set { codec.store(newValue?.rawValue ?? 0, ordering: .releasing) }
    }

    /// The encoder of this codec could not be opened, or has failed again and again. Nobody is promised its pictures any more.
    func hasFailed(_ codec: ExtraEncoding.Codec) -> Bool { failures.load(ordering: .relaxed) & codec.rawValue != 0 }
    func fail(_ codec: ExtraEncoding.Codec) { failures.bitwiseOr(codec.rawValue, ordering: .relaxed) }

    /// Gives the encode a picture. One that still waits for it gives way.
    /// - Returns: whether one gave way.
    func offer(_ picture: consuming ExtraPicture) -> Bool {
        var hasReplaced = false
        var next: ExtraPicture? = consume picture
        while let picture = next.take() {
            guard let refused = pictures.offer(picture) else { return hasReplaced }
            if pictures.isClosed { return hasReplaced }
            if pictures.pop(until: MonotonicTime(nanoseconds: 0)) != nil { hasReplaced = true }
            next = consume refused
        }
        return hasReplaced
    }

    // MARK: Keyframes

    /// The next picture is to be a keyframe.
    func wantKeyframe() { keyframeIsWanted.store(true, ordering: .releasing) }

    /// The first picture behind this time is to be a keyframe.
    func wantKeyframe(behind time: MediaTime) { wantedBehind.store(time.ticks, ordering: .releasing) }

    /// Whether a picture of this time is to be a keyframe. It counts as one when this says so.
    func claimKeyframe(at time: MediaTime) -> Bool {
        var isWanted = keyframeIsWanted.exchange(false, ordering: .acquiring)
        if time.ticks > wantedBehind.load(ordering: .acquiring) {
            wantedBehind.store(.max, ordering: .relaxed)
            isWanted = true
        }
        return isWanted
    }

    // MARK: Bits

    /// The bits a second that it may have; nil before its first picture.
    var rates: ClosedRange<Int>? {
        get {
            let (low, high) = (lowest.load(ordering: .relaxed), highest.load(ordering: .relaxed))
            return low > 0 && low <= high ? low...high : nil
        }
        set {
            lowest.store(newValue?.lowerBound ?? 0, ordering: .relaxed)
            highest.store(newValue?.upperBound ?? 0, ordering: .relaxed)
        }
    }

    /// What the links of its viewers carry, in bits a second; the largest number where nobody knows.
    var carried: Int {
        get { links.load(ordering: .relaxed) }
        set { links.store(newValue, ordering: .relaxed) }
    }

    // MARK: What it costs

    /// The cores that it keeps busy, on average of the last seconds.
    var load: Double {
        get { Double(thousandths.load(ordering: .relaxed)) / 1_000 }
        set { thousandths.store(Int(newValue * 1_000), ordering: .relaxed) }
    }
}
