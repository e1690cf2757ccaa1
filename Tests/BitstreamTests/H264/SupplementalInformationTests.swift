import TestSupport
import Testing

@testable import Bitstream

@Suite struct SupplementalInformationTests {
    private func read(_ messages: [UInt8]) -> Int? {
        ([0x06] + messages).withUnsafeBytes { unsafe SupplementalInformation.recoveryFrameCount(in: $0) }
    }

    @Test func aRecoveryPointIsFoundBehindOtherMessages() {
        // User data of 5 bytes, then of 255 + 1 bytes; ue(v) 4, the flags 1, 0, 0, 0; the trailing bits.
        let large: [UInt8] = [5, 255, 1] + [UInt8](repeating: 7, count: 256)
        #expect(read([5, 5, 1, 2, 3, 4, 5] + large + [6, 2, 0b0010_1100, 0b0000_0000, 0x80]) == 4)
        #expect(read([6, 1, 0b1100_0100, 0x80]) == 0)
    }

    @Test func emulationPreventionBytesAreNotCounted() {
        // The size of the first message does not count the byte 3.
        #expect(read([1, 4, 0, 0, 3, 1, 9, 6, 1, 0b1100_0100, 0x80]) == 0)
    }

    @Test func noMessageOrHalfAMessageIsNone() {
        #expect(read([]) == nil)
        #expect(read([0x80]) == nil)
        #expect(read([5, 2, 6, 1, 0x80]) == nil)
        #expect(read([6]) == nil)
        #expect(read([6, 0]) == nil)
        #expect(read([6, 1]) == nil)
        #expect(read([5, 255, 255, 255, 1, 6, 1]) == nil)
        #expect(read([UInt8](repeating: 255, count: 600)) == nil)
    }

    /// HEVC's messages of light, among others, and cut off.
    @Test func messagesOfLight() {
        func light(_ messages: [UInt8]) -> LightMessages {
            var light = LightMessages()
            ([0x4E, 0x01] + messages + [0x80]).withUnsafeBytes {
                unsafe SupplementalInformation.readLight(in: $0, into: &light)
            }
            return light
        }
        let display: [UInt8] = [137, 24] + [UInt8](repeating: 7, count: 16) + [0x02, 0x62, 0x5A, 0x04, 1, 1, 1, 1]
        let content: [UInt8] = [144, 4, 0x07, 0xD0, 1, 0x90]
        #expect(light([147, 1, 18]).transfer == 18)
        #expect(light(content).peak == 2000)
        #expect(abs((light(display).peak ?? 0) - 4000) < 1)
        // The content's comes first, where it is no nonsense.
        #expect(light(display + [6, 1, 0xAA] + content).peak == 2000)
        #expect(abs((light([144, 4, 0, 0, 0, 0] + display).peak ?? 0) - 4000) < 1)
        #expect(light([6, 1, 0xAA]) == LightMessages() && light([144, 3, 1, 1, 1]).peak == nil)
        for count in 0..<display.count { _ = light(Array(display.prefix(count))) }
    }
}
