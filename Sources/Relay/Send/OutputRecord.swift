import Container
import Media
import Packets
import Telemetry

/// Records in the stream's telemetry map how far the output has come, so that a process that replaces this one goes on there
/// and receivers see one stream.
///
/// Used under the lock of ``SendStage``. Costs some ten stores for each unit.
struct OutputRecord {
    private let map: TelemetryMap.Writer?

    init(_ map: TelemetryMap.Writer?) { self.map = map }

    /// Records a unit of video that was sent.
    /// - Parameter frame: its frame's record.
    func record(
        _ frame: FrameRecord, presentation: MediaTime, decode: MediaTime, stamp: MonotonicTime, sent: MonotonicTime,
        sourceOffset: Int64, _ muxer: TransportStreamMuxer, _ rtp: RTPSenderState?
    ) {
        guard let map else { return }
        var position = OutputPosition()
        position.presentation = presentation
        position.decode = decode
        position.sent = sent
        position.arrival = frame[.lastPacket] ?? sent
        position.stamp = stamp
        position.sourceOffset = sourceOffset
        position.epoch = frame.epoch
        position.sourceClock = frame.sourceClock
        position.tableVersion = muxer.tableVersion
        position.rtp = rtp.map { RTPPosition($0) }
        map.write(position)
        recordCounters(of: muxer)
    }

    /// Records the continuity counters and the RTP sequence after a unit of a passing stream.
    func record(_ muxer: TransportStreamMuxer, _ rtp: RTPSenderState?) {
        recordCounters(of: muxer)
        if let rtp { map?.write(RTPPosition(rtp)) }
    }

    private func recordCounters(of muxer: TransportStreamMuxer) {
        guard let map else { return }
        var place = 0
        muxer.forEachCounter { identifier, last in
            map.write(ContinuityCounter(identifier: identifier, value: last), at: place)
            place += 1
        }
    }
}

extension ResumePoint {
    /// 24 years of the timeline. Slots of every rate can be counted up to it.
    private static let latest = MediaTime(ticks: 1 << 46)

    /// Where the output's timeline ended; nil where there is nothing to go on from.
    func timelineEnd(at now: MonotonicTime) -> TimelineEnd? {
        // A process that was taken over may have written anything.
        guard let position, position.arrival <= now,
            (Timeline.start...Self.latest).contains(position.presentation)
        else { return nil }
        return TimelineEnd(output: position.presentation, arrival: position.arrival, offset: position.sourceOffset)
    }

    /// Where the multiplex ended; nil where nothing was sent.
    var multiplexEnd: MultiplexEnd? {
        guard let position else { return nil }
        let counters = continuity.map { ($0.identifier, $0.value) }
        return MultiplexEnd(
            counters: Dictionary(counters) { $1 }, tableVersion: position.tableVersion)
    }

    /// A unit that was on its way when the process ended may have used up so many sequence numbers that were not recorded. A
    /// receiver takes a number that it has seen for a copy, and drops the packet; a gap is only a loss.
    static let sequenceMargin: UInt16 = 128

    /// The RTP sender to go on as; nil where there was none.
    var rtpSender: RTPSenderState? {
        position?.rtp.map {
            RTPSenderState(
                source: $0.source, sequence: $0.sequence &+ Self.sequenceMargin, timestampBase: $0.timestampBase)
        }
    }
}

extension RTPPosition {
    fileprivate init(_ sender: RTPSenderState) {
        self.init(source: sender.source, sequence: sender.sequence, timestampBase: sender.timestampBase)
    }
}
