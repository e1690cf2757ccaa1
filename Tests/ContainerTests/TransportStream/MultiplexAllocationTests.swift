import Foundation
import Media
import TestSupport
import Testing

@testable import Container

/// Packets of other programs cost no allocation, on their way in and out. The count is taken in a child process.
struct MultiplexAllocationTests {
    private static let variable = "BURNISH_COUNT_MULTIPLEX_ALLOCATIONS"

    @Test(.enabled(if: AllocationCounting.isPossible)) func packetsCostNoAllocation() throws {
        let (status, output) = try AllocationCounting.runChild("MultiplexCost", [Self.variable: "1"])
        #expect(status == 0 && output.contains("allocations: 0\n"), "\(output)")
        #expect(output.contains("control: 1000\n"), "\(output)")
    }

    /// The child's part.
    @Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment[variable] != nil)) struct MultiplexCost {
        @Test func count() throws {
            let counting = try #require(AllocationCounting())
            var stream = SyntheticStream(tables: false)
            stream.addSection(SyntheticStream.association([(1, 0x100), (2, 0x200)]), id: 0)
            stream.addSection(SyntheticStream.map(program: 1, streams: [(0x101, 0x1B, [])]), id: 0x100)
            stream.addSection(SyntheticStream.map(program: 2, streams: [(0x201, 0x1B, [])], clock: 0x201), id: 0x200)
            var message = SyntheticStream(tables: false)
            for _ in 0..<7 { message.addPacket([UInt8](repeating: 1, count: 184), id: 0x201) }
            let (tables, packets) = (stream.bytes, message.bytes)
            var demuxer = TransportStreamDemuxer()
            let muxer = try TransportStreamMuxer()
            var sent = 0
            let handle: (ContainerEvent) -> Void = { event in
                switch event {
                case .multiplex(let multiplex): _ = muxer.adopt(multiplex)
                case .packets(let packets): muxer.writePackets(packets.bytes, arrival: packets.arrival) { sent += $0.count }
                default: break
                }
            }
            func push(_ bytes: [UInt8], at milliseconds: Int64) {
                let time = MonotonicTime(nanoseconds: milliseconds * 1_000_000)
                bytes.withUnsafeBytes { demuxer.push($0, arrival: time, sourceTime: nil, handler: handle) }
            }
            push(tables, at: 0)
            for index in 0..<2000 {
                if index == 1000 { counting.begin() }
                push(packets, at: Int64(index))
            }
            counting.end()
            print("allocations: \(counting.bySwift)")
            #expect(sent > 2000 * 1316)
            let before = counting.bySwift
            var kept: [AnyObject] = []
            kept.reserveCapacity(1000)
            counting.begin()
            for _ in 0..<1000 { kept.append(Control()) }
            counting.end()
            print("control: \(counting.bySwift - before)")
            fflush(nil)
        }
    }

    private final class Control {}
}
