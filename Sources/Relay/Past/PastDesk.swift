import Bitstream
import Codec
import Media
import Settings

/// A still picture of the past.
public struct PastPicture: Sendable {
    /// What it is written as.
    public enum Format: String, CaseIterable, Sendable { case jpeg, png }

    /// A JFIF or PNG file.
    public let bytes: [UInt8]
    public let size: PictureSize
    /// The number of its frame.
    public let frame: UInt64
    public let presentation: MediaTime
}

/// Makes stills of the past from the rings' coded units, on a thread of low priority that the first request starts.
///
/// It decodes from the entry point before the picture up to it. Where the decoder says that it could not begin there (a gradual refresh,
/// pictures of an open group), it begins at an earlier one.
///
/// Thread-safe. Few requests wait; others are refused.
final class PastDesk: Sendable {
    typealias Answer = @Sendable (Result<PastPicture, PastFault>) -> Void
    /// - Returns: why it cannot be kept; nil when it was.
    typealias Keeping = @Sendable ([UInt8]) -> String?

    struct Request: Sendable {
        let side: StreamPicture.Side
        let place: PastPlace
        let format: PastPicture.Format
        /// The most columns.
        let width: Int
        /// See ``PastRing/find(_:_:stampBases:now:)``.
        let stampBases: [UInt32]
        /// Gets what makes the picture anew later (``UnitFile``), before the answer; nil where nobody wants that.
        let keep: Keeping?
        let answer: Answer
    }

    private struct State {
        var thread: StageThread?
        var isClosed = false
    }

    private let past: Past?
    private let settings: LiveSettings
    private let requests = BoundedQueue<Request>(capacity: 8)
    private let state = Lock(State())

    /// How many entry points are tried for a picture.
    private static let mostEntries = 4
    /// So many units behind a picture's own may have to be decoded before it comes out.
    private static let mostBehind = 32

    init(_ past: Past?, _ settings: LiveSettings) {
        self.past = past
        self.settings = settings
    }

    /// Asks for a still. The answer comes once: on the desk's thread, or at once on the caller's when it is a fault.
    func request(_ request: Request) {
        let fault: PastFault? = state.withLock { state in
            if past == nil { return .off }
            if state.isClosed { return .ended }
            if state.thread == nil { state.thread = StageThread(name: "past", niceness: 10) { [self] in run() } }
            return nil
        }
        if let fault { return request.answer(.failure(fault)) }
        if requests.count == requests.capacity || requests.offer(request) != nil { request.answer(.failure(.busy)) }
    }

    /// Answers what waits, and ends the thread.
    func close() {
        let thread = state.withLock { state in
            state.isClosed = true
            return state.thread.take()
        }
        requests.close()
        thread?.join()
    }

    private func run() {
        while let request = requests.pop() {
            let isClosed = state.withLock { $0.isClosed }
            request.answer(isClosed ? .failure(.ended) : Result { () throws(PastFault) in try picture(for: request) })
        }
    }

    private func picture(for request: Request) throws(PastFault) -> PastPicture {
        guard let past else { throw .off }
        let ring = request.side == .before ? past.input : past.output
        var target = try ring.find(request.place, request.side, stampBases: request.stampBases).get()
        if case .best(let time) = request.place {
            var judge = PastJudge(ring, hdrPeak: settings.current.hdrPeak)
            target = judge.best(since: time) { state.withLock { $0.isClosed } } ?? target
        }
        let entries = ring.withUnits { $0.entries(before: target, most: Self.mostEntries) }
        guard !entries.isEmpty else { throw .gone }
        let units = request.keep == nil ? [] : try self.units(around: target, request.side, past.input)
        var fault = PastFault.gone
        for entry in entries {
            switch decode(target, from: entry, of: ring, request) {
            case .success(let picture):
                // A mask may have been set meanwhile, which this picture lacks.
                let isMasked = request.side == .before ? settings.holdsBypass : target.maskNumber < settings.maskNumber
                if isMasked { throw request.side == .before ? .masked : .gone }
                // What came in shows what a mask hides.
                if request.keep != nil, settings.holdsBypass { throw .maskedLater }
                if let fault = request.keep?(units) { throw PastFault(.conflict, "the still cannot be kept: \(fault)") }
                return picture
            case .failure(let found): fault = found
            }
        }
        throw fault
    }

    /// What makes a picture anew.
    private func units(
        around target: PastUnit, _ side: StreamPicture.Side, _ input: PastRing
    ) throws(PastFault) -> [UInt8] {
        if settings.holdsBypass { throw .maskedLater }
        if let lack = input.lack { throw lack.fault(.before) }
        guard let source = side == .before ? target : input.source(of: target) else {
            throw PastFault(.missing, "the picture that came in for it has left: set a larger past-memory, or ask for fast")
        }
        return try input.unitFile(around: source, hdrPeak: settings.current.hdrPeak)
    }

    /// - Returns: a fault where an earlier entry point may help.
    private func decode(
        _ target: PastUnit, from entry: UInt64, of ring: PastRing, _ request: Request
    ) -> Result<PastPicture, PastFault> {
        do throws(CodecError) {
            var bytes: [UInt8] = []
            var decoder: VideoDecoder?
            var orientation = HeldOrientation()
            let last = min(ring.nextNumber, target.number + UInt64(Self.mostBehind))
            var number = entry
            while number < last {
                guard let unit = ring.read(number, into: &bytes) else {
                    if number <= target.number { return .failure(.gone) }
                    break
                }
                number += 1
                guard unit.isPicture else { continue }
                guard let codec = unit.codec, codec == target.codec else {
                    if unit.number > target.number { break }
                    continue
                }
                if decoder == nil { decoder = try Self.decoder(codec, settings.current.hdrPeak) }
                let decoding = decoder!
                decoding.skipsNonReference = unit.number != target.number
                let result = unsafe bytes.withUnsafeBytes { bytes in
                    Result { () throws(CodecError) in
                        unsafe try decoding.decode(bytes, id: Int64(unit.number), flags: unit.flags)
                    }
                }
                _ = try result.get()
                if let result = try take(target, from: decoding, &orientation, request) { return result }
            }
            guard let decoder else { return .failure(.gone) }
            decoder.drain()
            return try take(target, from: decoder, &orientation, request) ?? .failure(Self.undecodable(target))
        } catch {
            return .failure(PastFault(.conflict, "the picture cannot be decoded: \(error)"))
        }
    }

    private static func decoder(_ codec: VideoCodec, _ peak: Double?) throws(CodecError) -> VideoDecoder {
        var configuration = VideoDecoder.Configuration()
        configuration.codec = codec
        configuration.hdrPeak = peak
        return try VideoDecoder(configuration)
    }

    private static func undecodable(_ target: PastUnit) -> PastFault {
        PastFault(.conflict, "frame \(target.frame) gives no picture: ask for another")
    }

    /// Takes what has come out of the decoder.
    /// - Returns: the picture that is meant, or why there is none; nil while it has not come.
    private func take(
        _ target: PastUnit, from decoder: VideoDecoder, _ orientation: inout HeldOrientation, _ request: Request
    ) throws(CodecError) -> Result<PastPicture, PastFault>? {
        while let output = try decoder.next() {
            switch consume output {
            case .picture(var picture):
                let held = orientation.next(isKeyframe: picture.isKeyframe, said: picture.statedOrientation)
                guard picture.id == Int64(target.number) else { continue }
                if picture.damage.contains(.corrupt) || picture.damage.contains(.reference), !target.flags.contains(.isDamaged)
                {
                    return .failure(
                        PastFault(.conflict, "pictures that frame \(target.frame) refers to are missing: ask for a later one"))
                }
                picture.color.orientation = held
                let size = JPEGEncoder.shownSize(of: picture.size, picture.color, width: request.width)
                let bytes =
                    switch request.format {
                    case .jpeg: unsafe try JPEGEncoder.encode(picture.view, picture.color, width: request.width)
                    case .png: unsafe try PNGEncoder.encode(picture.view, picture.color, width: request.width)
                    }
                return .success(
                    PastPicture(bytes: bytes, size: size, frame: target.frame, presentation: target.presentation))
            case .noPicture(let id, let fault):
                guard id == Int64(target.number) else { continue }
                return .failure(
                    fault == .awaitingKeyframe
                        ? PastFault(
                            .conflict,
                            "no keyframe that is kept lies far enough before frame \(target.frame): set a longer past, or ask for a"
                                + " later frame")
                        : Self.undecodable(target))
            }
        }
        return nil
    }
}
