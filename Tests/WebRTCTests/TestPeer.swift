import Media
import Synchronization
import Testing

@testable import WebRTC

/// The other side of a call, as a browser is one: it sends checks, nominates, and begins the handshake or waits for it. Without a
/// socket: what it sends is fetched.
final class TestPeer {
    private(set) var credentials = ICECredentials(userFragment: "wxyz", password: "theirpasswordthatislongenough")!
    let identity: DTLSIdentity
    let address: PeerAddress
    let role: DTLSRole
    private var dtls: DTLSConnection
    private var outbound: SRTPSession?
    private var inbound: SRTPSession?
    private(set) var state = DTLSConnection.State.pending
    private(set) var answers: [STUNMessage] = []
    private(set) var packets: [(kind: PacketKind, bytes: [UInt8])] = []
    private var transaction: UInt64 = 0
    /// Our check was not answered yet.
    var remote: ICECredentials!
    private var hasBegun = false

    /// - Parameter role: the peer's.
    init(_ role: DTLSRole, to fingerprint: Fingerprint, at address: PeerAddress) {
        self.role = role
        self.address = address
        identity = DTLSIdentity()!
        dtls = DTLSConnection(identity, role: role, fingerprints: [fingerprint])!
    }

    /// What its offer says.
    var request: PeerRequest {
        PeerRequest(credentials: credentials, fingerprints: [identity.fingerprint], role: role == .client ? .server : .client)
    }

    /// Names for a restart.
    func rename(_ number: Int = 1) {
        credentials = ICECredentials(userFragment: "next\(number)", password: "theirnextpasswordislongenough\(number)")!
    }

    func check(nominates: Bool = true) -> [UInt8] {
        transaction += 1
        var writer = STUNWriter(.request, transaction: .init(first: 1, rest: transaction))
        writer.append(username: remote.userFragment + ":" + credentials.userFragment)
        writer.append(controlling: 42)
        if nominates { writer.appendUseCandidate() }
        writer.append(priority: 0x6e00_01ff)
        writer.appendIntegrity(password: Array(remote.password.utf8).span)
        return writer.finish()
    }

    /// Reads a datagram; what it leads to.
    func receive(_ datagram: [UInt8]) -> [[UInt8]] {
        switch datagram.first ?? 255 {
        case 0...3:
            guard let message = STUNMessage(reading: datagram.span) else { return [] }
            if message.kind == .request { return [answer(message)] }
            answers.append(message)
            guard message.kind == .success, !hasBegun, role == .client else { return [] }
            hasBegun = true
            return advance()
        case 20...63:
            state = datagram.withUnsafeBytes { unsafe dtls.receive($0) }
            return flush()
        default:
            var bytes = datagram
            let kind: PacketKind = 192...223 ~= bytes[1] ? .rtcp : .rtp
            let count = bytes.withUnsafeMutableBytes { buffer in
                if case .success(let count) = unsafe inbound?.unprotect(kind, buffer) { count } else { 0 }
            }
            if count > 0 { packets.append((kind, Array(bytes[..<count]))) }
            return []
        }
    }

    private func answer(_ message: STUNMessage) -> [UInt8] {
        var writer = STUNWriter(.success, transaction: message.transaction)
        writer.append(mapped: address)
        writer.appendIntegrity(password: Array(credentials.password.utf8).span)
        return writer.finish()
    }

    /// Begins the handshake, or repeats a flight.
    func advance() -> [[UInt8]] {
        state = dtls.advance()
        return flush()
    }

    func close() -> [[UInt8]] {
        dtls.close()
        return flush()
    }

    private func flush() -> [[UInt8]] {
        if state == .connected, outbound == nil, let keys = dtls.exportKeys() {
            outbound = SRTPSession(keys.profile, key: keys.local, .outbound)
            inbound = SRTPSession(keys.profile, key: keys.remote, .inbound)
        }
        var all: [[UInt8]] = []
        while let datagram = dtls.nextDatagram() { all.append(datagram) }
        return all
    }

    func protect(_ kind: PacketKind, _ packet: [UInt8]) -> [UInt8] {
        var bytes = packet + [UInt8](repeating: 0, count: SRTPSession.trailerRoom)
        let count = bytes.withUnsafeMutableBytes { unsafe outbound!.protect(kind, $0, count: packet.count)! }
        return Array(bytes[..<count])
    }

    static func rtp(sequence: UInt16, source: UInt32 = 0x1234_5678, payload: [UInt8] = [1, 2, 3]) -> [UInt8] {
        let source = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: source >> $0) }
        return [0x80, 96, UInt8(sequence >> 8), UInt8(sequence & 255), 0, 0, 0, 1] + source + payload
    }

    static let header: [UInt8] = [0x80, 96, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5]

    /// A receiver report without blocks.
    static let report: [UInt8] = [0x80, 201, 0, 1, 0x12, 0x34, 0x56, 0x78]
}

/// Keeps what a peer's receiver is told.
final class RecordingReceiver: PeerReceiver {
    struct Record {
        var packets: [(kind: PacketKind, bytes: [UInt8])] = []
        var changes: [PeerChange] = []
    }
    let record = Lock(Record())

    func receive(_ kind: PacketKind, _ packet: UnsafeRawBufferPointer, arrival: MonotonicTime) {
        let bytes = Array(packet)
        record.withLock { $0.packets.append((kind, bytes)) }
    }
    func peerChanged(_ change: PeerChange) { record.withLock { $0.changes.append(change) } }
    var changes: [PeerChange] { record.withLock { $0.changes } }
    var packetCount: Int { record.withLock { $0.packets.count } }
}

/// Keeps what a peer sends.
final class RecordingOutput: DatagramOutput {
    let datagrams = Lock<[(bytes: [UInt8], address: PeerAddress)]>([])
    func send(_ datagram: UnsafeRawBufferPointer, to address: PeerAddress) -> Bool {
        let bytes = Array(datagram)
        datagrams.withLock { $0.append((bytes, address)) }
        return true
    }
    func drain() -> [(bytes: [UInt8], address: PeerAddress)] {
        datagrams.withLock { all in
            let drained = all
            all = []
            return drained
        }
    }
}
