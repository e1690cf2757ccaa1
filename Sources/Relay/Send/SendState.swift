import Container
import Endpoint
import Media
import Schedule
import Settings
import Telemetry
import Transport

extension SendStage {
    /// What the two threads of the stage share, under its lock.
    struct State: ~Copyable {
        var muxer: TransportStreamMuxer?
        /// The number of the layout that the multiplexer has. A passing unit that came under another one has no place in
        /// its program map.
        var layoutNumber = -1
        /// The layout for the next picture, and its number. The multiplexer gets it when that picture is sent.
        var prepared = (layout: TransportStreamLayout(), number: -1)
        /// The number of a layout that a program map cannot hold, and why.
        var refused: (number: Int, error: ContainerError)?
        /// The video that the multiplexer was made for, as it was asked for.
        var described: TransportStreamLayout.Video?
        var clock = CadenceClock()
        var decodeTimes = DecodeTimes()
        /// The source clock of the newest picture.
        var sourceClock: UInt32 = 0
        /// The presentation time of the newest picture that was sent, its source time, and when it had left.
        var newest = MediaTime(ticks: .min)
        var newestStamp: MonotonicTime?
        var newestSent = MonotonicTime(nanoseconds: 0)
        var shelf: PassingShelf
        var isFinished = false
        var outputs: FanOut
        var calls: CallSender
        var settings: LiveSettings.Copy
        /// Where another process ended, until the first layout is adopted.
        var multiplexEnd: MultiplexEnd?
        /// By the index of a passing stream; nil for one that is no sound. Empty where the output need not go on.
        var sounds: [SoundKeeper?] = []
        /// Which of them calls get.
        var callStream: CallStream?
        let keepsSound: Bool
    }
}

extension SendStage.State {
    /// The multiplexer with the layout that a unit was encoded under. Where the program map cannot hold
    /// the video's descriptors, it goes without them.
    mutating func multiplexer(for unit: CodedUnit) -> TransportStreamMuxer {
        let isNew = unit.layoutNumber.map { $0 > layoutNumber } ?? false
        if let muxer, !isNew, described == unit.video { return muxer }
        described = unit.video
        let base = isNew ? prepared.layout : muxer?.layout ?? TransportStreamLayout()
        let number = isNew ? prepared.number : layoutNumber
        var bare = unit.video
        bare.descriptors = []
        // The base itself fits: it was checked when it was prepared.
        for video in [unit.video, bare, base.video] {
            var layout = base
            layout.video = video
            if let muxer = adopt(layout, number) { return muxer }
        }
        preconditionFailure("a program map holds what it has held before")
    }

    /// - Returns: nil, with nothing changed, when a program map cannot hold the layout.
    mutating func adopt(_ layout: TransportStreamLayout, _ number: Int) -> TransportStreamMuxer? {
        let adopted: TransportStreamMuxer
        do throws(ContainerError) {
            if let multiplexEnd {
                adopted = try TransportStreamMuxer(layout, resuming: multiplexEnd)
            } else if let muxer, muxer.layout == layout {
                adopted = muxer
            } else {
                adopted = try TransportStreamMuxer(layout, continuing: muxer)
            }
        } catch {
            return nil
        }
        multiplexEnd = nil
        muxer = adopted
        if keepsSound, number != layoutNumber {
            sounds = layout.passedStreams.map { SoundKeeper($0) }
            callStream = CallStream(of: layout)
        }
        layoutNumber = number
        return adopted
    }

    /// The source time to send with a picture.
    mutating func stamp(
        _ record: FrameRecord, _ source: SourceTime, now: MonotonicTime
    ) -> MonotonicTime {
        if record.kind != .repeated, record.sourceClock != sourceClock {
            sourceClock = record.sourceClock
            clock.restart()
        }
        return switch source {
        case .turn(let time): clock.stamp(source: time, now: now, isLateUnit: record.isLateUnit)
        case .repeated(let time): clock.stamp(repeated: time)
        case .overdue(let time): clock.stamp(repeated: time - (clock.delay ?? .zero))
        }
    }
}
