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
        /// What goes out beside the program, as the muxer knows it, too.
        var multiplex: Multiplex?
        /// The number of the layout that the multiplexer has. A passing unit that came under another one has no place in
        /// its program map.
        var layoutNumber = -1
        /// The layout for the next picture, and its number. The multiplexer gets it when that picture is sent.
        var prepared = (layout: TransportStreamLayout(), number: -1)
        /// The number of a layout that a program map cannot hold, and why.
        var refused: (number: Int, error: ContainerError)?
        /// The video that the multiplexer was made for, as it was asked for.
        var described: TransportStreamLayout.Video?
        /// The multiplexer has video because a picture came late, and its program has none any more.
        var hasStrayVideo = false
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
        // A picture of a program that has lost its video goes out under the map before. The other streams bring the new one.
        let isNew = unit.layoutNumber.map { $0 > layoutNumber && (prepared.layout.hasVideo || muxer == nil) } ?? false
        if let muxer, !isNew, described == unit.video { return muxer }
        described = unit.video
        let base = isNew ? prepared.layout : muxer?.layout ?? TransportStreamLayout()
        let number = isNew ? prepared.number : layoutNumber
        if isNew || !base.hasVideo { hasStrayVideo = !base.hasVideo }
        // The base itself fits: it was checked when it was prepared.
        guard let muxer = adopt(base, with: unit.video, number) else {
            preconditionFailure("a program map holds what it has held before")
        }
        return muxer
    }

    /// Adopts a layout with a description of its video, or with as much of it as a program map can hold.
    /// - Returns: nil, with nothing changed, when a program map cannot hold the layout.
    private mutating func adopt(
        _ base: TransportStreamLayout, with video: TransportStreamLayout.Video, _ number: Int
    ) -> TransportStreamMuxer? {
        var bare = video
        bare.descriptors = []
        for video in [video, bare, base.video] {
            var layout = base
            layout.video = video
            if let muxer = adopt(layout, number) { return muxer }
        }
        return nil
    }

    /// Adopts a layout before any picture of it. Its video, where it has some, is described like that of the pictures before.
    mutating func adoptBeforePictures(_ layout: TransportStreamLayout, _ number: Int) {
        if layout.hasVideo {
            guard adopt(layout, with: described ?? .h264, number) != nil else { return }
        } else {
            guard adopt(layout, number) != nil else { return }
            prepared = (layout, number)
            described = nil
        }
        hasStrayVideo = false
    }

    /// - Returns: nil, with nothing changed, when a program map cannot hold the layout.
    mutating func adopt(_ layout: TransportStreamLayout, _ number: Int) -> TransportStreamMuxer? {
        let adopted: TransportStreamMuxer
        do throws(ContainerError) {
            if let multiplexEnd {
                adopted = try TransportStreamMuxer(layout, in: multiplex, resuming: multiplexEnd)
            } else if let muxer, muxer.layout == layout {
                adopted = muxer
            } else {
                adopted = try TransportStreamMuxer(layout, in: multiplex, continuing: muxer)
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

    /// Learns what goes out beside the program from now on.
    /// - Returns: whether receivers know the program by another number or other packet identifiers than before.
    mutating func adopt(_ multiplex: Multiplex?) -> Bool {
        self.multiplex = multiplex
        return muxer?.adopt(multiplex) ?? false
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
