import Bitstream
import Container
import Media

/// What a clip is read from, as a transport stream.
protocol ClipReader {
    /// Adds the next unit to the stream, as ``PastReader/step(into:isBehindEnd:)`` does.
    mutating func step(into bytes: inout [UInt8], isBehindEnd: (PastUnit) -> Bool) -> PastReader.Step
    /// How many have been read.
    var pictures: Int { get }
    /// The first picture's and the newest picture's.
    var times: (first: MonotonicTime, last: MonotonicTime)? { get }
}

extension PastReader: ClipReader {}

/// Reads what came in from an entry point on, with what went out beside it, such as sound, as a transport stream that begins there.
///
/// Confined to one thread.
struct InputReader: ClipReader {
    private let past: Past
    private let codec: VideoCodec?
    private var next: UInt64
    private var nextBeside: UInt64
    private var unit: [UInt8] = []
    private var beside: [UInt8] = []
    private var muxer: TransportStreamMuxer?
    private(set) var times: (first: MonotonicTime, last: MonotonicTime)?
    private(set) var pictures = 0
    private var newest: MediaTime?
    private var hasReachedEnd = false

    /// - Parameter number: of an entry point of what came in.
    init(_ past: Past, from number: UInt64) {
        self.past = past
        let first = past.input.read(number, into: &unit)
        next = number
        codec = first?.codec
        nextBeside = past.output.withUnits { $0.count > 0 ? $0[0].number : 0 }
        guard let video = codec?.layout else { return }
        // That of what goes out, with the format of what came in.
        var layout = past.output.newestLayout ?? TransportStreamLayout()
        layout.video = video
        muxer = try? TransportStreamMuxer(layout, continuing: nil)
        // What went out before the first picture is not meant.
        while let first, let unit = past.output.read(nextBeside, into: &beside), unit.presentation < first.presentation {
            nextBeside += 1
        }
    }

    /// Why a clip cannot be made of the pictures; nil where it can.
    var fault: PastFault? {
        muxer == nil
            ? PastFault(.conflict, "\(codec?.name ?? "what came in") cannot be kept for a better clip: ask for sent") : nil
    }

    mutating func step(into bytes: inout [UInt8], isBehindEnd: (PastUnit) -> Bool) -> PastReader.Step {
        guard let muxer else { return .gone }
        // What goes beside a picture leaves after it came: so it is looked for first.
        if let newest, let read = past.output.read(nextBeside, into: &beside) {
            if read.isPicture || read.presentation <= newest {
                nextBeside += 1
                if !read.isPicture { write(read, muxer, &bytes) }
                return .wrote
            }
            if hasReachedEnd { return .reachedEnd }
        } else if hasReachedEnd {
            return .waits
        }
        guard next < past.input.nextNumber else { return .waits }
        guard let read = past.input.read(next, into: &unit) else { return .gone }
        if isBehindEnd(read) || read.codec != codec {
            hasReachedEnd = true
            return .wrote
        }
        next += 1
        unsafe unit.withUnsafeBytes { all in
            unsafe muxer.writeVideo(
                all, presentationTime: read.presentation, decodeTime: read.decode, isKeyframe: read.isEntry
            ) { unsafe bytes.append(contentsOf: $0) }
        }
        pictures += 1
        newest = max(newest ?? read.presentation, read.presentation)
        times = (times?.first ?? read.time, read.time)
        return .wrote
    }

    private func write(_ read: PastUnit, _ muxer: TransportStreamMuxer, _ bytes: inout [UInt8]) {
        guard let stream = read.stream, Int(stream) < muxer.layout.passedStreams.count else { return }
        unsafe beside.withUnsafeBytes { all in
            let head = unsafe UnsafeRawBufferPointer(rebasing: all[..<read.headCount])
            let body = unsafe UnsafeRawBufferPointer(rebasing: all[read.headCount...])
            unsafe muxer.writePassed(
                stream: Int(stream), header: head, body, presentationTime: read.presentation,
                decodeTime: read.decode < read.presentation ? read.decode : nil
            ) { unsafe bytes.append(contentsOf: $0) }
        }
    }
}

extension VideoCodec {
    /// How a transport stream describes it; nil where none can carry it as it is kept.
    fileprivate var layout: TransportStreamLayout.Video? {
        switch self {
        case .h264: .h264
        case .hevc: .init(streamType: 0x24)
        case .mpeg2Video: .init(streamType: 0x02)
        case .av1, .vp8, .vp9: nil
        }
    }
}
