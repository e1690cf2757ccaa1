import Media
import Testing

@testable import WebRTC

struct SRTPTests {
    static let key: [30 of UInt8] = .init { UInt8($0 * 7) }

    static func sessions(_ profile: SRTPProfile) -> (SRTPBox, SRTPBox) {
        (SRTPBox(profile, .outbound), SRTPBox(profile, .inbound))
    }

    /// Two of them fit a tuple.
    final class SRTPBox {
        var session: SRTPSession
        init(_ profile: SRTPProfile, _ direction: SRTPSession.Direction) {
            session = SRTPSession(profile, key: SRTPTests.key, direction)!
        }
        func protect(_ kind: PacketKind, _ packet: [UInt8]) -> [UInt8]? {
            var bytes = packet + [UInt8](repeating: 0, count: SRTPSession.trailerRoom)
            return bytes.withUnsafeMutableBytes { unsafe session.protect(kind, $0, count: packet.count) }.map {
                Array(bytes[..<$0])
            }
        }
        func unprotect(_ kind: PacketKind, _ packet: [UInt8]) -> Result<[UInt8], SRTPSession.Refused> {
            var bytes = packet
            return bytes.withUnsafeMutableBytes { unsafe session.unprotect(kind, $0) }.map { Array(bytes[..<$0]) }
        }
    }

    /// RFC 3711, B.3's key and salt are for the key derivation; libsrtp tests those itself. Here: both profiles agree with
    /// themselves, have their tags' lengths, and differ from each other.
    @Test(arguments: [(SRTPProfile.aeadAES128GCM, 16, 20), (.aes128CMSHA1, 10, 14)])
    func whatIsProtectedIsReadAgain(profile: SRTPProfile, tag: Int, reportTag: Int) throws {
        let (sender, receiver) = Self.sessions(profile)
        // 70,000 packets pass the wrap of the sequence numbers.
        for number in 0..<70_000 where number < 100 || number > 65_500 && number < 65_600 {
            let packet = TestPeer.rtp(
                sequence: UInt16(truncatingIfNeeded: number), payload: Array(repeating: 9, count: number % 50))
            let sent = try #require(sender.protect(.rtp, packet))
            #expect(sent.count == packet.count + tag)
            #expect(try receiver.unprotect(.rtp, sent).get() == packet)
        }
        let sent = try #require(sender.protect(.rtcp, TestPeer.report))
        #expect(sent.count == TestPeer.report.count + reportTag)
        #expect(try receiver.unprotect(.rtcp, sent).get() == TestPeer.report)
        #expect(throws: SRTPSession.Refused.self) { try receiver.unprotect(.rtcp, sent).get() }
    }

    @Test func whatIsNoPacketIsNotSent() {
        let (sender, _) = Self.sessions(.aeadAES128GCM)
        #expect(sender.protect(.rtp, [0x80, 96]) == nil)
        #expect(sender.protect(.rtcp, [0x80, 201, 0, 0]) == nil)
        // A header that says it is longer than the packet.
        #expect(sender.protect(.rtp, [0x8f, 96, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2]) == nil)
        var exact = TestPeer.rtp(sequence: 1)
        #expect(
            exact.withUnsafeMutableBytes { unsafe sender.session.protect(.rtp, $0, count: $0.count) } == nil,
            "no room for the tag")
    }

    /// A packet that comes late is taken once within the window.
    @Test func lateAndOldPackets() throws {
        let (sender, receiver) = Self.sessions(.aeadAES128GCM)
        let all = (0..<2000).map { sender.protect(.rtp, TestPeer.rtp(sequence: UInt16($0)))! }
        _ = try receiver.unprotect(.rtp, all[0]).get()
        _ = try receiver.unprotect(.rtp, all[1999]).get()
        _ = try receiver.unprotect(.rtp, all[1500]).get()
        for index in [1500, 1999, 500, 0] {
            guard case .failure(let refused) = receiver.unprotect(.rtp, all[index]) else {
                Issue.record("packet \(index) was taken")
                continue
            }
            #expect(refused.fault == .replayed)
        }
    }
}
