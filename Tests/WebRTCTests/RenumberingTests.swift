import Media
import Testing

@testable import WebRTC

/// A publisher's packets with our numbers.
struct RenumberingTests {
    static let track: CallTrack = {
        let offer = try! CallOfferTests.read(CallOfferTests.offer)
        return offer.tracks[0]
    }()
    let renumbering = PacketRenumbering([track])

    func renumbered(_ packet: [UInt8]) -> [UInt8]? {
        var packet = packet
        return packet.withUnsafeMutableBytes { unsafe renumbering.apply(to: $0) } ? packet : nil
    }

    static func packet(type: UInt8, marker: Bool = false, profile: [UInt8], elements: [UInt8]) -> [UInt8] {
        [0x90, (marker ? 0x80 : 0) | type, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3] + profile + [0, UInt8(elements.count / 4)] + elements
            + [9, 9]
    }

    @Test func formatsGetOurNumbers() {
        #expect(renumbered([0x80, 109, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3])?[1] == 96)
        #expect(renumbered([0x80, 0x80 | 109, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3])?[1] == 224)
        #expect(renumbered([0x80, 114, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3])?[1] == 97)
        // Offered, but not agreed on.
        #expect(renumbered([0x80, 127, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3]) == nil)
        #expect(renumbered([0x80, 109, 0]) == nil && renumbered([0x40, 109] + [UInt8](repeating: 0, count: 10)) == nil)
    }

    /// Numbers 2 and 4 are agreed on; 1 and 3 are not, and become padding.
    @Test func shortElementsGetOurNumbers() {
        let elements: [UInt8] = [0x22, 1, 2, 3, 0x31, 7, 7, 0, 0x41, 5, 6, 0]
        let expected: [UInt8] = [0x12, 1, 2, 3, 0, 0, 0, 0, 0x21, 5, 6, 0]
        #expect(
            renumbered(Self.packet(type: 109, profile: [0xbe, 0xde], elements: elements))
                == Self.packet(type: 96, profile: [0xbe, 0xde], elements: expected))
    }

    @Test func longElementsGetOurNumbers() {
        let elements: [UInt8] = [2, 3, 1, 2, 3, 0, 3, 1, 7, 4, 2, 5, 6, 0, 0, 0]
        let expected: [UInt8] = [1, 3, 1, 2, 3, 0, 0, 0, 0, 2, 2, 5, 6, 0, 0, 0]
        #expect(
            renumbered(Self.packet(type: 109, profile: [0x10, 0x00], elements: elements))
                == Self.packet(type: 96, profile: [0x10, 0x00], elements: expected))
    }

    /// Wherever a packet ends, and whatever its lengths say.
    @Test func malformedPacketsAreDroppedOrCleared() {
        for profile in [[0xbe, 0xde], [0x10, 0x00]] as [[UInt8]] {
            let whole = Self.packet(type: 109, profile: profile, elements: [0x22, 1, 2, 3, 0x2f, 7, 7, 0xf0, 2, 250, 2, 2])
            for count in 0...whole.count { _ = renumbered(Array(whole[..<count])) }
            for index in whole.indices {
                var changed = whole
                for value in [0, 1, 0x0f, 0xf0, 0xff] as [UInt8] {
                    changed[index] = value
                    if let result = renumbered(changed) { #expect(result.count == whole.count) }
                }
            }
        }
    }

    @Test func packetsWaitInTheirOrder() {
        let inbox = PacketInbox()
        var buffer = [UInt8](repeating: 0, count: 100)
        func pop() -> [UInt8]? {
            let popped = buffer.withUnsafeMutableBytes { unsafe inbox.pop(into: $0) }
            return popped.map { Array(buffer[..<$0.byteCount]) }
        }
        #expect(pop() == nil)
        for number in 0..<1500 {
            let bytes = [UInt8(number & 255), UInt8(number >> 8)]
            bytes.withUnsafeBytes { unsafe inbox.push($0, arrival: .init(nanoseconds: 0)) }
        }
        #expect(inbox.dropped == 1500 - 1024)
        for number in 0..<1024 { #expect(pop() == [UInt8(number & 255), UInt8(number >> 8)]) }
        #expect(pop() == nil && inbox.isEmpty)
        [UInt8](repeating: 1, count: 1600).withUnsafeBytes { unsafe inbox.push($0, arrival: .init(nanoseconds: 0)) }
        #expect(inbox.isEmpty)
    }
}
