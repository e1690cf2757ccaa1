import Codec
import Media
import Synchronization

/// What an encoder does with a picture when a test wants it to fail.
enum EncodingFault: CaseIterable, Sendable {
    /// Throws instead of encoding.
    case refusal
    /// Gives no coded picture.
    case silence
}

/// An encoder that fails where a test says so, and is libx264 everywhere else.
final class FailingEncoder: PictureEncoder {
    private let encoder: VideoEncoder
    private let fault: @Sendable (Int64) -> EncodingFault?

    /// - Parameter fault: asked with each picture's number.
    init(
        _ configuration: VideoEncoderConfiguration, fault: @escaping @Sendable (Int64) -> EncodingFault?
    ) throws(CodecError) {
        encoder = try VideoEncoder(configuration)
        self.fault = fault
    }

    var configuration: VideoEncoderConfiguration { encoder.configuration }

    func encode(
        _ picture: PictureView, id: Int64, at time: MediaTime, asKeyframe: Bool, carrying userData: PictureUserData?,
        emit: (borrowing EncodedUnit) -> Void
    ) throws(CodecError) {
        switch fault(id) {
        case nil:
            unsafe try encoder.encode(
                picture, id: id, at: time, asKeyframe: asKeyframe, carrying: userData, emit: emit)
        case .refusal: throw .injected
        case .silence: break
        }
    }

    func change(_ rateControl: VideoEncoderConfiguration.RateControl, at frameRate: Rational) -> Bool {
        encoder.change(rateControl, at: frameRate)
    }
}

/// A decoder that throws where a test says so.
final class FailingDecoder: PictureDecoder {
    private let decoder: VideoDecoder
    private let fails: @Sendable (Int64) -> Bool

    init(_ configuration: VideoDecoder.Configuration, fails: @escaping @Sendable (Int64) -> Bool) throws(CodecError) {
        decoder = try VideoDecoder(configuration)
        self.fails = fails
    }

    var skipsNonReference: Bool {
        get { decoder.skipsNonReference }
        set { decoder.skipsNonReference = newValue }
    }
    var exportsQuantisers: Bool {
        get { decoder.exportsQuantisers }
        set { decoder.exportsQuantisers = newValue }
    }

    func decode(_ unit: UnsafeRawBufferPointer, id: Int64, flags: UnitFlags) throws(CodecError) -> Bool {
        if fails(id) { throw .injected }
        return unsafe try decoder.decode(unit, id: id, flags: flags)
    }

    func next() throws(CodecError) -> DecoderOutput? { try decoder.next() }
    func drain() { decoder.drain() }
}

/// A decoder that makes no picture of the units that a test names, as one does with a stream of a kind that it does not know.
final class BlindDecoder: PictureDecoder {
    private let decoder: VideoDecoder
    private let isBlind: @Sendable (Int64) -> Bool
    private var unseen: [Int64] = []

    init(_ configuration: VideoDecoder.Configuration, isBlind: @escaping @Sendable (Int64) -> Bool) throws(CodecError) {
        decoder = try VideoDecoder(configuration)
        self.isBlind = isBlind
    }

    var skipsNonReference = false
    var exportsQuantisers = false

    func decode(_ unit: UnsafeRawBufferPointer, id: Int64, flags: UnitFlags) throws(CodecError) -> Bool {
        guard !isBlind(id) else {
            unseen.append(id)
            return true
        }
        return unsafe try decoder.decode(unit, id: id, flags: flags)
    }

    func next() throws(CodecError) -> DecoderOutput? {
        if let id = unseen.popLast() { return .noPicture(id: id, .undecodable) }
        return try decoder.next()
    }
    func drain() { decoder.drain() }
}

extension CodecError {
    static let injected = CodecError(.library, operation: "test", message: "injected failure", place: "test")
    static let injectedForGood = CodecError(
        .unsupportedFormat, operation: "test", message: "injected refusal", place: "test")
}

/// Counts from any thread.
final class Count: Sendable {
    private let value = Atomic<Int>(0)
    /// The number of this call, from 0.
    func next() -> Int { value.add(1, ordering: .relaxed).oldValue }
    var calls: Int { value.load(ordering: .relaxed) }
}

/// Chance, asked from any thread.
final class Dice: Sendable {
    private let random: Lock<SplitMix64>
    init(seed: UInt64) { random = Lock(SplitMix64(seed: seed)) }
    func hit(_ probability: Double) -> Bool {
        random.withLock { Double.random(in: 0..<1, using: &$0) } < probability
    }
}
