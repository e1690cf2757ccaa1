import Bitstream
import Container
import Endpoint
import Media

/// What the ingest thread says of its input: what is wrong with it, each fault once; losses, when they begin and end; and why no
/// video comes.
///
/// Confined to the ingest thread. Allocates only where there is something to say.
struct InputReports {
    /// Faults of the sender that the relay has an answer to: each is reported once.
    enum Remark {
        /// Of the stream on this PID.
        case wrongCounters(Int)
        case wrongChecksums
        case masked

        fileprivate var text: String {
            switch self {
            case .wrongCounters(let stream):
                "the continuity counters on PID \(stream) are wrong, so losses that they show are not believed; have the multiplexer"
                    + " repaired"
            case .wrongChecksums:
                "the checksums of its program tables are wrong: tables that come again and again are believed; have the multiplexer"
                    + " repaired"
            case .masked: "other programs and further video are not sent: mask covers the main video alone"
            }
        }
        fileprivate var bit: UInt8 {
            switch self {
            case .wrongCounters: 1
            case .wrongChecksums: 2
            case .masked: 4
            }
        }
    }

    private struct LeftOutStream: Hashable {
        var id: Int
        var codec: StreamCodec
    }

    private let control: StreamControl
    private let url: StreamURL
    private let isCall: Bool
    private var remarks: UInt8 = 0
    /// What the transport has lost, and what continuity counters show besides.
    private var losses: LossReports
    private var hiddenLosses: LossReports
    private var programNames = ProgramNames()
    private var leftOut: Set<LeftOutStream> = []
    private var parameterSets = ParameterSetWatch()
    private var complaint: StreamDiagnosis?
    private var nextDiagnosis: MonotonicTime?

    /// How long a stream may give no video before an event says why, and how long until the next event.
    private static let noVideoTimeout = Nanoseconds.seconds(3)

    init(of url: StreamURL, isCall: Bool, _ control: StreamControl) {
        (self.url, self.isCall, self.control) = (url, isCall, control)
        losses = LossReports(of: url, witness: .transport)
        hiddenLosses = LossReports(of: url, witness: .counters)
    }

    private func say(_ text: String) { control.report(.message("input: \(text)")) }

    mutating func report(_ remark: Remark) {
        if case .wrongCounters = remark { hiddenLosses.forget() }
        guard remarks & remark.bit == 0 else { return }
        remarks |= remark.bit
        say(remark.text)
    }

    /// The source has gone.
    mutating func disconnected() {
        if let line = losses.end() { control.report(.loss(line)) }
        if let line = hiddenLosses.end() { control.report(.loss(line)) }
        complaint = nil
        parameterSets = ParameterSetWatch()
        nextDiagnosis = nil
    }

    // MARK: Losses

    /// The transport lacks messages.
    mutating func lost(messages: Int64) {
        if let line = losses.record(messages, at: .now()) { control.report(.loss(line)) }
    }

    /// Continuity counters show a loss.
    mutating func lost(packets: Int) {
        // A call's packets have numbers, and a page of statistics.
        guard !isCall, let line = hiddenLosses.record(Int64(packets), at: .now()) else { return }
        control.report(.loss(line))
    }

    /// Call it now and then.
    mutating func followLosses(_ now: MonotonicTime) {
        if losses.isOpen, let line = losses.claimEnd(at: now) { control.report(.loss(line)) }
        if hiddenLosses.isOpen, let line = hiddenLosses.claimEnd(at: now) { control.report(.loss(line)) }
    }

    // MARK: The program

    /// - Returns: false where it was said before: the source may have returned, or its program map changed.
    mutating func leaveOut(_ stream: ElementaryStreamDescription) -> Bool {
        guard leftOut.insert(LeftOutStream(id: stream.id, codec: stream.codec)).inserted else { return false }
        say("\(stream.codec.name) on PID \(stream.id) is left out")
        return true
    }

    mutating func describe(_ multiplex: Multiplex, passesOthers: Bool) {
        if let line = programNames.line(for: multiplex, pass: passesOthers) { control.report(.message(line)) }
    }

    func lacksVideo() { say("no video in it; its other streams pass") }

    func cannotDecode(_ codec: StreamCodec, isMasked: Bool) {
        let fate = isMasked ? "is not sent, because a mask is set" : "passes as it comes"
        say("its video is \(codec.name), which cannot be decoded: it \(fate)")
    }

    func isTooLarge(_ size: PictureSize, most: Int) {
        say("pictures of \(size) are too large to decode; \(most) samples are the most")
    }

    // MARK: Why no video comes

    /// Call for each picture.
    mutating func observe(_ unit: StreamUnit) { parameterSets.observe(unit) }

    /// Reports once for each reason why no video comes, and names the parameter sets without which no decoder can begin.
    /// - Parameter lacksPictures: none has come, and nothing else makes a stream of the program.
    mutating func diagnose<Demuxer: SourceDemuxer & ~Copyable>(
        _ demuxer: borrowing Demuxer, lacksPictures: Bool, now: MonotonicTime
    ) {
        if let names = parameterSets.claim(at: now) {
            let advice = isCall ? ", or put them into the session description (sprop-parameter-sets)" : ""
            say(
                "no decoder can begin with its keyframes, because parameter sets have not come (\(names.joined(separator: ", ")));"
                    + " have the sender repeat them at keyframes\(advice)")
        }
        guard lacksPictures else { return }
        guard let due = nextDiagnosis else {
            nextDiagnosis = now + Self.noVideoTimeout
            return
        }
        guard now >= due else { return }
        nextDiagnosis = now + Self.noVideoTimeout
        let diagnosis = demuxer.diagnosis
        guard diagnosis != complaint, let text = diagnosis.complaint else { return }
        complaint = diagnosis
        control.report(.unusableInput(text))
    }

    /// Fails the stream, whose source has ended without video.
    func fail<Demuxer: SourceDemuxer & ~Copyable>(_ demuxer: borrowing Demuxer) {
        control.fail(.input("\(url): \(demuxer.diagnosis.complaint ?? "no complete picture in it")"))
    }
}

extension StreamDiagnosis {
    /// What is wrong and what to do about it; nil when nothing is wrong.
    var complaint: String? {
        switch self {
        case .noPackets: "no MPEG transport stream in it; send MPEG-TS (ffmpeg: -f mpegts)"
        case .noAssociation: "transport packets, but no program association table (PAT); have the sender repeat its tables"
        case .brokenTables:
            "its program tables have wrong checksums, each another content; let the sender repeat them unchanged, or look for losses"
        case .noMap: "no program map table (PMT); have the sender repeat its tables, and send the whole multiplex"
        case .noVideo(let streams):
            "no video in it (\(streams.isEmpty ? "no streams" : streams.map(\.name).joined(separator: ", "))); send \(VideoCodec.names)"
        case .unsupportedVideo(let codec): "its video is \(codec.name), which cannot be decoded; send \(VideoCodec.names)"
        case .scrambled: "its video is scrambled; send it in the clear (descramble it before it is sent here)"
        case .noParameters: "no parameter sets yet; the sender must repeat them at keyframes"
        case .silentVideo: "its sound comes, but no packet of its video; look at the sender, and at the port of its video"
        case .noKeyframe: "no whole keyframe of its video yet; the sender is asked for one"
        case .unusableVideo(let fault): "its video cannot be used: \(fault)"
        case .video: nil
        }
    }
}
