import Foundation
import Media
import Synchronization
import TestSupport
import Testing

@testable import WebRTC

/// No code of ours allocates for a packet. The count is taken in a child process, by an interposed `malloc` that tells Swift's
/// allocations from those of libraries: Debian's libsrtp stands on NSS, which does allocate.
struct CallAllocationTests {
    static let packets = 2000
    private static let variable = "BURNISH_COUNT_CALL_ALLOCATIONS"

    @Test(.enabled(if: AllocationCounting.isPossible)) func packetsCostNoAllocation() throws {
        let (status, output) = try AllocationCounting.runChild("PacketCost", [Self.variable: "1"])
        #expect(status == 0, "\(output)")
        let counts = output.split(separator: "\n").filter { $0.hasPrefix("allocations ") }
        #expect(counts.count == 4, "\(output)")
        for line in counts {
            // That it counts at all is part of the test.
            #expect(line.hasSuffix(": 0") != line.contains("control"), "\(line) in \(Self.packets) packets")
        }
    }

    private final class Counter: PeerReceiver {
        let packets = Atomic<Int>(0)
        let isConnected = Atomic<Bool>(false)
        func receive(_ kind: PacketKind, _ packet: UnsafeRawBufferPointer, arrival: MonotonicTime) {
            packets.add(1, ordering: .relaxed)
        }
        func peerChanged(_ change: PeerChange) {
            if case .connected = change { isConnected.store(true, ordering: .relaxed) }
        }
    }

    private struct Missing: Error {
        let packet: Int
    }

    /// The child's part.
    @Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment[variable] != nil)) struct PacketCost {
        @Test func count() throws {
            let counting = try #require(AllocationCounting())
            let identity = try #require(DTLSIdentity())
            let local = PeerAddress(host: "127.0.0.1", port: 0)!
            let port = try WebRTCPort(.init(local: local), identity: identity)
            let far = try PortLoopbackTests.Far(.client, local, at: port.local, fingerprint: identity.fingerprint)
            let counter = Counter()
            let (peer, answer) = try port.add(far.peer.request, receiver: counter)
            let other = far.peer
            other.remote = answer.credentials
            far.send(other.check())
            // One thread is both sides.
            let isConnected = far.run {
                port.turn(until: .now())
                return counter.isConnected.load(ordering: .relaxed) && other.state == .connected
            }
            #expect(isConnected)
            let total = 2 * CallAllocationTests.packets
            let packets = (0..<total).map { other.protect(.rtp, TestPeer.rtp(sequence: UInt16($0))) }

            func receive(_ range: Range<Int>) throws {
                let limit = MonotonicTime.now() + PortLoopbackTests.timeout
                for index in range {
                    far.send(packets[index])
                    while counter.packets.load(ordering: .relaxed) <= index {
                        guard .now() < limit else { throw Missing(packet: index) }
                        port.turn(until: .now() + .seconds(1))
                    }
                }
            }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 16)
            defer { buffer.deallocate() }
            func send(_ range: Range<Int>) {
                for number in range {
                    buffer.copyBytes(from: TestPeer.header)
                    buffer.storeBytes(of: UInt16(number).bigEndian, toByteOffset: 2, as: UInt16.self)
                    if number % 2 == 0 {
                        _ = peer.send(.rtp, buffer, count: 200)
                    } else {
                        _ = peer.send(.rtp, copying: UnsafeRawBufferPointer(rebasing: buffer[..<200]))
                    }
                }
            }
            // A slow machine's packets come with the ticks of some seconds.
            let idle = try CallUnderTest(.client)
            idle.connect()
            func tick(_ range: Range<Int>) {
                for number in range { _ = idle.core.tick(at: idle.now + .milliseconds(Double(number))) }
            }
            let bodies: [(String, (Range<Int>) throws -> Void)] = [
                ("receiving", receive), ("sending", send), ("ticking", tick),
            ]
            for (name, body) in bodies {
                try body(0..<CallAllocationTests.packets)
                let before = counting.bySwift
                counting.begin()
                try body(CallAllocationTests.packets..<total)
                counting.end()
                print("allocations \(name): \(counting.bySwift - before)")
            }
            let before = counting.bySwift
            counting.begin()
            withExtendedLifetime([UInt8](repeating: 0, count: Int.random(in: 100...200))) {}
            counting.end()
            print("allocations control: \(counting.bySwift - before)")
            port.close()
        }
    }
}
