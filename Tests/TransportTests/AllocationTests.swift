import Endpoint
import Foundation
import Media
import TestSupport
import Testing
@testable import Packets
@testable import Transport

/// Nothing of ours allocates for a message. The count is taken in a child process, by an interposed `malloc` that looks at
/// its caller: allocations of Swift code come through libswiftCore, those of libsrt through libstdc++.
struct AllocationTests {
    static let messages = 10_000
    private static let variable = "BURNISH_COUNT_ALLOCATIONS"

    @Test(.enabled(if: AllocationCounting.isPossible)) func messagesCostNoAllocation() throws {
        let (status, output) = try AllocationCounting.runChild("AllocationProbe", [Self.variable: "1"])
        // libsrt was used and the process ended cleanly.
        #expect(status == 0, "\(output)")
        let counts = output.split(separator: "\n").filter { $0.hasPrefix("allocations ") }
        #expect(counts.count == 9, "\(output)")
        for line in counts {
            // That it counts at all is part of the test.
            #expect(line.hasSuffix(": 0") != line.contains("control"), "\(line) in \(Self.messages) messages")
        }
    }

    /// The child's part.
    @Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment[variable] != nil)) struct AllocationProbe {
        @Test(arguments: ["early", "tsbpd", "udp", "rtp"]) func count(kind: String) throws {
            let counting = try #require(AllocationCounting())
            let isSRT = kind == "early" || kind == "tsbpd"
            let source = try Source(
                StreamURL(isSRT ? "srt://127.0.0.1:0?mode=listener&latency=20&ingest=\(kind)" : "\(kind)://127.0.0.1:0"))
            let sink = try Sink(StreamURL("\(isSRT ? "srt" : kind)://127.0.0.1:\(source.localPort)"))
            try sink.awaitConnection(until: .now() + Reader.timeout)
            let warmUp = 500
            let total = warmUp + AllocationTests.messages
            let sender = StageThread(name: "sender") {
                let message = UnsafeMutableRawBufferPointer.allocate(byteCount: 1316, alignment: 16)
                let start = MonotonicTime.now()
                var before = 0
                for i in 0..<total {
                    if i == warmUp {
                        before = counting.bySwift
                        counting.begin()
                    }
                    (start + .microseconds(Int64(i) * 200)).sleep()
                    _ = sink.send(UnsafeRawBufferPointer(message), sourceTime: .now())
                }
                counting.end()
                print("allocations \(kind) sending: \(counting.bySwift - before)")
                message.deallocate()
            }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
            let before = counting.bySwift
            var received = 0
            let limit = MonotonicTime.now() + Reader.timeout
            // A loss on the way is not this test's business.
            var quiet = 0
            while received < total && quiet < 40 && .now() < limit {
                switch source.receive(into: buffer, until: .now() + .milliseconds(50)) {
                case .message:
                    received += 1
                    quiet = 0
                    if received == warmUp { counting.begin() }
                case .idle: quiet += received > 0 ? 1 : 0
                case .event, .end, .failed: break
                }
            }
            counting.end()
            print("allocations \(kind) receiving: \(counting.bySwift - before)")
            #expect(received > total / 2)
            sender.join()
            buffer.deallocate()
            fflush(nil)
        }

        @Test func control() throws {
            let counting = try #require(AllocationCounting())
            let before = counting.bySwift
            counting.begin()
            let bytes = numbered(1)
            counting.end()
            print("allocations control: \(counting.bySwift - before)")
            #expect(bytes.count == 1316)
        }
    }
}
