import Endpoint
import Media

@testable import WebRTC

/// STUN as anybody can send it: to the reader, and to a port with one peer.
func fuzzSTUN(_ input: UnsafeRawBufferPointer) {
    withCopy(of: input) { bytes in
        let span = bytes.assumingMemoryBound(to: UInt8.self).span
        if let message = STUNMessage(reading: span) {
            if let username = message.username { touch(UnsafeRawBufferPointer(rebasing: bytes[username])) }
            _ = message.hasIntegrity(of: FuzzedCall.password.span, in: span)
        }
    }
    let call = FuzzedCall()
    call.receive(input)
}

/// DTLS records to a fresh server. The input is a number of datagrams: two bytes of length each.
func fuzzDTLS(_ input: UnsafeRawBufferPointer) {
    let call = FuzzedCall()
    call.check()
    var rest = input[...]
    while let low = rest.popFirst(), let high = rest.popFirst() {
        let datagram = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(low) | Int(high & 7) << 8))
        rest = rest.dropFirst(datagram.count)
        call.receive(datagram)
    }
}

/// Media to a session with known keys: the first byte says which profile and kind.
func fuzzSRTP(_ input: UnsafeRawBufferPointer) {
    guard let first = input.first else { return }
    let body = UnsafeRawBufferPointer(rebasing: input.dropFirst())
    let profile: SRTPProfile = first & 1 == 0 ? .aeadAES128GCM : .aes128CMSHA1
    guard var session = SRTPSession(profile, key: .init(repeating: 7), .inbound) else { fatalError("no session") }
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: body.count, alignment: 16)
    defer { copy.deallocate() }
    copy.copyMemory(from: body)
    if case .success(let count) = session.unprotect(first & 2 == 0 ? .rtp : .rtcp, copy) {
        precondition(count <= body.count, "longer than it was")
        touch(UnsafeRawBufferPointer(rebasing: copy[..<count]))
    }
}

/// A stream of packets with their lengths (RFC 4571), in parts. The first byte says how long a part is.
func fuzzFrames(_ input: UnsafeRawBufferPointer) {
    guard let first = input.first else { return }
    var reader = FrameReader()
    var rest = input.dropFirst()
    while !rest.isEmpty {
        let part = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(first) + 1))
        rest = rest.dropFirst(part.count)
        let goesOn = reader.read(part) { packet in
            precondition((1...FrameReader.largest).contains(packet.count), "no packet has this size")
            touch(UnsafeRawBufferPointer(packet))
        }
        guard goesOn else { return }
    }
}

/// An offer, by both rules, and the answer to it.
func fuzzOffer(_ input: UnsafeRawBufferPointer) {
    guard let description = try? SessionDescription(parsing: String(decoding: input, as: UTF8.self)) else { return }
    for kind in [CallKind.publisher, .viewer] {
        guard let offer = try? CallOffer(description, kind: kind, rules: .publisher) else { continue }
        let answer = PeerAnswer(
            credentials: FuzzedCall.credentials, fingerprint: FuzzedCall.identity.fingerprint, role: offer.request.role,
            candidates: [FuzzedCall.address])
        let text = offer.answer(answer, sending: CallSources(video: 1, videoRetransmission: 2, audio: 3)).text
        precondition((try? SessionDescription(parsing: text)) != nil, "our own answer cannot be read")
    }
}

/// A port with one peer, without a socket.
private final class FuzzedCall {
    static let identity = DTLSIdentity()!
    static let password = Array("theirpasswordthatislongenough".utf8)
    static let credentials = ICECredentials(userFragment: "wxyz", password: "theirpasswordthatislongenough")!
    static let address = PeerAddress(ipv4: 0x7f00_0001, port: 5000)
    private static let now = MonotonicTime(nanoseconds: 1_000_000_000)
    private var core = PeerCore(identity: identity, mostPeers: 1)
    private let local: ICECredentials

    private struct Nobody: PeerReceiver, DatagramOutput {
        func receive(_ kind: PacketKind, _ packet: UnsafeRawBufferPointer, arrival: MonotonicTime) {}
        func peerChanged(_ change: PeerChange) {}
        func send(_ datagram: UnsafeRawBufferPointer, to address: PeerAddress) -> Bool { true }
    }

    init() {
        let request = PeerRequest(credentials: Self.credentials, fingerprints: [Self.identity.fingerprint], role: .server)
        local = try! core.add(request, receiver: Nobody(), output: Nobody(), at: Self.now).1
    }

    func receive(_ datagram: UnsafeRawBufferPointer) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: datagram.count, alignment: 16)
        defer { copy.deallocate() }
        copy.copyMemory(from: datagram)
        precondition(core.receive(copy, from: Self.address, at: Self.now) == nil, "a packet without keys")
    }

    /// A check with the right password, so that the address is the peer's.
    func check() {
        var writer = STUNWriter(.request, transaction: .init(first: 1, rest: 2))
        writer.append(username: local.userFragment + ":wxyz")
        writer.append(controlling: 1)
        writer.appendUseCandidate()
        writer.appendIntegrity(password: Array(local.password.utf8).span)
        writer.finish().withUnsafeBytes { receive($0) }
    }
}
