import Endpoint
import Media
import Telemetry
import Testing
@testable import Packets
@testable import Relay
@testable import Transport

/// Viewers of one output who get different layers, and whose links refuse packets now and then: the books balance, and nobody gets a
/// picture that they cannot decode.
struct LayerBooksTests {
    /// Keeps what it accepts: pictures of one packet, that say which they are.
    private final class Wire: RTPSendWire {
        struct Picture: Hashable {
            var number: Int
            /// Whose it is: 3 the smaller encode's, 1 the publisher's, 2 the encoder's.
            var layer: UInt8
            var isKeyframe: Bool
            /// Counts those of the smaller encode, in 7 bits.
            var place: UInt8
            var isSent: Bool { layer == 1 }
        }

        private let state: Lock<(random: SplitMix64, pictures: [Picture])>
        let refuses: Double

        init(seed: UInt64, refuses: Double) {
            state = Lock((SplitMix64(seed: seed), []))
            self.refuses = refuses
        }

        func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent {
            guard !isControl else { return .sent }
            return state.withLock { state in
                guard state.random.unit() >= refuses else { return .wouldBlock }
                state.pictures.append(
                    Picture(
                        number: Int(packet[14]) << 8 | Int(packet[15]), layer: packet[13],
                        isKeyframe: packet[12] == 0x65, place: packet[16] & 0x7f))
                return .sent
            }
        }

        var pictures: [Picture] { state.withLock { $0.pictures } }
    }

    private static func send(
        _ number: Int, isSent: Bool, small: Int? = nil, isKeyframe: Bool, to outputs: inout FanOut, isOutput: Bool,
        at now: MonotonicTime
    ) {
        let bytes: [UInt8] = [
            0, 0, 0, 1, isKeyframe ? 0x65 : 0x41, small != nil ? 3 : isSent ? 1 : 2, UInt8(number >> 8), UInt8(number & 255),
            0x80 | UInt8((small ?? 0) & 127),
        ]
        bytes.withUnsafeBytes { bytes in
            let media = MediaUnit(kind: .video, bytes: bytes, presentation: MediaTime(ticks: Int64(number) * 3_000))
            if small != nil {
                _ = outputs.sendExtra(.h264, isKeyframe: isKeyframe, stamp: now, media, at: now)
            } else if isOutput {
                outputs.countOffered()
                _ = outputs.sendVideo(isKeyframe: isKeyframe, isSent: isSent, stamp: now, media: media, at: now) { _ in }
            } else {
                _ = outputs.sendSent(isKeyframe: isKeyframe, stamp: now, media)
            }
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>) func theBooksBalance(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let viewers = RTPViewers(capacity: 8)
        var outputs = FanOut([Sink(try StreamURL("rtp://127.0.0.1:9"), viewers: viewers)], map: nil)
        let requests: [ViewerLayer?] = [nil, .sent, .enhanced, .sent, .sound, nil, .small, .small]
        var wires: [Wire] = []
        for (index, request) in requests.enumerated() {
            let wire = Wire(seed: seed * 8 + UInt64(index), refuses: index > 2 ? 0.03 : 0)
            wires.append(wire)
            var track = RTPTrack([RTPFormat(.h264, payloadType: 100)])
            track.feedback = .pictureLoss
            _ = try #require(viewers.add([track], wire, peer: "\(index)", request: request))
        }
        let start = MonotonicTime.now()
        var (smallBehind, extraIsAsked, smallPictures): (MediaTime?, Bool, Int) = (nil, true, 0)
        var (input, behind, encoderIsAsked, isBypassed): (Int?, MediaTime?, Bool, Bool) = (500_000, nil, true, false)
        for number in 0..<900 {
            let now = start + .milliseconds(33) * Int64(number)
            // A mask comes and goes, and so does a bypass.
            if random.unit() < 0.01 { input = input == nil ? 500_000 : nil }
            let isSourceKeyframe = outputs.claimSourceKeyframe(at: now) || number % 60 == 0
            if isSourceKeyframe, random.unit() < 0.3 {
                isBypassed.toggle()
                encoderIsAsked = true
            }
            if input == nil, isBypassed { (isBypassed, encoderIsAsked) = (false, true) }
            _ = outputs.follow { _, _ in }
            outputs.extraOffer = ExtraOffer(small: isBypassed ? nil : 70_000)
            outputs.followPaces(floor: nil, ceiling: 2_000_000, input: input, at: now) { _, _ in }
            if let time = outputs.claimKeyframeBehind(.enhanced, at: now) { behind = time }
            if let time = outputs.claimKeyframeBehind(.small, at: now) { smallBehind = time }
            if outputs.claimKeyframe(at: now) { encoderIsAsked = true }
            if outputs.claimExtraKeyframe(at: now) { extraIsAsked = true }
            if isBypassed {
                Self.send(number, isSent: true, isKeyframe: isSourceKeyframe, to: &outputs, isOutput: true, at: now)
                continue
            }
            // The encoder's come two pictures later.
            if input != nil {
                Self.send(number, isSent: true, isKeyframe: isSourceKeyframe, to: &outputs, isOutput: false, at: now)
            } else {
                outputs.sentIsLeftOut()
            }
            let time = MediaTime(ticks: Int64(number - 2) * 3_000)
            let isForced = behind.map { time > $0 } ?? false
            if isForced { behind = nil }
            guard number >= 2 else { continue }
            Self.send(number - 2, isSent: false, isKeyframe: isForced || encoderIsAsked, to: &outputs, isOutput: true, at: now)
            encoderIsAsked = false
            // The other encode gives way now and then.
            guard outputs.wantedExtra != nil, random.unit() > 0.05 else { continue }
            let isSmallForced = smallBehind.map { time > $0 } ?? false
            if isSmallForced { smallBehind = nil }
            Self.send(
                number - 2, isSent: false, small: smallPictures, isKeyframe: isSmallForced || extraIsAsked, to: &outputs,
                isOutput: false,
                at: now)
            extraIsAsked = false
            smallPictures += 1
        }
        let books = outputs.books[0]
        #expect(books.balance && books.sent == UInt64(wires.reduce(0) { $0 + $1.pictures.count }), "\(books)")
        for (wire, request) in zip(wires, requests) {
            #expect(wire.pictures.isEmpty == (request == .sound))
            for (before, after) in zip(wire.pictures, wire.pictures.dropFirst()) {
                // What does not follow the picture before it is a keyframe. The encoder's have their own order.
                let isNext =
                    after.layer == 3
                    ? after.place == (before.place + 1) & 127 : after.number == before.number + 1
                let follows = after.layer == before.layer && isNext
                #expect(follows || after.isKeyframe, "\(before) \(after)")
            }
        }
        // Both layers were in use.
        #expect(Set(wires[1].pictures.map(\.isSent)) == [true, false])
        #expect(wires[6].pictures.contains { $0.layer == 3 } && wires[0].pictures.allSatisfy { $0.layer == 2 || $0.isSent })
    }
}
