import CSRT
import CSRTArrival
import Endpoint
import Glibc
import Media
import Packets

/// Proves over loopback that `CSRTArrival` does all that early reading depends on: a caller that reads early receives a few
/// messages from a listener of its own.
enum ArrivalProof {
    enum Outcome: Hashable, Sendable {
        case proven
        case failed(String)
        /// The messages did not come: there may be no loopback here. Streams show the rest.
        case inconclusive
    }

    private static let messages = 16
    /// The source times of messages are so far apart: far more than it takes to send one after the other.
    private static let spacing: Int64 = 1_000  // µs
    private static let timeout = Nanoseconds.seconds(5)

    static func run(fault: burnish_srt_fault = burnish_srt_fault_none, isStopping: () -> Bool = { false }) -> Outcome {
        do throws(SRTFailure) {
            let listener = try listen()
            let signal = ReaderSignal()
            let tap = ArrivalTap(raising: signal, fault: fault)
            let calling = SRTEndpoint(mode: .caller, host: "127.0.0.1", port: listener.localPort)
            guard let address = SocketAddress.numeric(host: calling.host, port: calling.port) else { return .inconclusive }
            let port = try CallingPort(to: address, for: calling, tap: tap)
            let receiver = try port.call(address, for: calling, early: true)
            let limit = MonotonicTime.now() + timeout
            guard let sender = accept(from: listener, receiver, isOver: { isStopping() || .now() > limit }) else {
                return .inconclusive
            }
            let windowIsKnown = tap.windowOfPeer(of: receiver.id) >= 0
            let before = (time: MonotonicTime.now(), signals: signal.count)
            guard sendAll(over: sender) else { return .inconclusive }
            let findings = receive(from: receiver, tap, signal, since: before.time) { isStopping() || .now() > limit }
            guard findings.received == messages else { return .inconclusive }
            if findings.stamped < messages {
                return .failed("\(messages - findings.stamped) of \(messages) packets left no arrival stamp")
            }
            if findings.plausible < messages { return .failed("arrival stamps are wrong") }
            if signal.count == before.signals { return .failed("packets do not wake their reader") }
            if !windowIsKnown { return .failed("handshakes are not read") }
            if !findings.keepsSourceTimes { return .failed("handshakes are not completed: the sender gives no source times") }
            return .proven
        } catch {
            return .inconclusive
        }
    }

    private static func listen() throws(SRTFailure) -> SRTSocket {
        let listener = try SRTSocket()
        try listener.configure(for: SRTEndpoint(mode: .listener, host: "127.0.0.1", port: 0), early: false, tap: nil)
        guard let address = SocketAddress.numeric(host: "127.0.0.1", port: 0) else { throw .last }
        unsafe try listener.use(address, with: srt_bind)
        guard srt_listen(listener.id, 1) != SRT_ERROR else { throw .last }
        return listener
    }

    /// The listener's end of the connection; nil when it does not come about.
    private static func accept(
        from listener: borrowing SRTSocket, _ caller: borrowing SRTSocket, isOver: () -> Bool
    ) -> SRTSocket? {
        var accepted = SRT_INVALID_SOCK
        while true {
            if accepted < 0 { accepted = srt_accept(listener.id, nil, nil) }
            if accepted >= 0, case .connected = caller.progress { return SRTSocket(adopting: accepted) }
            var hasFailed = isOver()
            if case .failed = caller.progress { hasFailed = true }
            if hasFailed {
                if accepted >= 0 { srt_close(accepted) }
                return nil
            }
            (MonotonicTime.now() + SRTLink.attemptPollInterval).sleep()
        }
    }

    private static func sendAll(over sender: borrowing SRTSocket) -> Bool {
        let bytes = [CChar](repeating: 0, count: 188)
        let first = srt_connection_time(sender.id) + 1
        for index in 0..<messages {
            var control = unsafe SRT_MSGCTRL()
            unsafe srt_msgctrl_init(&control)
            unsafe control.srctime = first + Int64(index) * spacing
            guard unsafe srt_sendmsg2(sender.id, bytes, Int32(bytes.count), &control) != SRT_ERROR else { return false }
        }
        return true
    }

    private struct Findings {
        var received = 0
        var stamped = 0
        var plausible = 0
        var keepsSourceTimes = true
    }

    private static func receive(
        from receiver: borrowing SRTSocket, _ tap: ArrivalTap, _ signal: ReaderSignal, since start: MonotonicTime,
        isOver: () -> Bool
    ) -> Findings {
        var findings = Findings()
        var bytes = [CChar](repeating: 0, count: Message.largest)
        var first: (sequence: Int32, time: Int64)?
        while findings.received < messages && !isOver() {
            let seen = signal.count
            var control = unsafe SRT_MSGCTRL()
            unsafe srt_msgctrl_init(&control)
            guard unsafe srt_recvmsg2(receiver.id, &bytes, Int32(bytes.count), &control) > 0 else {
                signal.wait(seen, until: .now() + SRTFeed.pollInterval)
                continue
            }
            findings.received += 1
            let (sequence, time) = unsafe (control.pktseq, control.srctime)
            if let packet = tap.packet(sequence, of: receiver.id) {
                findings.stamped += 1
                let arrival = MonotonicTime(nanoseconds: packet.arrival_ns)
                if arrival >= start && arrival <= .now() { findings.plausible += 1 }
            }
            let origin = first ?? (sequence, time)
            first = origin
            let due = Int64(sequence &- origin.sequence) * spacing
            if abs(Int64(Int32(truncatingIfNeeded: time - origin.time)) - due) > spacing / 2 {
                findings.keepsSourceTimes = false
            }
        }
        return findings
    }
}
