import Media
import Testing
@testable import Packets

/// A sender's and a receiver's session over a path that loses, delays and swaps what it likes, in virtual time.
struct RTPSessionTests {
    /// One track of video, or one of each kind, from a sender to a receiver.
    final class Path {
        private var sender: RTPSendSession
        private var receiver: RTPReceiveSession
        let tracks: [RTPTrack]
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        /// One way.
        var delay = Nanoseconds.milliseconds(10)
        /// Whether a packet is lost, by its place among all that the sender sent.
        var loses: (Int) -> Bool = { _ in false }
        var losesFeedback = false
        /// How many of all packets are lost in either direction, 0…1.
        var lossRate = 0.0
        private var random: UInt64 = 11
        private var flying: [(time: MonotonicTime, bytes: [UInt8], isForward: Bool, order: Int)] = []
        private(set) var sent = 0
        private var order = 0
        private(set) var delivered: [(arrival: RTPArrival, payload: [UInt8], at: MonotonicTime)] = []
        private(set) var events: [RTPReceiveSession.Event] = []
        private(set) var feedback: [(at: MonotonicTime, packets: [RTCPPacket])] = []
        private(set) var sentTypes: [UInt8] = []
        /// The packet that was sent last.
        private(set) var newest: [UInt8] = []
        private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)

        init(_ tracks: [RTPTrack], _ configuration: RTPReceiveSession.Configuration = .init()) {
            self.tracks = tracks
            sender = RTPSendSession(tracks, clock: WallClock(wall: 0xeb00_0000_8000_0000, time: now))
            receiver = RTPReceiveSession(tracks, configuration)
        }

        deinit { buffer.deallocate() }

        static func video(_ feedback: RTPFeedback = [.retransmission, .pictureLoss], repeats: UInt8? = 97) -> RTPTrack {
            var track = RTPTrack([RTPFormat(.h264, payloadType: 96, retransmission: repeats)])
            track.feedback = feedback
            // Whom the description names gets feedback from the first packet on.
            track.source = 0x0506_0708
            return track
        }

        private func launch(_ bytes: [UInt8], isForward: Bool) {
            // Knuth's generator; its upper bits.
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            guard Double(random >> 11) / 9_007_199_254_740_992 >= lossRate else { return }
            order += 1
            flying.append((now + delay, bytes, isForward, order))
        }

        /// Sends a packet whose payload is a number.
        /// - Parameter error: by how much the packet's time stamp is wrong on the wire.
        func send(_ number: UInt8, track: Int = 0, ticks: Int64, isMarked: Bool = true, error: UInt32 = 0) {
            let wasLost = loses(sent)
            sent += 1
            var made: [UInt8] = []
            let result = [number].withUnsafeBytes {
                sender.send(
                    $0, UnsafeRawBufferPointer(start: nil, count: 0), track: track, presentation: MediaTime(ticks: ticks),
                    sourceTime: now, isMarked: isMarked, at: now
                ) {
                    made = Array($0)
                    return .sent
                }
            }
            #expect(result == .sent)
            sentTypes.append(made[1] & 0x7f)
            newest = made
            let stamp = made[4..<8].reduce(0) { $0 << 8 | UInt32($1) } &+ error
            for place in 0..<4 { made[4 + place] = UInt8(truncatingIfNeeded: stamp >> UInt32(24 - 8 * place)) }
            if !wasLost { launch(made, isForward: true) }
            var reports: [[UInt8]] = []
            sender.nextReport(at: now) { packet, _ in reports.append(Array(packet)) }
            if sendsReports { for report in reports { launch(report, isForward: true) } }
        }

        var sendsReports = true

        /// Lets time pass.
        func run(_ time: Nanoseconds) {
            let end = now + time
            while true {
                turn()
                let next = flying.map(\.time).min()
                let timer = receiver.nextTimer
                let step = min(next ?? end, timer.map { max($0, now + .microseconds(100)) } ?? end)
                guard step < end else { break }
                now = max(step, now)
            }
            now = end
            turn()
        }

        private func turn() {
            while let index = flying.indices.filter({ flying[$0].time <= now })
                .min(by: { (flying[$0].time, flying[$0].order) < (flying[$1].time, flying[$1].order) })
            {
                let packet = flying.remove(at: index)
                if packet.isForward {
                    packet.bytes.withUnsafeBytes { _ = receiver.receive($0, arrival: packet.time) }
                } else {
                    var again: [[UInt8]] = []
                    packet.bytes.withUnsafeBytes {
                        sender.receive($0, at: packet.time) { bytes, _ in again.append(Array(bytes)) }
                    }
                    for bytes in again {
                        sentTypes.append(bytes[1] & 0x7f)
                        launch(bytes, isForward: true)
                    }
                }
                settle()
            }
            settle()
        }

        private func settle() {
            while let event = receiver.nextEvent(at: now) { events.append(event) }
            while let (arrival, count) = receiver.next(at: now, into: buffer) {
                delivered.append((arrival, Array(buffer[..<count]), now))
            }
            var packets: [[UInt8]] = []
            receiver.nextFeedback(at: now) { bytes, _ in packets.append(Array(bytes)) }
            for bytes in packets {
                var reader = RTCPReader(bytes.span)
                var read: [RTCPPacket] = []
                while let packet = reader.next() { read.append(packet) }
                feedback.append((now, read))
                if !losesFeedback { launch(bytes, isForward: false) }
            }
        }

        /// Anything that the network may bring.
        func inject(_ bytes: [UInt8], isFromPeer: Bool = false) -> Bool {
            bytes.withUnsafeBytes { receiver.receive($0, arrival: now, isFromPeer: isFromPeer) }
        }
        var rejected: Int64 { receiver.reportsRejected }
        var unexpected: Int64 { receiver.unexpected }

        var numbers: [UInt8] { delivered.map { $0.payload[0] } }
        var losses: RTPReceiveSession.Losses { receiver.losses }
        var roundTrip: Nanoseconds? { receiver.roundTrip }
        var timer: MonotonicTime? { receiver.nextTimer }
        func end() { receiver.end(reason: "the call is over") }
        var told: RTPSendSession.Feedback { sender.feedback }
        func claimKeyframe() -> Bool { sender.claimKeyframe(at: now) }
        var requests: [(at: MonotonicTime, numbers: [UInt16])] {
            feedback.flatMap { entry in
                entry.packets.compactMap { if case .lost(_, let numbers) = $0 { (entry.at, numbers) } else { nil } }
            }
        }
        var pictureLosses: [MonotonicTime] {
            feedback.flatMap { entry in
                entry.packets.compactMap { if case .pictureLoss = $0 { entry.at } else { nil } }
            }
        }
        func setNeedsKeyframe(_ value: Bool) { receiver.needsKeyframe = value }
        func goodbye() {
            sender.nextReport(at: now, isGoodbye: true) { bytes, _ in launch(Array(bytes), isForward: true) }
        }
    }

    @Test func packetsInOrderPassAtOnce() {
        let path = Path([Path.video()])
        for number in 0..<20 {
            path.send(UInt8(number), ticks: Int64(number) * 3000)
            path.run(.milliseconds(33))
        }
        path.run(.milliseconds(20))
        #expect(path.numbers == (0..<20).map { UInt8($0) } && path.events == [.began(track: 0)])
        #expect(path.delivered.allSatisfy { $0.at == $0.arrival.arrival && $0.arrival.lost == 0 && $0.arrival.isMarked })
        let steps = zip(path.delivered, path.delivered.dropFirst()).map { $1.arrival.presentation - $0.arrival.presentation }
        #expect(steps.allSatisfy { $0 == 3000 } && path.requests.isEmpty && path.pictureLosses.isEmpty)
    }

    /// Asked for as soon as the next packet shows the gap, and there a round trip later, as a packet of its own format.
    @Test(arguments: [97, nil] as [UInt8?]) func aLostPacketIsAskedForAndComesAgain(repeats: UInt8?) throws {
        let path = Path([Path.video(repeats: repeats)])
        path.loses = { $0 == 3 }
        for number in 0..<6 {
            path.send(UInt8(number), ticks: 0, isMarked: number == 5)
            path.run(.milliseconds(1))
        }
        path.run(.milliseconds(60))
        #expect(path.numbers == [0, 1, 2, 3, 4, 5] && path.delivered.allSatisfy { $0.arrival.lost == 0 })
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        #expect(path.requests.map(\.at) == [start + .milliseconds(14)] && path.requests[0].numbers.count == 1)
        #expect(path.delivered[3].at == start + .milliseconds(34))
        #expect(path.losses == .init(found: 1, repaired: 1, abandoned: 0) && path.roundTrip == .milliseconds(20))
        #expect(path.told.requested == 1 && path.told.repeated == 1 && path.pictureLosses.isEmpty)
        #expect(path.sentTypes.last == repeats ?? 96)
    }

    /// Asked for again after a round trip, until the packets behind it are due; then a keyframe is asked for at once.
    /// A network's round trip is learnt from the first loss, also where that comes too late to be of use.
    /// - Parameters:
    ///   - milliseconds: the round trip.
    ///   - requests: so many requests for the second loss go nowhere.
    @Test(arguments: [
        (40.0, 0, true), (40, 1, true), (80, 1, true), (180, 0, true), (180, 1, false), (240, 0, true), (400, 0, false),
    ])
    func theHoldFollowsTheRoundTrip(milliseconds: Double, requests: Int, repairs: Bool) throws {
        let path = Path([Path.video()])
        path.delay = .milliseconds(milliseconds / 2)
        path.loses = { $0 == 1 || $0 == 40 }
        for number in 0..<60 {
            path.send(UInt8(number), ticks: Int64(number) * 3000)
            // The next packet shows the loss.
            path.losesFeedback = requests > 0 && number == 41
            path.run(path.losesFeedback ? path.delay + .milliseconds(1) : .milliseconds(33))
        }
        path.losesFeedback = false
        path.run(.milliseconds(500))
        #expect(path.numbers.contains(40) == repairs)
        #expect(path.numbers.contains(1) == (milliseconds < 110))
        #expect(path.numbers == path.numbers.sorted() && path.losses.found == 2)
    }

    @Test func aLossThatIsNotRepairedAsksForAKeyframe() throws {
        let path = Path([Path.video()])
        path.losesFeedback = true
        path.loses = { $0 == 1 }
        for number in 0..<3 { path.send(UInt8(number), ticks: 0) }
        path.run(.milliseconds(400))
        #expect(path.numbers == [0, 2] && path.delivered[1].arrival.lost == 1)
        #expect(path.requests.count == 3, "\(path.requests)")
        #expect(path.losses == .init(found: 1, repaired: 0, abandoned: 1))
        let abandoned = path.delivered[1].at
        #expect(path.pictureLosses.first == abandoned && abandoned - path.delivered[1].arrival.arrival <= .milliseconds(110))
        // Until it has come, it is asked for again.
        #expect(path.pictureLosses.count == 2)
        path.setNeedsKeyframe(false)
        path.run(.seconds(1))
        #expect(path.pictureLosses.count == 2)
    }

    @Test func whereNothingIsSentAgainAGapIsShort() {
        let path = Path([Path.video([], repeats: nil)])
        path.loses = { $0 == 1 }
        for number in 0..<3 { path.send(UInt8(number), ticks: 0) }
        path.run(.milliseconds(100))
        #expect(path.numbers == [0, 2] && path.requests.isEmpty && path.pictureLosses.count == 1)
        #expect(path.delivered[1].at - path.delivered[1].arrival.arrival == .milliseconds(20))
    }

    @Test func overtakenPacketsAreDeliveredInOrderAndOnce() {
        let path = Path([Path.video([], repeats: nil)])
        for number in 0..<6 {
            path.delay = .milliseconds(number == 2 ? 15 : 10)
            path.send(UInt8(number), ticks: 0)
            path.run(.milliseconds(1))
        }
        path.run(.milliseconds(50))
        #expect(path.numbers == [0, 1, 2, 3, 4, 5] && path.losses.abandoned == 0)
    }

    @Test func aFloodOfRequestsGivesAKeyframeTwiceASecond() {
        let path = Path([Path.video()])
        path.send(0, ticks: 0)
        path.run(.milliseconds(30))
        var given = 0
        for number in 1...100 {
            path.setNeedsKeyframe(false)
            path.setNeedsKeyframe(true)
            path.send(UInt8(number), ticks: Int64(number) * 900)
            path.run(.milliseconds(20))
            if path.claimKeyframe() { given += 1 }
        }
        #expect((3...5).contains(given) && path.told.keyframeRequests > 5)
    }

    /// A picture and the sound of the same moment, whose time stamps count from anywhere, by reports or by arrival.
    @Test(arguments: [true, false]) func soundAndPicturesLieTogether(hasReports: Bool) throws {
        var sound = RTPTrack([RTPFormat(.opus, payloadType: 111)])
        sound.feedback = []
        let path = Path([Path.video(), sound])
        path.sendsReports = hasReports
        // The picture's packets take longer: they are larger.
        for number in 0..<400 {
            let ticks = Int64(number) * 1800
            path.delay = .milliseconds(number < 5 ? 60 : 12)
            path.send(1, track: 0, ticks: ticks)
            path.delay = .milliseconds(10)
            path.send(2, track: 1, ticks: ticks)
            path.run(.milliseconds(20))
        }
        let (last, other) = (path.delivered[path.delivered.count - 1], path.delivered[path.delivered.count - 2])
        #expect(last.arrival.track != other.arrival.track)
        let apart = last.arrival.presentation - other.arrival.presentation
        // Of packets that were sent together. Twenty milliseconds are 1,800 ticks.
        let newest = path.delivered.suffix(4)
        let (picture, its) = (
            try #require(newest.last { $0.arrival.track == 0 }), try #require(newest.last { $0.arrival.track == 1 })
        )
        _ = apart
        let offset = (picture.arrival.presentation - its.arrival.presentation) % 1800
        #expect(min(abs(offset), 1800 - abs(offset)) < 600, "\(offset)")
        #expect(path.events.contains(.alignedByArrival) == !hasReports)
    }

    @Test func reportsTellTheRoundTripAndTheLoss() {
        let path = Path([Path.video()])
        path.loses = { $0 > 100 && $0 % 4 == 0 }
        path.losesFeedback = false
        for number in 0..<200 {
            path.send(UInt8(number % 250), ticks: Int64(number) * 1800)
            path.run(.milliseconds(20))
        }
        // What was repaired was lost all the same.
        #expect(path.told.reports > 2 && abs((path.told.fractionLost ?? 0) - 0.25) < 0.05, "\(path.told)")
        #expect(path.told.roundTrip.map { abs($0.milliseconds - 20) < 0.1 } == true, "\(path.told)")
        #expect(path.losses.found > 20 && path.losses.abandoned == 0)
    }

    @Test func arrivalsAreReportedWhereTheyAreAgreedOn() {
        var track = Path.video([.arrivals, .bitRate, .retransmission])
        track.extensions.transportSequence = 3
        let path = Path([track])
        for number in 0..<60 {
            path.send(UInt8(number), ticks: Int64(number) * 1800)
            path.run(.milliseconds(20))
        }
        let reports = path.feedback.flatMap(\.packets).compactMap { if case .arrivals(let report) = $0 { report } else { nil } }
        #expect(reports.count > 10 && reports.allSatisfy { $0.packets > 0 && $0.received == $0.packets })
        #expect(path.told.bitRate.map { abs(Int64($0) - 4_000_000) < 40_000 } == true)
    }

    @Test func aSenderThatLeavesMakesRoomForTheNext() {
        let path = Path([Path.video()])
        path.send(0, ticks: 0)
        path.run(.milliseconds(30))
        let secondSender: [UInt8] = [0x80, 96, 0, 1, 0, 0, 0, 0, 9, 9, 9, 9, 1]
        #expect(!path.inject(secondSender))
        path.goodbye()
        path.run(.milliseconds(60))
        #expect(path.events.contains(.ended(reason: "the sender said goodbye")))
        #expect(path.inject(secondSender))
        path.run(.milliseconds(5))
        #expect(path.numbers == [0, 1])
        // Silence ends it, too, and what is no RTP is reported once.
        #expect(!path.inject([1, 2, 3]) && !path.inject([4]) && !path.inject([0x80, 50] + [UInt8](repeating: 0, count: 20)))
        path.run(.seconds(6))
        #expect(path.events.count { if case .ended = $0 { true } else { false } } == 2)
        #expect(path.events.count { if case .refused = $0 { true } else { false } } == 3)
    }
}
