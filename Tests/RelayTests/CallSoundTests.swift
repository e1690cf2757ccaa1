import Codec
import Container
import Media
import Telemetry
import TestStreams
import Testing

@testable import Relay

/// The transcoder of a call's sound: its queues, its times and its books.
struct CallSoundTests {
    private let counters = StreamCounters()
    private let control = StreamControl()
    private let wake = WakeUp()
    private static let start = MediaTime(ticks: 900_000)

    private var fates: UInt64 {
        let fates: [StreamCounters.Counter] = [
            .callSoundTranscoded, .callSoundBroken, .callSoundLate, .callSoundOverrun, .callSoundFailed,
        ]
        return fates.reduce(0) { $0 + counters[$1] }
    }

    private func offer(
        _ sound: CallSound, _ bytes: [UInt8], at time: MediaTime?, moved: Int64 = 0, codec: SoundCodec = .aacADTS
    ) -> Bool {
        let origin = time ?? Self.start
        let stamp = MonotonicTime(nanoseconds: 1_000_000_000) + MediaTime(ticks: origin - Self.start).nanoseconds
        return bytes.withUnsafeBytes {
            sound.offer($0, .init(codec: codec, presentation: time, moved: moved, stamp: stamp))
        }
    }

    private func drain(_ sound: CallSound) -> [(time: MediaTime, stamp: MonotonicTime, size: Int)] {
        var packets: [(MediaTime, MonotonicTime, Int)] = []
        while let packet = sound.next() {
            packets.append((packet.presentation, packet.stamp, packet.bytes.count))
            sound.recycle(packet)
        }
        return packets
    }

    @Test func unitsBecomePacketsWithTheirTimes() throws {
        let sound = CallSound(wake: wake, counters, control)
        let units = try TestSound.aac(frames: 40, start: Self.start)
        for unit in units { #expect(offer(sound, unit.bytes, at: unit.time)) }
        wake.wait(until: .now() + .seconds(3600))
        sound.finish()
        let packets = drain(sound)
        // 40 frames are 853 ms; the last packet is filled up.
        #expect(packets.count >= 84 && packets.allSatisfy { $0.size > 0 })
        #expect(zip(packets, packets.dropFirst()).allSatisfy { $1.time - $0.time == 900 })
        // Each has the source time of its own presentation.
        for packet in packets {
            let expected = 1_000_000_000 + (packet.time - Self.start) * 100_000 / 9
            #expect(abs(packet.stamp.nanoseconds - expected) < 50_000)
        }
        #expect(counters[.callSoundIn] == UInt64(units.count) && counters[.callSoundTranscoded] == UInt64(units.count))
        #expect(control.events.count == 1)
    }

    /// The first frame moved the epoch after half of the units had been offered: what is held moves with them, and no gap is left.
    @Test func unitsThatAreMovedLeaveNoGap() throws {
        let sound = CallSound(wake: wake, counters, control)
        let units = try TestSound.aac(frames: 40, start: Self.start)
        for (number, unit) in units.enumerated() {
            let moved: Int64 = number == 20 ? 4_001 : 0
            #expect(offer(sound, unit.bytes, at: unit.time + (number >= 20 ? 4_001 : 0), moved: moved))
        }
        sound.finish()
        let packets = drain(sound)
        let steps = zip(packets, packets.dropFirst()).map { $1.time - $0.time }
        #expect(packets.count >= 84 && steps.filter { $0 != 900 } == [4_901], "\(steps)")
    }

    @Test func everyUnitHasAFate() throws {
        let sound = CallSound(wake: wake, counters, control)
        let units = try TestSound.aac(frames: 30, start: Self.start)
        // Without a time, then well, then broken, then once more what has been heard.
        #expect(offer(sound, units[0].bytes, at: nil))
        for unit in units[1..<20] { #expect(offer(sound, unit.bytes, at: unit.time)) }
        var broken = units[20].bytes
        for at in broken.indices.dropFirst(7) { broken[at] = 0xff }
        #expect(offer(sound, broken, at: units[20].time))
        for unit in units[21..<25] { #expect(offer(sound, unit.bytes, at: unit.time)) }
        #expect(offer(sound, units[10].bytes, at: units[10].time))
        sound.finish()
        #expect(counters[.callSoundIn] == 26 && fates == 26)
        #expect(counters[.callSoundLate] == 2 && counters[.callSoundBroken] == 1 && counters[.callSoundTranscoded] == 23)
    }

    /// Units of zeros, as some senders write them while they have no sound: one line tells of them, and what follows is heard.
    @Test func soundThatCannotBeDecodedIsToldOnce() throws {
        let sound = CallSound(wake: wake, counters, control)
        let units = try TestSound.aac(frames: 140, start: Self.start)
        for (number, unit) in units.enumerated() {
            let zeros = Array(unit.bytes.prefix(7)) + Array(repeating: 0, count: unit.bytes.count - 7)
            #expect(offer(sound, (5..<120).contains(number) ? zeros : unit.bytes, at: unit.time))
            while fates <= UInt64(number) { (MonotonicTime.now() + .milliseconds(0.2)).sleep() }
            while let packet = sound.next() { sound.recycle(packet) }
        }
        sound.finish()
        #expect(counters[.callSoundBroken] >= 100 && counters[.callSoundTranscoded] >= 20 && fates == UInt64(units.count))
        var lines: [String] = []
        while let event = control.events.pop(until: MonotonicTime(nanoseconds: 0)) { lines.append("\(event)") }
        #expect(lines.count { $0.contains("cannot be decoded") } == 1, "\(lines)")
    }

    /// The transcoder is held up: 64 units wait beside the one in hand, and the others are lost.
    @Test func unitsBeyondTheQueueAreCounted() throws {
        let (begun, mayGoOn) = (WakeUp(), WakeUp())
        let sound = CallSound(wake: wake, counters, control) { (codec) throws(CodecError) in
            begun.raise()
            mayGoOn.wait(until: .now() + .seconds(3600))
            return try SoundTranscoder(codec)
        }
        let units = try TestSound.aac(frames: 80, start: Self.start)
        var accepted = [offer(sound, units[0].bytes, at: units[0].time)]
        begun.wait(until: .now() + .seconds(3600))
        for unit in units[1..<70] { accepted.append(offer(sound, unit.bytes, at: unit.time)) }
        #expect(accepted == Array(repeating: true, count: 65) + Array(repeating: false, count: 5))
        #expect(counters[.callSoundIn] == 70 && fates == 5)
        mayGoOn.raise()
        sound.finish()
        #expect(counters[.callSoundOverrun] == 5 && counters[.callSoundTranscoded] == 65 && fates == 70)
    }

    /// Nobody removes packets: as many as fit wait, and the others are lost.
    @Test func packetsBeyondTheQueueAreCounted() throws {
        let sound = CallSound(wake: wake, counters, control)
        let units = try TestSound.aac(frames: 80, start: Self.start)
        for (number, unit) in units.enumerated() {
            #expect(offer(sound, unit.bytes, at: unit.time))
            while counters[.callSoundTranscoded] <= UInt64(number) { (MonotonicTime.now() + .milliseconds(0.2)).sleep() }
        }
        sound.finish()
        let packets = drain(sound)
        #expect(packets.count == CallSound.mostPackets)
        // 80 frames are 170.7 packets.
        let dropped = Int(counters[.callPacketsDropped])
        #expect((169...175).contains(packets.count + dropped) && fates == UInt64(units.count), "\(dropped)")
    }

    /// There is no decoder, or no libopus: one line says so, nothing is tried for each unit, and each unit is counted.
    @Test func aTranscoderThatCannotBeMadeFailsOnce() throws {
        let tries = Count()
        let sound = CallSound(wake: wake, counters, control) { (codec) throws(CodecError) in
            _ = tries.next()
            throw CodecError(
                .unsupportedCodec, operation: "test", message: "no decoder for \(codec.name)", place: "test", advice: "none")
        }
        for _ in 0..<5 { #expect(offer(sound, [1, 2, 3], at: Self.start)) }
        sound.finish()
        #expect(counters[.callSoundIn] == 5 && counters[.callSoundFailed] == 5 && control.events.count == 1)
        #expect(tries.calls == 1 && sound.next() == nil)
    }

    @Test func callsGetOneStreamOfSound() {
        func stream(_ streams: [TransportStreamLayout.PassedStream]) -> CallStream? {
            var layout = TransportStreamLayout()
            layout.passedStreams = streams
            return CallStream(of: layout)
        }
        let data = TransportStreamLayout.PassedStream(streamType: 6)
        let opus = TransportStreamLayout.PassedStream(streamType: 6, descriptors: [5, 4] + Array("Opus".utf8))
        let layer2 = TransportStreamLayout.PassedStream(streamType: 3)
        #expect(stream([]) == nil && stream([data]) == nil)
        let last = stream([data, layer2, .aac, opus])
        #expect(last?.index == 3 && last?.form == .opus)
        let first = stream([data, layer2, .aac])
        #expect(first?.index == 1 && first?.form == .transcoded(.mpegAudio))
    }
}
