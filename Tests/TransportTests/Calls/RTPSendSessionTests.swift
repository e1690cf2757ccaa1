import Media
import Testing
@testable import Packets

/// What one receiver's session sends, in virtual time.
struct RTPSendSessionTests {
    /// A session and everything that it has sent.
    final class Sending {
        private var session: RTPSendSession
        let tracks: [RTPTrack]
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        private(set) var packets: [[UInt8]] = []
        private(set) var repeats: [[UInt8]] = []

        init(_ tracks: [RTPTrack]) {
            self.tracks = tracks
            session = RTPSendSession(tracks)
        }

        var reports: [SenderReport] {
            var reports: [SenderReport] = []
            session.nextReport(at: now) { packet, _ in
                let bytes = Array(packet)
                var reader = RTCPReader(bytes.span)
                while let packet = reader.next() { if case .senderReport(let report, _) = packet { reports.append(report) } }
            }
            return reports
        }

        static func video(_ feedback: RTPFeedback = .retransmission, repeats: UInt8? = 97) -> RTPTrack {
            var track = RTPTrack([RTPFormat(.h264, payloadType: 96, retransmission: repeats)])
            track.feedback = feedback
            track.source = 5
            return track
        }

        @discardableResult func send(_ count: Int, track: Int = 0) -> Sent {
            let payload = [UInt8](repeating: UInt8(truncatingIfNeeded: packets.count), count: count)
            return payload.withUnsafeBytes {
                session.send(
                    $0, UnsafeRawBufferPointer(start: nil, count: 0), track: track, presentation: MediaTime(ticks: 0),
                    sourceTime: now, isMarked: true, at: now
                ) {
                    packets.append(Array($0))
                    return .sent
                }
            }
        }

        func receive(_ body: (inout RTCPWriter) -> Void) {
            var writer = RTCPWriter()
            body(&writer)
            receive(writer.bytes)
        }

        func receive(_ bytes: [UInt8]) {
            bytes.withUnsafeBytes { session.receive($0, at: now) { packet, _ in repeats.append(Array(packet)) } }
        }

        func claimKeyframe() -> Bool { session.claimKeyframe(at: now) }

        /// Asks for all packets that were sent, or the newest of them, as many at a time as a datagram names.
        func requestAll(newest: Int = .max) {
            let numbers = packets.suffix(newest).map { Self.number(of: $0) }
            for start in stride(from: 0, to: numbers.count, by: 200) {
                receive { $0.lost(Array(numbers[start..<min(start + 200, numbers.count)]), from: 1, media: 5) }
            }
        }

        func read(_ packet: [UInt8]) -> RTPPacket { RTPPacket(reading: packet.span, map: tracks[0].extensions)! }
        static func number(of packet: [UInt8]) -> UInt16 { UInt16(packet[2]) << 8 | UInt16(packet[3]) }
        var told: RTPSendSession.Feedback { session.feedback }
    }

    @Test func aReceiverGetsNoMoreAgainThanForTheFirstTime() {
        let sending = Sending([Sending.video()])
        for _ in 0..<100 { sending.send(1000) }
        // Ten requests for the same packets, each later than a round trip.
        for _ in 0..<10 {
            sending.now = sending.now + .milliseconds(50)
            sending.requestAll()
        }
        #expect(sending.repeats.count == 100)
        #expect(sending.told.requested == 1000 && sending.told.repeated == 100 && sending.told.refused == 900)
        // What is sent then allows as much again.
        for _ in 0..<3 { sending.send(1000) }
        sending.now = sending.now + .milliseconds(50)
        sending.requestAll()
        #expect(sending.repeats.count == 103)
    }

    @Test func nothingIsSavedUpWithoutEnd() {
        let sending = Sending([Sending.video()])
        for _ in 0..<4000 { sending.send(1188) }
        for _ in 0..<5 {
            sending.now = sending.now + .milliseconds(50)
            sending.requestAll()
        }
        // Packets of 1,200 bytes.
        #expect(sending.repeats.count == 256)
    }

    /// Above what the link carries nothing is sent again, whatever is asked for.
    @Test func aLinkWithoutRoomGetsNothingAgain() {
        var budget = RepeatBudget()
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        func granted(_ rate: UInt64?, seconds: Double) -> Int {
            var count = 0
            for _ in 0..<Int(seconds * 100) {
                budget.earn(3_000)
                for _ in 0..<3 where budget.claim(1_000, rate: rate, at: now) == .granted { count += 1 }
                now = now + .milliseconds(10)
            }
            return count
        }
        // 400 kb/s: 12.5 packets at once, and 50 a second.
        #expect((61...63).contains(granted(400_000, seconds: 1)))
        #expect(budget.claim(1_000, rate: 400_000, at: now) == .noRoom)
        now = now + .seconds(10)
        // However long nothing was lost, a link that carries little gets little at once.
        #expect((1...3).contains(granted(1_000, seconds: 1)))
        // Without an estimate it gets as much as for the first time.
        #expect(granted(nil, seconds: 1) == 300 && budget.claim(RepeatBudget.most + 1, rate: nil, at: now) == .spent)
    }

    /// A receiver who asks for all that it got costs a keyframe twice a second at most, and nothing from before it is sent again.
    @Test func aGapEndsWithAKeyframe() {
        var video = Sending.video([.retransmission, .arrivals])
        video.extensions.transportSequence = 3
        let sending = Sending([video])
        var keyframes = 0
        for picture in 0..<300 {
            for _ in 0..<10 { sending.send(1_000) }
            sending.now = sending.now + .milliseconds(33)
            let base = UInt16(truncatingIfNeeded: picture * 10 + sending.repeats.count)
            // Its link carries 240 kb/s.
            sending.receive { writer in
                var feedback = TransportFeedback()
                (feedback.base, feedback.reference) = (base, UInt32(picture * 330 / 64))
                feedback.arrivals = (0..<10).map { Int64(picture * 330 % 64 * 4 + $0 * 132) }
                writer.arrivals(feedback, from: 1, media: 5)
            }
            sending.requestAll(newest: 200)
            if sending.claimKeyframe() { keyframes += 1 }
        }
        #expect(keyframes > 3 && keyframes <= 20, "\(keyframes)")
        #expect(sending.told.gaps == Int64(keyframes) || sending.told.gaps == Int64(keyframes) + 1)
        #expect(sending.repeats.count < 600, "\(sending.repeats.count)")
    }

    /// A number that no packet bears looks like a loss: where a track has none, where nothing could be built, and where the same
    /// bytes are sent again.
    @Test(arguments: [97, nil] as [UInt8?]) func transportNumbersHaveNoGaps(repeats: UInt8?) {
        var video = Sending.video(repeats: repeats)
        video.extensions.transportSequence = 3
        let sending = Sending([video, RTPTrack([RTPFormat(.opus, payloadType: 111)])])
        for _ in 0..<10 {
            sending.send(100)
            sending.send(50, track: 1)
            #expect(sending.send(2000) == .wouldBlock)
        }
        sending.now = sending.now + .milliseconds(50)
        sending.requestAll()
        sending.send(100)
        let pictures = sending.packets.filter { $0[1] & 0x7f == 96 }
        let all = pictures.dropLast() + (repeats == nil ? [] : sending.repeats) + pictures.suffix(1)
        let numbers = all.map { sending.read($0).extensions.transportSequence }
        #expect(numbers == (0..<UInt16(all.count)).map { $0 } && sending.repeats.count == 10)
    }

    /// Its place in the history has another packet. Were that changed, a repeat would show another one's number, and SRTP would
    /// use up that one's nonce.
    @Test func aPayloadThatIsTooLargeLeavesTheHistoryAsItIs() {
        var video = Sending.video(repeats: nil)
        video.extensions.absoluteCaptureTime = 2
        let sending = Sending([video])
        for _ in 0..<512 { sending.send(100) }
        for count in [RTPTrackSender.mostPayload + 1, 1490, 1500, 4000] { #expect(sending.send(count) == .wouldBlock) }
        sending.now = sending.now + .milliseconds(50)
        sending.requestAll()
        #expect(sending.repeats == sending.packets && sending.packets.count == 512)
        #expect(sending.send(RTPTrackSender.mostPayload) == .sent && sending.packets[512].count <= PacketHistory.room)
    }

    /// Browsers hold pictures back where nobody tells them how long they may.
    @Test(arguments: [0, 3]) func whoeverAgreesIsToldToShowPicturesAtOnce(id: Int) {
        var video = Sending.video()
        video.extensions.playoutDelay = id
        let sending = Sending([video])
        for _ in 0..<3 { sending.send(100) }
        let told = sending.packets.map { sending.read($0).extensions }
        let wanted: UInt16? = id > 0 ? 0 : nil
        #expect(told.count == 3 && told.allSatisfy { $0.leastPlayoutDelay == wanted && $0.mostPlayoutDelay == wanted })
    }

    /// By them receivers put sound and pictures together.
    @Test func allTracksReportTheSameMoment() throws {
        let sending = Sending([Sending.video(), RTPTrack([RTPFormat(.opus, payloadType: 111)])])
        sending.send(100)
        sending.send(100, track: 1)
        let first = sending.reports
        sending.now = sending.now + .milliseconds(1500)
        let second = sending.reports
        #expect(first.count == 2 && first[0].wallClock == first[1].wallClock)
        #expect(second.count == 2 && second[0].wallClock == second[1].wallClock)
        #expect(second[0].wallClock &- first[0].wallClock == 3 << 31)
        #expect(second[0].timestamp &- first[0].timestamp == 135_000 && second[1].timestamp &- first[1].timestamp == 72_000)
    }

    private func report(lost: UInt8) -> RTCPPacket.ReportBlock {
        RTCPPacket.ReportBlock(
            source: 5, fractionLost: lost, lost: 0, highestSequence: 0, jitter: 0, lastReport: 0, delay: 0)
    }

    @Test func lossesAreThoseOfReceiverReportsElseOfArrivals() {
        let sending = Sending([Sending.video(.arrivals)])
        func tell(_ arrivals: [Int64?]) {
            var feedback = TransportFeedback()
            feedback.arrivals = arrivals
            sending.receive { $0.arrivals(feedback, from: 1, media: 5) }
        }
        sending.receive { $0.receiverReport(from: 1, report(lost: 64)) }
        tell([0, 1, 2, 3])
        #expect(sending.told.fractionLost == 0.25 && sending.told.reports == 1)
        // It sends no more of them: what it tells of a second counts as one report.
        for _ in 0..<40 {
            sending.now = sending.now + .milliseconds(100)
            tell([0, nil])
        }
        #expect(sending.told.fractionLost == 0.5 && sending.told.reports == 2)
        sending.receive { $0.receiverReport(from: 1, report(lost: 0)) }
        #expect(sending.told.fractionLost == 0 && sending.told.reports == 3)
    }

    /// A datagram of many reports counts as one, and none where they were not agreed on.
    @Test(arguments: [true, false]) func arrivalsCountOncePerDatagram(isAgreed: Bool) {
        let sending = Sending([Sending.video(isAgreed ? .arrivals : .retransmission)])
        func tell(_ arrivals: [[Int64?]]) {
            sending.receive { writer in
                for each in arrivals {
                    var feedback = TransportFeedback()
                    feedback.arrivals = each
                    writer.arrivals(feedback, from: 1, media: 5)
                }
            }
            sending.now = sending.now + .seconds(1)
        }
        tell([[0, nil], [0, 1], [0, 1]])
        tell([[0, nil]])
        #expect(sending.told.fractionLost == (isAgreed ? 0.5 : nil))
    }

    /// Its memory is that of one packet.
    @Test(arguments: [false, true]) func packetsAreRememberedWhereTheyAreSentAgain(isAgreed: Bool) {
        let sender = RTPTrackSender(Sending.video(isAgreed ? .retransmission : []))
        let now = MonotonicTime(nanoseconds: 0)
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        let packets = (0..<3).map { _ in Array(sender.build(none, none, timestamp: 0, isMarked: true, .init(), at: now)!) }
        let counts = packets.map { sender.byteCount(ofRepeat: Sending.number(of: $0), at: now, roundTrip: .zero) }
        #expect(counts == (isAgreed ? [12, 12, 12] : [nil, nil, 12]))
    }

    @Test func nothingIsSentAgainWhereThatWasNotAgreedOn() {
        let sending = Sending([Sending.video([.pictureLoss])])
        sending.send(100)
        sending.requestAll()
        #expect(sending.repeats.isEmpty && sending.told.requested == 0)
    }
}
