import Media
import Testing
@testable import Packets

/// A picture that its sender sends in several sizes, in virtual time.
struct SimulcastTests {
    /// Sends three layers as browsers do: each has a source, numbers and stamps of its own, and sends keyframes when it is asked.
    final class Sender {
        struct Layer {
            let name: UInt8
            /// A tenth of the pictures' width.
            let width: UInt8
            let source: UInt32
            var number: UInt16
            let stamp: UInt32
            var needsKeyframe = true
            var isSent = true
        }

        /// By size.
        var layers: [Layer] = ([16, 32, 64] as [UInt8]).enumerated().map { index, width in
            Layer(
                name: UInt8(ascii: "a") + UInt8(index), width: width, source: 1000 + UInt32(index),
                number: 100 &* UInt16(index) &- 50, stamp: UInt32(index) &* 1_500_000_000)
        }
        var order = [0, 1, 2]
        var bearsNames = true
        var session: RTPReceiveSession
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        private let begin = MonotonicTime(nanoseconds: 1_000_000_000)
        /// When the picture was taken that is sent now, in all sizes.
        private var pictureTime = MonotonicTime(nanoseconds: 1_000_000_000)
        private(set) var delivered: [(arrival: RTPArrival, width: Int, at: MonotonicTime)] = []
        private(set) var events: [RTPReceiveSession.Event] = []
        /// When a keyframe was asked for, by the source.
        private(set) var asked: [(at: MonotonicTime, source: UInt32)] = []
        private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 16)

        init(named: [RTPLayer] = [RTPLayer(name: "a"), RTPLayer(name: "b"), RTPLayer(name: "c")]) {
            var track = RTPTrack([RTPFormat(.h264, payloadType: 96, retransmission: 97)])
            track.feedback = [.retransmission, .pictureLoss, .arrivals]
            (track.extensions.layer, track.extensions.repeatedLayer) = (10, 11)
            track.layers = named
            var configuration = RTPReceiveSession.Configuration()
            configuration.isAuthentic = true
            // A keyframe begins with its width; other packets begin with 0.
            configuration.pictureSize = { codec, payload in
                payload.count > 1 && payload[0] > 0 ? PictureSize(width: Int(payload[0]) * 10, height: 90) : nil
            }
            session = RTPReceiveSession([track], configuration)
        }

        deinit { buffer.deallocate() }

        private static func bytes(_ value: UInt64, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }

        /// - Parameter original: the number of the packet that this one repeats.
        func packet(_ index: Int, isFirst: Bool, isMarked: Bool, original: UInt16? = nil) -> [UInt8] {
            let layer = layers[index]
            let isRepeat = original != nil
            let ticks = UInt64(max(0, MediaTime.ticks(in: pictureTime - begin)))
            var bytes: [UInt8] = [bearsNames ? 0x90 : 0x80, (isMarked ? 0x80 : 0) | (isRepeat ? 97 : 96)]
            bytes += Self.bytes(UInt64(layer.number), 2)
            bytes += Self.bytes(UInt64(layer.stamp) + ticks, 4) + Self.bytes(UInt64(layer.source) + (isRepeat ? 500 : 0), 4)
            if bearsNames { bytes += [0xbe, 0xde, 0, 1, isRepeat ? 0xb0 : 0xa0, layer.name, 0, 0] }
            if let original { bytes += Self.bytes(UInt64(original), 2) }
            return bytes + [isFirst && layer.needsKeyframe ? layer.width : 0, layer.width]
        }

        func give(_ bytes: [UInt8]) {
            bytes.withUnsafeBytes { _ = session.receive($0, arrival: now) }
            while let event = session.nextEvent(at: now) { events.append(event) }
            while let (arrival, count) = session.next(at: now, into: buffer) {
                delivered.append((arrival, Int(buffer[count - 1]) * 10, now))
            }
            var packets: [[UInt8]] = []
            session.nextFeedback(at: now) { bytes, _ in packets.append(Array(bytes)) }
            for bytes in packets {
                var reader = RTCPReader(bytes.span)
                while let packet = reader.next() {
                    guard case .pictureLoss(let media) = packet else { continue }
                    asked.append((now, media))
                    for index in layers.indices where layers[index].source == media { layers[index].needsKeyframe = true }
                }
            }
        }

        func takePicture() { pictureTime = now }

        /// Sends pictures of two packets in all layers.
        func send(_ pictures: Int, every interval: Nanoseconds = .milliseconds(33)) {
            for _ in 0..<pictures {
                takePicture()
                for index in order where layers[index].isSent {
                    let first = packet(index, isFirst: true, isMarked: false)
                    // The answer to this packet may be a request for the next keyframe.
                    layers[index].needsKeyframe = false
                    give(first)
                    layers[index].number &+= 1
                    now = now + .milliseconds(1)
                    give(packet(index, isFirst: false, isMarked: true))
                    layers[index].number &+= 1
                    now = now + .milliseconds(1)
                }
                now = now + (interval - .milliseconds(2) * Int64(order.count { layers[$0].isSent }))
            }
        }

        var widths: [Int] { delivered.map(\.width) }
        /// Each width with how many packets of it came in a row.
        var runs: [Int] {
            var all: [Int] = []
            for width in widths where all.last != width { all.append(width) }
            return all
        }
        var sizes: [Int] { events.compactMap { if case .receivesLayer(let size, _) = $0 { size.width } else { nil } } }
        /// The times of the pictures that were delivered.
        var times: [MediaTime] {
            var all: [MediaTime] = []
            for each in delivered where all.last != each.arrival.presentation { all.append(each.arrival.presentation) }
            return all
        }
    }

    /// Nothing of another layer is delivered, and nothing is missing.
    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0]]) func theLargestIsReceivedFromItsFirstPacketOn(order: [Int]) {
        let sender = Sender()
        sender.order = order
        sender.send(60)
        #expect(sender.runs == [640] && sender.delivered.count == 120, "\(sender.runs)")
        #expect(sender.sizes.last == 640 && sender.session.losses == .init() && sender.session.unexpected == 0)
        #expect(sender.events.count { if case .began = $0 { true } else { false } } == 1)
        #expect(sender.session.leftOut >= 236 && sender.asked.isEmpty, "\(sender.session.leftOut) \(sender.asked)")
    }

    /// A sender may name the sources of its layers, or nothing at all.
    @Test(arguments: [
        [RTPLayer(source: 1000), RTPLayer(source: 1001), RTPLayer(source: 1002)],
        [RTPLayer(name: "x"), RTPLayer(name: "y"), RTPLayer(name: "z")],
    ]) func layersAreToldByTheirSources(named: [RTPLayer]) {
        let sender = Sender(named: named)
        sender.bearsNames = false
        sender.send(30)
        #expect(sender.runs.last == 640 && sender.session.losses == .init() && sender.session.unexpected == 0)
        #expect(sender.delivered.count >= 50)
    }

    /// Where announced layers do not come, those that do wait for a moment only.
    @Test func aLayerThatComesAloneIsReceived() throws {
        let sender = Sender()
        (sender.layers[1].isSent, sender.layers[2].isSent) = (false, false)
        sender.send(30)
        #expect(sender.runs == [160] && sender.delivered.count == 60)
        let first = try #require(sender.delivered.first)
        #expect(first.at - MonotonicTime(nanoseconds: 1_000_000_000) <= .milliseconds(140))
    }

    /// Repeats of other layers have numbers of their own.
    @Test func repeatsOfAnotherLayerAreNotFiledInTheOrder() {
        let sender = Sender()
        sender.send(30)
        for index in [0, 1, 2] {
            for step in 1...3 as ClosedRange<UInt16> {
                let original = sender.layers[index].number &- step
                sender.give(sender.packet(index, isFirst: false, isMarked: false, original: original &+ 9_000))
                sender.give(sender.packet(index, isFirst: false, isMarked: false, original: original))
                sender.layers[index].number &+= 1
            }
            sender.layers[index].number &-= 3
        }
        sender.send(30)
        #expect(sender.runs == [640] && sender.delivered.count == 120)
        #expect(sender.session.losses == .init(), "\(sender.session.losses)")
    }

    /// Browsers send the upper layers when the network has shown that it carries them.
    @Test func aLargerLayerThatComesLaterIsAskedForAKeyframe() throws {
        let sender = Sender()
        sender.layers[2].isSent = false
        sender.send(30)
        #expect(sender.runs == [320])
        // Its first keyframe was lost.
        (sender.layers[2].isSent, sender.layers[2].needsKeyframe) = (true, false)
        let begin = sender.now
        sender.send(60)
        #expect(sender.runs == [320, 640] && sender.sizes == [320, 640], "\(sender.runs) \(sender.sizes)")
        let first = try #require(sender.delivered.first { $0.width == 640 })
        #expect(first.at - begin < .milliseconds(200) && sender.asked.map(\.source) == [1002])
        #expect(zip(sender.times, sender.times.dropFirst()).allSatisfy { $0 < $1 })
        #expect(sender.session.losses == .init() && sender.events.count { if case .began = $0 { true } else { false } } == 1)
    }

    /// When the upper layer stops, the next one is received within half a second; when it comes back, it has to last first. The times
    /// go on, and the pictures are as far apart as before.
    @Test func layersFallAndRise() throws {
        let sender = Sender()
        sender.send(60)
        sender.layers[2].isSent = false
        let gone = sender.now
        sender.send(60)
        let fallen = try #require(sender.delivered.first { $0.width == 320 })
        #expect(fallen.at - gone < .milliseconds(500) && fallen.at - gone >= .milliseconds(200))
        sender.layers[2].isSent = true
        let back = sender.now
        sender.send(120)
        let risen = try #require(sender.delivered.first { $0.width == 640 && $0.at > back })
        #expect(risen.at - back >= SimulcastLayers.firstTrial && risen.at - back < .milliseconds(2600))
        #expect(sender.runs == [640, 320, 640] && sender.sizes == [640, 320, 640])
        let steps = zip(sender.times, sender.times.dropFirst()).map { $1 - $0 }
        #expect(steps.allSatisfy { $0 > 0 } && steps.count { $0 < 2_500 || $0 > 3_500 } <= 3, "\(steps)")
        // The second time it has to last longer.
        sender.layers[2].isSent = false
        sender.send(60)
        sender.layers[2].isSent = true
        let again = sender.now
        sender.send(200)
        let last = try #require(sender.delivered.first { $0.width == 640 && $0.at > again })
        #expect(last.at - again >= SimulcastLayers.firstTrial * 2)
    }

    /// Pictures of a layer that come seldom are no absence, although others come more often.
    @Test func aSlowLayerBesideFastOnesIsNotGone() {
        let sender = Sender()
        sender.send(30)
        for _ in 0..<20 {
            sender.order = [0, 1]
            sender.send(3, every: .milliseconds(50))
            sender.order = [0, 1, 2]
            sender.send(1, every: .milliseconds(50))
        }
        #expect(sender.runs == [640])
    }

    /// A sender that stops one layer for another ten times a second, or as soon as the other one is relayed.
    @Test(arguments: [100.0, 400.0]) func layersThatChangeAllTheTimeCostFewKeyframes(milliseconds: Double) {
        let sender = Sender()
        sender.send(30)
        sender.layers[0].isSent = false
        let begin = sender.now
        var isUpper = false
        while sender.now - begin < .seconds(40) {
            (sender.layers[1].isSent, sender.layers[2].isSent) = (!isUpper, isUpper)
            sender.send(max(1, Int(milliseconds / 33)))
            isUpper.toggle()
        }
        // Four in a row, and one in two seconds.
        #expect(sender.runs.count <= 26 && sender.asked.count <= 120, "\(sender.runs.count) \(sender.asked.count)")
        #expect(sender.events.count { if case .began = $0 { true } else { false } } == 1)
    }

    /// Another source with the layer's name, as when a track is replaced: what it sends goes on with its first keyframe.
    @Test func aLayerMayBeginAnewWithAnotherSource() throws {
        let sender = Sender()
        sender.send(30)
        let before = sender.delivered.count
        for index in sender.layers.indices {
            sender.layers[index] = .init(
                name: sender.layers[index].name, width: sender.layers[index].width, source: 2000 + UInt32(index), number: 7,
                stamp: 77, needsKeyframe: false)
        }
        sender.send(30)
        #expect(sender.asked.map(\.source).contains(2002) && sender.runs == [640])
        #expect(sender.delivered.count - before > 50 && sender.session.losses == .init())
        #expect(zip(sender.times, sender.times.dropFirst()).allSatisfy { $0 < $1 })
        #expect(sender.events.count { if case .began = $0 { true } else { false } } == 1)
    }

    /// A shared screen that stands still sends a picture in a second, the smallest first.
    @Test func slowPicturesAreNoAbsence() {
        let sender = Sender()
        sender.send(30)
        for index in sender.layers.indices { sender.layers[index].needsKeyframe = false }
        sender.send(20, every: .seconds(1))
        for index in sender.layers.indices { sender.layers[index].needsKeyframe = true }
        sender.send(20, every: .seconds(1))
        #expect(sender.runs == [640] && sender.sizes.last == 640 && sender.asked.isEmpty)
    }

    /// Half a picture of the former layer does not count as a whole one.
    @Test func theRestOfAPictureCountsAsMissing() throws {
        let sender = Sender()
        sender.layers[2].isSent = false
        sender.send(30)
        sender.takePicture()
        sender.give(sender.packet(1, isFirst: true, isMarked: false))
        sender.layers[1].number &+= 1
        sender.layers[2].isSent = true
        sender.order = [2]
        sender.send(2)
        let first = try #require(sender.delivered.first { $0.width == 640 })
        #expect(first.arrival.lost == 1)
    }

    @Test func aGoodbyeOfOneLayerEndsNothing() throws {
        let sender = Sender()
        sender.send(30)
        func goodbye(_ source: UInt32) {
            var writer = RTCPWriter()
            writer.goodbye([source])
            sender.give(writer.bytes)
        }
        goodbye(1002)
        sender.layers[2].isSent = false
        sender.send(30)
        #expect(sender.runs == [640, 320])
        goodbye(1001)
        goodbye(1000)
        sender.now = sender.now + .milliseconds(100)
        sender.give([0x80, 200])
        #expect(sender.events.contains(.ended(reason: "the sender said goodbye")))
    }
}
