import Codec
import Media
import Settings
import Telemetry

/// Writes what goes out into files, each of which begins at a keyframe, on a thread of its own that lives while something is recorded.
///
/// Where a file cannot be opened or written, units are dropped, counted by reason, until it works again; then recording goes on at the
/// next keyframe. So no fault here ever reaches the stream.
///
/// Thread-safe.
final class Recorder: Sendable {
    private struct State {
        var settings = RecordSettings()
        var thread: StageThread?
        var isRunning = false
        var isClosed = false
    }

    private let recording: Recording
    private let keyframes: Keyframes
    private let books: StreamBooks
    private let control: StreamControl
    private let open: RecordOpening?
    private let state = Lock(State())

    private static let pollInterval = Nanoseconds.milliseconds(20)
    /// How long after a fault a file is tried again, at first and at most.
    private let pauses: ClosedRange<Nanoseconds>
    /// What has worked for so long works.
    private static let recovery = Nanoseconds.seconds(10)
    private static let keyframeInterval = Nanoseconds.seconds(1)

    /// - Parameter open: nil where nothing can be recorded.
    init(_ channels: StreamChannels, open: RecordOpening?) {
        (recording, keyframes, books, control) = (channels.recording, channels.keyframes, channels.books, channels.control)
        self.open = open
        pauses = channels.configuration.recordingPauses
    }

    /// Records from now on as settings say. Call it from one thread at a time.
    func follow(_ settings: RecordSettings) {
        let isOn = settings.pattern != nil && open != nil
        if isOn {
            let isNew = !recording.isOpen
            recording.open()
            if isNew { keyframes.want() }
        } else {
            recording.close()
        }
        state.withLock { state in
            state.settings = settings
            if !isOn { state.settings.pattern = nil }
            guard isOn, !state.isRunning, !state.isClosed else { return }
            state.thread?.join()
            state.isRunning = true
            state.thread = StageThread(name: "record", niceness: 5) { [self] in run() }
        }
    }

    /// Writes what is there, and ends the file. May be called again.
    func close() {
        recording.close()
        let thread = state.withLock { state in
            state.isClosed = true
            return state.thread.take()
        }
        thread?.join()
    }

    // MARK: The thread

    /// What the thread knows.
    private struct Work {
        var muxer = UnitMuxer()
        var lastWish = MonotonicTime(nanoseconds: 0)
        /// Of the present fault; nil while all is well.
        var pause: Nanoseconds?
        /// Until when units are dropped.
        var resumes = MonotonicTime(nanoseconds: 0)
        /// Until when a slow disk is no news.
        var slowUntil = MonotonicTime(nanoseconds: 0)
    }

    private func run() {
        var work = Work()
        while awaitEntry(&work) {
            let settings = state.withLock { $0.settings }
            guard settings.pattern != nil, let open else {
                drop(.recordingDroppedFailed)
                continue
            }
            switch open(settings) {
            case .failure(let fault): pause("\(fault)", &work)
            case .success(let file):
                books.counters.add(.recordingFiles)
                write(file, settings, &work)
            }
        }
    }

    /// Waits for a unit at which a file can begin.
    /// - Returns: false where recording has ended.
    private func awaitEntry(_ work: inout Work) -> Bool {
        while true {
            noticeDropped(&work)
            if let unit = recording.first {
                if unit.isPicture, unit.isEntry, .now() >= work.resumes { return true }
                drop(.recordingDroppedFailed)
            } else {
                let hasEnded = state.withLock { state in
                    // Whoever begins anew meanwhile finds it so.
                    let hasEnded = Self.isOver(state) && recording.first == nil
                    if hasEnded { state.isRunning = false }
                    return hasEnded
                }
                if hasEnded { return false }
                if .now() >= work.resumes { wantKeyframe(&work) }
                (.now() + Self.pollInterval).sleep()
            }
        }
    }

    private static func isOver(_ state: State) -> Bool { state.isClosed || state.settings.pattern == nil }

    private func drop(_ reason: StreamCounters.Counter) {
        recording.removeFirst()
        books.counters.add(reason)
    }

    /// Counts units that found no room.
    private func noticeDropped(_ work: inout Work) {
        let dropped = recording.takeDropped()
        guard dropped > 0 else { return }
        books.counters.add(.recordingDroppedSlow, dropped)
        wantKeyframe(&work)
        let now = MonotonicTime.now()
        if now >= work.slowUntil {
            control.report(.recordingFailed("the disk is too slow: the recording lacks pictures up to the next keyframe"))
        }
        work.slowUntil = now + Self.recovery
    }

    private func wantKeyframe(_ work: inout Work) {
        let now = MonotonicTime.now()
        guard recording.isOpen, now - work.lastWish >= Self.keyframeInterval else { return }
        work.lastWish = now
        keyframes.want()
    }

    private func pause(_ fault: String, _ work: inout Work) {
        if work.pause == nil { control.report(.recordingFailed("pauses: \(fault)")) }
        let pause = work.pause.map { min($0 * 2, pauses.upperBound) } ?? pauses.lowerBound
        work.pause = pause
        work.resumes = .now() + pause
    }

    // MARK: One file

    private func write(_ file: RecordFile, _ settings: RecordSettings, _ work: inout Work) {
        var turning = work
        let begin = MonotonicTime.now()
        let sink = FileSink(file, books)
        var source = RecordSource(recording, settings, work.muxer) { [self] turn in
            noticeDropped(&turning)
            if turning.pause != nil, sink.size > 0, .now() - begin >= Self.recovery { recovered(file, &turning) }
            if turn.needsKeyframe { wantKeyframe(&turning) }
            let answer = state.withLock { state in
                Self.isOver(state) && recording.first == nil
                    ? RecordTurn.Answer.end : state.settings.needsNewFile(after: settings) ? .next : .goOn
            }
            if answer == .next { wantKeyframe(&turning) }
            if turn.waits, answer != .end { (.now() + Self.pollInterval).sleep() }
            return answer
        }
        if work.pause == nil { control.report(.recording("writes \(file.path)")) }
        var fault: String?
        switch settings.pattern?.container {
        case .mp4:
            do throws(CodecError) {
                let refused = unsafe try MovieCopy.run(
                    isFragmented: true, reading: { unsafe source.fill($0) }, writing: { unsafe sink.write($0, at: $1) })
                books.counters.add(.recordingDroppedRefused, UInt64(refused))
            } catch {
                fault = sink.fault ?? "\(error)"
            }
            fault = sink.fault ?? fault
        default:
            while let bytes = source.next() {
                guard unsafe bytes.withUnsafeBytes({ unsafe sink.write($0, at: sink.size) }) else { break }
                _ = source.take()
            }
            fault = sink.fault
        }
        (work, work.muxer) = (turning, source.usedMuxer)
        if let fault {
            books.counters.add(.recordingDroppedFailed, source.take())
            pause("\(file.path): \(fault)", &work)
        } else if work.pause != nil {
            recovered(file, &work)
        }
    }

    private func recovered(_ file: RecordFile, _ work: inout Work) {
        work.pause = nil
        control.report(.recording("goes on in \(file.path)"))
    }

    /// Where a file goes, and the first fault there.
    @safe private final class FileSink {
        private let file: RecordFile
        private let books: StreamBooks
        private(set) var fault: String?
        private(set) var size: Int64 = 0

        init(_ file: RecordFile, _ books: StreamBooks) { (self.file, self.books) = (file, books) }

        func write(_ bytes: UnsafeRawBufferPointer, at place: Int64) -> Bool {
            guard fault == nil else { return false }
            fault = unsafe file.write(bytes, place)
            if fault == nil {
                size = max(size, place + Int64(bytes.count))
                books.counters.add(.recordingBytes, UInt64(bytes.count))
            }
            return fault == nil
        }
    }
}
