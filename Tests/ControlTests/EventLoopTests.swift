import Glibc
import Media
import Testing

@testable import Control

@Suite(.timeLimit(.minutes(10))) struct EventLoopTests {
    /// An actor on a loop of its own.
    private actor Counter {
        nonisolated let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        private(set) var bytes = 0
        private var waiters: [(Int, CheckedContinuation<Void, Never>)] = []

        init(_ name: String) { loop = EventLoop(name: name) }

        var thread: pthread_t { pthread_self() }

        func count(from descriptor: Int32) {
            loop.watch(descriptor) { [weak self] _ in self?.assumeIsolated { $0.read(descriptor) } }
        }

        private func read(_ descriptor: Int32) {
            var buffer = [UInt8](repeating: 0, count: 1000)
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count <= 0 { return loop.forget(descriptor) }
            bytes += count
            for (limit, waiter) in waiters where bytes >= limit { waiter.resume() }
            waiters.removeAll { bytes >= $0.0 }
        }

        func wait(for limit: Int) async {
            if bytes < limit { await withCheckedContinuation { waiters.append((limit, $0)) } }
        }
    }

    private func pipes() -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        _ = pipe(&ends)
        return (ends[0], ends[1])
    }

    @Test func theActorRunsOnTheLoopsThread() async {
        let counter = Counter("loop-test")
        let first = await counter.thread
        for _ in 0..<100 { #expect(pthread_equal(await counter.thread, first) != 0) }
        #expect(pthread_equal(pthread_self(), first) == 0)
        counter.loop.stop()
    }

    @Test func descriptorsAreServedBetweenJobs() async {
        let counter = Counter("loop-test")
        let (read, write) = pipes()
        await counter.count(from: read)
        for _ in 0..<1000 { _ = Glibc.write(write, "0123456789", 10) }
        await counter.wait(for: 10_000)
        #expect(await counter.bytes == 10_000)
        close(write)
        close(read)
        counter.loop.stop()
    }

    @Test func theTimerRunsOnceAndTheLastOneCounts() async {
        let loop = EventLoop(name: "loop-test")
        let never = Lock(0)
        let order = await withCheckedContinuation { (done: CheckedContinuation<Int, Never>) in
            loop.setTimer(at: .now() + .seconds(3600)) { never.withLock { $0 += 1 } }
            loop.setTimer(at: .now()) { done.resume(returning: 1) }
        }
        #expect(order == 1 && never.withLock { $0 } == 0)
        loop.stop()
    }

    @Test func aSourceThatAHandlerForgetsIsNotCalled() async {
        let loop = EventLoop(name: "loop-test")
        let (a, b) = (pipes(), pipes())
        let calls = Lock(0)
        // Both are ready before the loop begins. Whoever is called first has the other forgotten.
        for pair in [a, b] { _ = Glibc.write(pair.write, "x", 1) }
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            loop.execute {
                for (own, other) in [(a.read, b.read), (b.read, a.read)] {
                    loop.watch(own) { _ in
                        calls.withLock { $0 += 1 }
                        loop.forget(own)
                        loop.forget(other)
                        loop.setTimer(at: .now()) { done.resume() }
                    }
                }
            }
        }
        #expect(calls.withLock { $0 } == 1)
        loop.stop()
        for pair in [a, b] {
            close(pair.read)
            close(pair.write)
        }
    }

    @Test func jobsThatComeAfterTheEndStillRun() async {
        let counter = Counter("loop-test")
        _ = await counter.bytes
        counter.loop.stop()
        for _ in 0..<100 { #expect(await counter.bytes == 0) }
    }
}

@Suite(.timeLimit(.minutes(10))) struct NameResolverTests {
    @Test func theSystemIsAsked() async {
        let answer = await withCheckedContinuation { done in
            NameService().resolve("localhost", for: 1) { done.resume(returning: $0) }
        }
        #expect(answer.addresses.contains("127.0.0.1") || answer.addresses.contains("::1"))
        #expect(answer.fault == nil)
    }

    @Test func addressesAreTheirOwnAnswer() async {
        for address in ["192.0.2.7", "2001:db8::7"] {
            let answer = NameService.lookUp(address)
            #expect(answer.addresses == [address] || answer.fault != nil, "a machine without IPv6 has none")
        }
    }

    @Test func whatHangsIsBounded() async {
        let gate = Lock(false)
        let resolver = NameService { host in
            while !gate.withLock({ $0 }) { sched_yield() }
            return NameService.Answer(addresses: [host])
        }
        let (answers, continuation) = AsyncStream.makeStream(of: NameService.Answer.self)
        let most = NameService.mostThreads + NameService.mostWaiting
        // Threads fetch what they work on at some time, so up to as many more find room.
        for index in 0..<2 * most { resolver.resolve("host-\(index)", for: index) { continuation.yield($0) } }
        gate.withLock { $0 = true }
        var (good, bad) = (0, 0)
        for await answer in answers {
            if answer.fault == nil { good += 1 } else { bad += 1 }
            if good + bad == 2 * most { break }
        }
        #expect(good >= NameService.mostWaiting && good <= most && bad == 2 * most - good)
    }

    @Test func aWorkerThatAsksAgainAndAgainLeavesRoomForTheOthers() async {
        let gate = Lock(false)
        let resolver = NameService { host in
            while !gate.withLock({ $0 }) { sched_yield() }
            return NameService.Answer(addresses: [host])
        }
        let (answers, continuation) = AsyncStream.makeStream(of: NameService.Answer.self)
        for index in 0..<1000 { resolver.resolve("host-\(index)", for: 1) { continuation.yield($0) } }
        let other = await withCheckedContinuation { done in
            resolver.resolve("other", for: 2) { done.resume(returning: $0) }
            gate.withLock { $0 = true }
        }
        #expect(other.addresses == ["other"])
        var good = 0
        var count = 0
        for await answer in answers {
            if answer.fault == nil { good += 1 }
            count += 1
            if count == 1000 { break }
        }
        #expect(good == NameService.mostOfAWorker)
        // When they are answered it may ask again.
        let again = await withCheckedContinuation { done in
            resolver.resolve("again", for: 1) { done.resume(returning: $0) }
        }
        #expect(again.addresses == ["again"])
    }
}
