import Media
import Packets
import Telemetry

/// Sends a program's sound to calls as it comes: Opus as it is, other formats by a transcoder, which is made when the first unit
/// needs it while a call's viewer receives.
///
/// Used under the lock of ``SendStage``. Nothing here allocates in the steady state.
struct CallSender {
    /// The most packets that are sent under one lock.
    private static let packetBatch = 16

    private let passing: PassingStreams
    private let counters: StreamCounters
    private let control: StreamControl
    private(set) var sound: CallSound?
    /// The epoch that may still have moved since the newest unit was transcoded, and by how much it had then.
    private var provisional: (epoch: UInt32, moved: Int64)?

    init(_ passing: PassingStreams, _ counters: StreamCounters, _ control: StreamControl) {
        self.passing = passing
        self.counters = counters
        self.control = control
    }

    /// Sends a passing unit.
    /// - Returns: whether somebody has all of it, or the transcoder has; false also for what is not for calls.
    mutating func send(_ unit: PassingUnit, to outputs: inout FanOut) -> Bool {
        guard let form = unit.forCalls, outputs.hasMediaReceivers else { return false }
        let stamp = unit.sourceTime ?? unit.arrival
        if case .transcoded(let codec) = form {
            let moved = followMove(unit.provisionalEpoch)
            return unsafe transcode(
                unit.bytes,
                .init(codec: codec, presentation: passing.presentation(of: unit), moved: moved, stamp: stamp))
        }
        guard let presentation = passing.presentation(of: unit) else { return false }
        return unsafe outputs.sendToCalls(
            MediaUnit(kind: .sound, bytes: unit.bytes, presentation: presentation), stamp: stamp)
    }

    /// Sends a frame of silence in a format that the program has.
    mutating func sendSilence(
        _ bytes: UnsafeRawBufferPointer, _ form: CallStream.Form, at presentation: MediaTime, stamp: MonotonicTime,
        to outputs: inout FanOut
    ) {
        guard outputs.hasMediaReceivers else { return }
        if case .transcoded(let codec) = form {
            let moved = followMove(nil)
            _ = unsafe transcode(bytes, .init(codec: codec, presentation: presentation, moved: moved, stamp: stamp))
        } else {
            _ = unsafe outputs.sendToCalls(MediaUnit(kind: .sound, bytes: bytes, presentation: presentation), stamp: stamp)
        }
    }

    /// Sends packets that have been transcoded.
    /// - Returns: whether more may be there because a batch is full.
    func sendTranscoded(to outputs: inout FanOut) -> Bool {
        guard let sound else { return false }
        for _ in 0..<Self.packetBatch {
            guard let packet = sound.next() else { return false }
            let media = unsafe MediaUnit(
                kind: .sound, bytes: packet.bytes, presentation: packet.presentation, hasControlHeaders: false)
            let isWhole = outputs.sendToCalls(media, stamp: packet.stamp)
            counters.add(isWhole ? .callPacketsOut : .callPacketsDropped)
            sound.recycle(packet)
        }
        return true
    }

    private mutating func transcode(_ bytes: UnsafeRawBufferPointer, _ unit: CallSound.Unit) -> Bool {
        let sound = sound ?? CallSound(wake: passing.wake, counters, control)
        self.sound = sound
        return unsafe sound.offer(bytes, unit)
    }

    /// - Returns: by how much the epoch of the units before has moved since the last call.
    private mutating func followMove(_ epoch: UInt32?) -> Int64 {
        defer { provisional = epoch.map { ($0, passing.moved($0)) } }
        return provisional.map { passing.moved($0.epoch) - $0.moved } ?? 0
    }
}
