import Foundation
import Media
import Synchronization
import TestSupport
import Testing

@testable import WorkerProtocol

@Suite struct MessageChannelTests {
    /// In a child process, because the limit holds for all of a process.
    @Test func aProcessWithoutDescriptorsGetsAFault() throws {
        guard ProcessInfo.processInfo.environment["BURNISH_NO_DESCRIPTORS"] != nil else {
            let child = try runChild(
                "MessageChannelTests/aProcessWithoutDescriptorsGetsAFault", ["BURNISH_NO_DESCRIPTORS": "1"])
            #expect(child.status == 0, "\(child.output)")
            return
        }
        let free = dup(0)
        close(free)
        for room in 0..<4 {
            var limit = rlimit(rlim_cur: rlim_t(free) + rlim_t(room), rlim_max: 4096)
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            #expect(throws: MessageFault.self) { _ = try SupervisorChannel.pair() }
        }
        var limit = rlimit(rlim_cur: 256, rlim_max: 4096)
        #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        for _ in 0..<300 { _ = try SupervisorChannel.pair() }
    }

    /// A pair whose two ends are channels.
    static func channels() throws -> (SupervisorChannel, WorkerChannel) {
        let (parent, child) = try SupervisorChannel.pair()
        return (parent, try WorkerChannel(owning: child.claim()))
    }

    static var openDescriptors: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count ?? -1
    }

    static func message<M, N>(_ arrival: MessageChannel<M, N>.Arrival?) -> N? {
        if case .message(let message, _) = arrival { message } else { nil }
    }

    @Test func messagesComeWholeAndInOrder() throws {
        let (supervisor, worker) = try Self.channels()
        for id in UInt64(0)..<100 { #expect(supervisor.send(.ping(id: id)) == .sent) }
        for id in UInt64(0)..<100 { #expect(Self.message(worker.receive()) == .ping(id: id)) }
        #expect(Self.message(worker.receive()) == nil)
        #expect(worker.send(.alive(id: 1, stalled: [])) == .sent)
        #expect(Self.message(supervisor.receive(until: nil)) == .alive(id: 1, stalled: []))
    }

    @Test func descriptorsComeAlongAndAreClosedInOtherPrograms() throws {
        let (supervisor, worker) = try Self.channels()
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let sent = Array(repeating: ends[1], count: MessageCoding.mostDescriptors)
        #expect(supervisor.send(.ping(id: 1), descriptors: sent) == .sent)
        close(ends[1])
        guard case .message(_, let descriptors) = worker.receive() else {
            Issue.record("no message")
            return
        }
        #expect(descriptors.count == sent.count)
        #expect(descriptors.allSatisfy { fcntl($0.number, F_GETFD) == FD_CLOEXEC })
        let claimed = descriptors[3].claim()
        #expect(write(claimed, "x", 1) == 1)
        #expect(descriptors[3].number == -1 && descriptors[3].claim() == -1)
        close(claimed)
        close(ends[0])
    }

    @Test func unclaimedDescriptorsAreClosed() throws {
        let (supervisor, worker) = try Self.channels()
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        supervisor.send(.ping(id: 1), descriptors: [ends[1]])
        close(ends[1])
        _ = worker.receive()
        var byte: UInt8 = 0
        #expect(read(ends[0], &byte, 1) == 0, "no writing end is left")
        close(ends[0])
    }

    @Test func aQueuedMessageKeepsItsDescriptors() throws {
        let (supervisor, worker) = try Self.channels()
        var sent: UInt64 = 0
        while !supervisor.hasBacklog {
            #expect(supervisor.send(.ping(id: sent)) == .sent)
            sent += 1
        }
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        #expect(supervisor.send(.end, descriptors: [ends[1]]) == .sent)
        close(ends[1])
        for id in 0..<sent {
            #expect(Self.message(worker.receive()) == .ping(id: id))
            supervisor.flush()
        }
        guard case .message(.end, let descriptors) = worker.receive() else {
            Issue.record("the last message is missing")
            return
        }
        #expect(write(descriptors[0].number, "x", 1) == 1)
        close(ends[0])
    }

    @Test func expendableMessagesAreDroppedAndCountedWhenNobodyReads() throws {
        let (supervisor, worker) = try Self.channels()
        let event = WorkerMessage.event(stream: "a", StreamEvent(.message, String(repeating: "x", count: 10_000)))
        while worker.messagesLost == 0 { worker.send(event) }
        #expect(worker.send(event) == .lost)
        #expect(worker.messagesLost == 2)
        #expect(!worker.isClosed)
        // When the other end reads again, the channel goes on.
        var received = 0
        while let arrival = supervisor.receive() {
            #expect(Self.message(arrival) == event)
            received += 1
            worker.flush()
        }
        #expect(received > 0 && !worker.hasBacklog)
        #expect(worker.send(event) == .sent)
    }

    @Test func aMessageThatMustNotBeLostClosesTheChannelWhenNobodyReads() throws {
        let (supervisor, worker) = try Self.channels()
        var last = SupervisorChannel.Sent.sent
        for id in UInt64(0)..<100_000 where last == .sent { last = supervisor.send(.ping(id: id)) }
        #expect(last == .closed && supervisor.isClosed)
        #expect(supervisor.send(.end) == .closed)
        #expect(supervisor.messagesLost == 0)
        var arrival = worker.receive()
        while case .message = arrival { arrival = worker.receive() }
        guard case .closed = arrival else {
            Issue.record("the worker does not see the end")
            return
        }
    }

    @Test func aMessageThatIsTooLargeIsLostAndTheChannelGoesOn() throws {
        let (supervisor, worker) = try Self.channels()
        #expect(supervisor.send(.stop(stream: String(repeating: "x", count: 70_000))) == .lost)
        #expect(supervisor.messagesLost == 1)
        #expect(supervisor.send(.end) == .sent)
        #expect(Self.message(worker.receive()) == .end)
    }

    @Test func theLastMessagesOfAnEndThatIsGoneStillCome() throws {
        let (supervisor, end) = try SupervisorChannel.pair()
        let child = PacketSocket(owning: end.claim())
        supervisor.send(.ping(id: 1))  // never read: the kernel reports a reset
        #expect(child.send(Array(#"{"ended":{"stream":"a","code":0,"reason":""}}"#.utf8), []) == .sent)
        _ = consume child
        #expect(Self.message(supervisor.receive(until: nil)) == .ended(stream: "a", code: 0, reason: ""))
        guard case .closed = supervisor.receive(until: nil) else {
            Issue.record("no end")
            return
        }
        #expect(supervisor.send(.end) == .closed)
    }

    @Test func garbageIsAFaultAndTheNextMessageComes() throws {
        let (supervisor, end) = try SupervisorChannel.pair()
        let child = PacketSocket(owning: end.claim())
        var random = SplitMix64(seed: 1)
        for length in [1, 2, 17, 1000, MessageCoding.largestMessage] {
            let bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            #expect(child.send(bytes, []) == .sent)
            guard case .malformed = supervisor.receive() else {
                Issue.record("\(length) bytes of garbage are no fault")
                return
            }
        }
        #expect(child.send(Array(repeating: 32, count: MessageCoding.largestMessage + 1), [0]) == .sent)
        guard case .malformed = supervisor.receive() else {
            Issue.record("a packet that is too long is no fault")
            return
        }
        #expect(child.send(Array(#"{"hello":{"version":1}}"#.utf8), []) == .sent)
        #expect(Self.message(supervisor.receive()) == .hello(version: 1))
    }

    @Test func nothingLeaks() throws {
        let before = Self.openDescriptors
        for _ in 0..<50 {
            let (supervisor, worker) = try Self.channels()
            supervisor.send(.end, descriptors: [0, 1, 2])
            supervisor.send(.end, descriptors: [0, 1, 2])
            _ = worker.receive()
        }
        // Other tests run beside this one.
        #expect(Self.openDescriptors < before + 50)
    }

    @Test func theReceivingThreadSendsWhatWaits() throws {
        let (supervisor, worker) = try Self.channels()
        let count = UInt64(2_000)
        let thread = Thread {
            for id in 0..<count {
                _ = Self.message(worker.receive(until: nil)).map { _ in worker.send(.alive(id: id, stalled: [])) }
            }
        }
        thread.start()
        var answers: UInt64 = 0
        var asked: UInt64 = 0
        while answers < count {
            while asked < count, asked < answers + 100 {
                #expect(supervisor.send(.ping(id: asked)) == .sent)
                asked += 1
            }
            #expect(Self.message(supervisor.receive(until: nil)) == .alive(id: answers, stalled: []))
            answers += 1
        }
    }

    @Test func anotherThreadEndsTheWait() throws {
        let (supervisor, worker) = try Self.channels()
        worker.wake()
        #expect(Self.message(worker.receive(until: nil)) == nil)
        let closer = Thread { worker.close() }
        closer.start()
        guard case .closed = worker.receive(until: nil), case .closed = supervisor.receive(until: nil) else {
            Issue.record("both ends see that the channel is closed")
            return
        }
    }
}
