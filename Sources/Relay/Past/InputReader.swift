import Bitstream
import Codec
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
    /// Pictures of a format that a transport stream does not carry, which come apart from it; nil where all is in the stream.
    var apart: PicturesApart? { get set }
}

/// Pictures that come apart from a transport stream.
struct PicturesApart {
    let codec: VideoCodec
    /// The stream has something beside them.
    let hasSound: Bool
    private var waiting: [SeparatePicture] = []
    private var given = 0
    /// So many bytes wait to be taken.
    private(set) var byteCount = 0

    init(_ codec: VideoCodec, hasSound: Bool) { (self.codec, self.hasSound) = (codec, hasSound) }

    mutating func add(_ picture: SeparatePicture) {
        waiting.append(picture)
        byteCount += picture.bytes.count
    }

    /// The oldest.
    mutating func take() -> SeparatePicture? {
        guard given < waiting.count else {
            waiting.removeAll(keepingCapacity: true)
            given = 0
            return nil
        }
        defer { given += 1 }
        byteCount -= waiting[given].bytes.count
        let picture = waiting[given]
        waiting[given].bytes = []
        return picture
    }
}

extension PastReader: ClipReader {
    var apart: PicturesApart? {
        get { nil }
        set {}
    }
}

/// Reads what came in from an entry point on, with what went out beside it, such as sound, as a transport stream that begins there.
/// Pictures that such a stream does not carry come apart from it.
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
    var apart: PicturesApart?

    /// - Parameter number: of an entry point of what came in.
    init(_ past: Past, from number: UInt64) {
        self.past = past
        let first = past.input.read(number, into: &unit)
        next = number
        codec = first?.codec
        nextBeside = past.output.withUnits { $0.count > 0 ? $0[0].number : 0 }
        guard let codec else { return }
        // That of what goes out, with the format of what came in.
        var layout = past.output.newestLayout ?? TransportStreamLayout()
        layout.video = codec.layout
        if layout.video == nil { apart = PicturesApart(codec, hasSound: !layout.passedStreams.isEmpty) }
        muxer = try? TransportStreamMuxer(layout, continuing: nil)
        // What went out before the first picture is not meant.
        while let first, let unit = past.output.read(nextBeside, into: &beside), unit.presentation < first.presentation {
            nextBeside += 1
        }
    }

    mutating func step(into bytes: inout [UInt8], isBehindEnd: (PastUnit) -> Bool) -> PastReader.Step {
        guard muxer != nil || apart?.hasSound == false else { return .gone }
        // What goes beside a picture leaves after it came: so it is looked for first.
        if let newest, let read = past.output.read(nextBeside, into: &beside) {
            if read.isPicture || read.presentation <= newest {
                nextBeside += 1
                if !read.isPicture { write(read, &bytes) }
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
        if apart != nil {
            apart?.add(SeparatePicture(unit, at: read.presentation, isKeyframe: read.isEntry))
        } else {
            unsafe unit.withUnsafeBytes { all in
                unsafe muxer?.writeVideo(
                    all, presentationTime: read.presentation, decodeTime: read.decode, isKeyframe: read.isEntry
                ) { unsafe bytes.append(contentsOf: $0) }
            }
        }
        pictures += 1
        newest = max(newest ?? read.presentation, read.presentation)
        times = (times?.first ?? read.time, read.time)
        return .wrote
    }

    private func write(_ read: PastUnit, _ bytes: inout [UInt8]) {
        guard let muxer, let stream = read.stream, Int(stream) < muxer.layout.passedStreams.count else { return }
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
    /// How a transport stream describes it; nil where libavformat reads none with it.
    fileprivate var layout: TransportStreamLayout.Video? {
        switch self {
        case .h264: .h264
        case .hevc: .init(streamType: 0x24)
        case .mpeg2Video: .init(streamType: 0x02)
        case .av1, .vp8, .vp9: nil
        }
    }
}
