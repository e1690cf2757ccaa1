import Container
import Media
import Telemetry

/// What goes out beside the pictures: the program's other streams, silence in place of sound that has stopped, and other programs.
extension SendStage.State {
    /// The most units that are sent under one lock, so that the encode thread never waits for a burst.
    private static let batch = 16
    /// When a program has lost its video and other streams have run on for so long (1 s) since the newest picture, no more come.
    private static let videoTimeout = MediaTime.ticksPerSecond

    // MARK: Streams of the program

    /// Sends the passing units that belong beside the pictures sent so far. Each is as late as the picture of its time, so that
    /// the two keep their offset, but none waits beyond its own deadline for a picture that does not come.
    /// - Parameter all: none waits any more.
    /// - Returns: whether more may be due because a batch is full. The send thread has to be woken for them.
    mutating func sendPassing(all: Bool) -> Bool {
        let hasMore = shelve()
        for _ in 0..<Self.batch {
            guard let entry = shelf.first else { return hasMore }
            let unit = entry.unit
            let isLate = all || MonotonicTime.now() >= unit.emitBy
            adoptLayout(of: unit, isLate: isLate)
            let isDue =
                unit.layoutNumber <= program.number
                && (program.layout?.video == nil || passing.presentation(of: unit).map { $0 <= times.newest } ?? true)
            guard isLate || isDue else { return hasMore }
            books.counters.add(send(entry) ? .passingOut : .passingDropped)
            passing.recycle(unit)
            shelf.removeFirst()
        }
        return true
    }

    /// Shelves the units that have come, and sends their sound to calls at once, also before the first picture. A browser puts sound
    /// and pictures together itself. Sound that left in bunches, with the pictures, would look to it like the jitter of a bad network.
    /// - Returns: whether more may be there because a batch is full.
    private mutating func shelve() -> Bool {
        for _ in 0..<Self.batch {
            guard !shelf.isFull, let unit = passing.next() else { return false }
            let isSettled = unit.layoutNumber == program.number && unit.provisionalEpoch == nil
            // A unit that may still move is observed when it goes out.
            let isFilled =
                isSettled
                ? !sound.observe(unit, at: unit.presentation) : sound.hasFilled(unit, at: passing.presentation(of: unit))
            if isSettled, isFilled {
                books.counters.add(.passingDropped)
                passing.recycle(unit)
                continue
            }
            let callsHaveIt = !isFilled && calls.send(unit, to: &outputs)
            countRefusals()
            shelf.append(PassingShelf.Entry(unit: unit, isSettled: isSettled, callsHaveIt: callsHaveIt))
        }
        return true
    }

    private mutating func adoptLayout(of unit: PassingUnit, isLate: Bool) {
        guard program.isBehind(unit.layoutNumber) else { return }
        let (layout, number) = passing.numberedLayout
        let (newest, presentation, books) = (times.newest, passing.presentation(of: unit), books)
        program.follow(layout, number, bringing: unit.layoutNumber, isLate: isLate) {
            .init(
                areOver: presentation.map { $0 - newest > Self.videoTimeout } ?? false,
                areUnderWay: books.ledger.inFlight > 0)
        }
        sound.follow(program)
    }

    /// - Returns: false when the unit did not go out whole.
    private mutating func send(_ entry: PassingShelf.Entry) -> Bool {
        let unit = entry.unit
        let presentation = passing.presentation(of: unit)
        if unit.mayShowPictures, live.holdsBypass { return false }
        if !entry.isSettled, !sound.observe(unit, at: presentation) { return false }
        guard connection.isConnected, let muxer = program.muxer, unit.layoutNumber == program.number,
            unit.stream < muxer.layout.passedStreams.count
        else { return entry.callsHaveIt }
        let isWhole = unsafe outputs.sendPassing(stamp: stamp(passing: unit.sourceTime ?? unit.arrival)) { emit in
            unsafe muxer.writePassed(
                stream: unit.stream, header: unit.header, unit.bytes, presentationTime: presentation,
                decodeTime: unit.reordering > 0 ? presentation.map { $0 + -unit.reordering } : nil, emit: emit)
        }
        keeper?.keep(unit, muxer, at: presentation)
        let isRecorded = recording.units.isOpen && recording.keep(unit, muxer, at: presentation)
        countRefusals()
        record.record(muxer, rtpState)
        return isWhole || entry.callsHaveIt || isRecorded
    }

    /// The source time that goes out with what is no picture. It lies between those of the pictures that are sent before and after it,
    /// so that source times do not go back.
    private func stamp(passing source: MonotonicTime) -> MonotonicTime {
        let stamp = times.stamp(passing: source)
        return waiting.first { $0.stamp }.map { min(stamp, $0) } ?? stamp
    }

    // MARK: Sound

    /// Sends packets of Opus that have been transcoded for calls.
    /// - Returns: whether more may be there because a batch is full.
    mutating func sendTranscoded() -> Bool {
        defer { countRefusals() }
        return calls.sendTranscoded(to: &outputs)
    }

    /// Sends silence for streams of sound that have stopped, up to the time of a repeated picture.
    mutating func sendSilence(upTo time: MediaTime) {
        guard connection.isConnected, let muxer = program.muxer, shelf.count == 0, let stamp = times.newestStamp else { return }
        let now = MonotonicTime.now()
        for stream in sound.streams where stream < muxer.layout.passedStreams.count {
            while let silence = sound.silence(stream, upTo: time, now: now) {
                unsafe silence.frame.withUnsafeBytes { bytes in
                    if let form = silence.forCalls {
                        unsafe calls.sendSilence(bytes, form, at: silence.begin, stamp: stamp, to: &outputs)
                    }
                    _ = unsafe outputs.sendPassing(stamp: stamp) { emit in
                        unsafe muxer.writePassed(stream: stream, bytes, presentationTime: silence.begin, emit: emit)
                    }
                    unsafe keeper?.keep(silence: bytes, stream, muxer, at: silence.begin)
                    if recording.units.isOpen { unsafe recording.keep(silence: bytes, stream, muxer, at: silence.begin) }
                }
                books.counters.add(.silentUnits)
            }
        }
        record.record(muxer, rtpState)
    }

    // MARK: Other programs

    /// Sends packets of other programs at once.
    /// - Returns: whether a receiver got all of them.
    mutating func sendOthers(_ packets: RawSpan, arrival: MonotonicTime, source: MonotonicTime) -> Bool {
        guard outputs.hasReceivers, !live.holdsBypass else { return false }
        if program.muxer == nil {
            let (layout, number) = passing.numberedLayout
            program.adoptBeforePictures(layout, number)
            sound.follow(program)
        }
        guard let muxer = program.muxer else { return false }
        let stamp = stamp(passing: source)
        let isWhole = unsafe packets.withUnsafeBytes { bytes in
            unsafe outputs.sendPassing(stamp: stamp) { emit in
                unsafe muxer.writePackets(bytes, arrival: arrival, emit: emit)
            }
        }
        countRefusals()
        record.record(muxer, rtpState)
        return isWhole
    }
}
