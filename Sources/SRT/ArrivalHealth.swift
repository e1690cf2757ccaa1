import CSRT
import CSRTArrival
import Media
import Packets
import Synchronization

/// Whether `CSRTArrival` sees what libsrt receives, which early reading depends on. Thread-safe.
///
/// It is assumed to until the proof over loopback (``ArrivalProof``) or a stream's own packets show that it does not. From then
/// on no connection is read early, because without completed handshakes a sender neither sends source times nor keeps what
/// is late.
/// A connection that is being read early goes on, and its reader polls.
package final class ArrivalHealth: Sendable {
    /// The process's own.
    static let shared = ArrivalHealth()

    /// Breaks the taps of this health's legs. For tests.
    let fault: burnish_srt_fault
    private let reason = Lock<String?>(nil)
    private let hasFailed = Atomic<Bool>(false)
    private let isProven = Atomic<Bool>(false)
    private let isStopping = Atomic<Bool>(false)
    private let hasBegun = Atomic<Bool>(false)
    private let thread = Lock<StageThread?>(nil)

    /// - Parameter version: libsrt's, in the form of `srt_getversion`.
    init(fault: burnish_srt_fault = burnish_srt_fault_none, version: UInt32 = srt_getversion()) {
        self.fault = fault
        if !burnish_srt_knows_version(version) {
            fail("libsrt \(version >> 16).\(version >> 8 & 0xff).\(version & 0xff) is not a version whose calls are known")
        }
    }

    /// Why nothing can be read early; nil while nothing is known against it. Costs one atomic load then.
    var failure: String? { hasFailed.load(ordering: .acquiring) ? reason.withLock { $0 } : nil }

    var state: LegFigures.EarlyIngest {
        hasFailed.load(ordering: .acquiring) ? .failed : isProven.load(ordering: .acquiring) ? .proven : .unproven
    }

    /// The first reason stays.
    func fail(_ text: String) {
        reason.withLock { $0 = $0 ?? text }
        hasFailed.store(true, ordering: .releasing)
    }

    /// Begins the proof, once, on a thread of its own: nothing waits for it.
    func beginProof() {
        guard failure == nil, !hasBegun.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let health = self
        SRTLibrary.add(self)
        thread.withLock {
            $0 = StageThread(name: "srt-proof") {
                let outcome = ArrivalProof.run(fault: health.fault) { health.isStopping.load(ordering: .acquiring) }
                switch outcome {
                case .proven: health.isProven.store(true, ordering: .releasing)
                case .failed(let reason): health.fail(reason)
                case .inconclusive: break
                }
            }
        }
    }
}

extension ArrivalHealth: SRTLibraryUser {
    /// Ends the proof.
    func stop() {
        isStopping.store(true, ordering: .releasing)
        thread.withLock { $0.take() }?.join()
        SRTLibrary.remove(self)
    }
}
