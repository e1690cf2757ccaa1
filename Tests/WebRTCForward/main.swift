// Forwards one publisher's packets to all viewers: enough to prove a WebRTC port with real browsers (tools/check/webrtc). Not part of
// the product.
//
// Commands on standard input: `publish BYTES` or `watch BYTES`, and an offer of so many bytes behind the line. Each is answered on
// standard output by `ok BYTES` and the answer, or by `fault TEXT`. `figures` gives a line of counters. The end of the input ends
// the program with goodbyes.
import Endpoint
import Foundation
import Media
import WebRTC

/// Where the publisher's packets go.
final class Forwarder: Sendable {
    struct Viewer {
        var peer: Peer
        var tracks: [CallTrack]
    }
    struct State {
        var viewers: [Viewer] = []
        var publisher: (peer: Peer, tracks: [CallTrack])?
        var pictureSource: UInt32?
        var received = 0
        var forwarded = 0
        var events: [String] = []
    }
    let state = Lock(State())
    static let sources = CallSources(video: 1111, videoRetransmission: 1112, audio: 2222)

    func forward(_ packet: UnsafeRawBufferPointer) {
        // The publisher's header extensions have their own numbers, and name their own sections: they stay here.
        guard let payload = Self.payload(of: packet) else { return }
        let type = packet[1] & 0x7f
        state.withLock { state in
            guard let track = state.publisher?.tracks.first(where: { $0.payloadType == type }) else { return }
            if track.kind == .video { state.received += 1 }
            if track.kind == .video { state.pictureSource = packet.loadUnaligned(fromByteOffset: 8, as: UInt32.self).bigEndian }
            for viewer in state.viewers {
                guard let to = viewer.tracks.first(where: { $0.kind == track.kind && $0.encoding == track.encoding }) else {
                    continue
                }
                let count = 12 + packet.count - payload
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count + Peer.trailerRoom, alignment: 16)
                defer { buffer.deallocate() }
                buffer.copyBytes(from: packet[..<12])
                UnsafeMutableRawBufferPointer(rebasing: buffer[12...]).copyBytes(from: packet[payload...])
                // Version 2 and the padding's bit.
                buffer[0] = packet[0] & 0xe0
                buffer[1] = packet[1] & 0x80 | to.payloadType
                let source = track.kind == .video ? Self.sources.video : Self.sources.audio
                buffer.storeBytes(of: source.bigEndian, toByteOffset: 8, as: UInt32.self)
                if viewer.peer.send(.rtp, buffer, count: count) == .sent { state.forwarded += 1 }
            }
        }
    }

    /// Where the payload begins: behind the header, its sources and its extension.
    private static func payload(of packet: UnsafeRawBufferPointer) -> Int? {
        guard packet.count >= 12 else { return nil }
        let start = 12 + 4 * Int(packet[0] & 15)
        guard packet[0] & 0x10 != 0 else { return start <= packet.count ? start : nil }
        guard start + 4 <= packet.count else { return nil }
        let end = start + 4 + 4 * (Int(packet[start + 2]) << 8 | Int(packet[start + 3]))
        return end <= packet.count ? end : nil
    }

    /// A picture loss indication and an estimate of 2.5 Mb/s, without which a browser stays at its starting rate.
    func askForKeyframe() {
        let (publisher, source) = state.withLock { ($0.publisher?.peer, $0.pictureSource) }
        guard let publisher, let source else { return }
        let name = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: source >> $0) }
        let mantissa = 2_500_000 >> 6
        let report: [UInt8] = [0x80, 201, 0, 1, 0, 0, 0, 1]
        let loss: [UInt8] = [0x81, 206, 0, 2, 0, 0, 0, 1] + name
        let estimate: [UInt8] =
            [0x8f, 206, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0] + Array("REMB".utf8)
            + [1, UInt8(6 << 2 | mantissa >> 16), UInt8(mantissa >> 8 & 255), UInt8(mantissa & 255)] + name
        var packet = report + loss + estimate + [UInt8](repeating: 0, count: Peer.trailerRoom)
        let count = packet.count - Peer.trailerRoom
        _ = packet.withUnsafeMutableBytes { publisher.send(.rtcp, $0, count: count) }
    }
}

struct ForwardingReceiver: PeerReceiver {
    let kind: CallKind
    let forwarder: Forwarder

    func receive(_ packetKind: PacketKind, _ packet: UnsafeRawBufferPointer, arrival: MonotonicTime) {
        switch (kind, packetKind) {
        case (.publisher, .rtp): forwarder.forward(packet)
        // A viewer's picture loss indication.
        case (.viewer, .rtcp):
            var at = 0
            while at + 4 <= packet.count {
                if packet[at + 1] == 206, [1, 4].contains(packet[at] & 31) { forwarder.askForKeyframe() }
                at += 4 * (Int(packet[at + 2]) << 8 | Int(packet[at + 3])) + 4
            }
        default: break
        }
    }

    func peerChanged(_ change: PeerChange) {
        let line = "\(kind) \(change)"
        forwarder.state.withLock { $0.events.append(line) }
        FileHandle.standardError.write(Data((line + "\n").utf8))
        if case .connected = change { forwarder.askForKeyframe() }
    }
}

let host = CommandLine.arguments.dropFirst().first ?? "127.0.0.1"
guard let local = PeerAddress(host: host, port: 0), let identity = DTLSIdentity() else {
    FileHandle.standardError.write(Data("usage: webrtc-forward [ADDRESS]\n".utf8))
    exit(64)
}
let port = try WebRTCPort(.init(local: local), identity: identity)
port.start()
let forwarder = Forwarder()

func answer(_ kind: CallKind, _ text: String) -> String {
    do {
        let offer = try CallOffer(
            try SessionDescription(parsing: text), kind: kind,
            rules: kind == .publisher ? .publisher : CallRules(video: [.h264, .vp8]))
        let (peer, transport) = try port.add(offer.request, receiver: ForwardingReceiver(kind: kind, forwarder: forwarder))
        forwarder.state.withLock { state in
            if kind == .publisher {
                state.publisher = (peer, offer.tracks)
            } else {
                state.viewers.append(.init(peer: peer, tracks: offer.tracks))
            }
        }
        let answer = offer.answer(transport, sending: Forwarder.sources).text
        return "ok \(answer.utf8.count)\n\(answer)"
    } catch {
        return "fault \(error)\n"
    }
}

/// Once a second, so that a browser that publishes is asked for a keyframe and told a rate.
let reports = StageThread(name: "reports") {
    while true {
        (MonotonicTime.now() + .seconds(1)).sleep()
        forwarder.askForKeyframe()
    }
}
reports.detach()

while let line = readLine() {
    let words = line.split(separator: " ")
    guard let command = words.first else { continue }
    let reply: String
    switch command {
    case "publish", "watch":
        let count = words.count > 1 ? Int(words[1]) ?? 0 : 0
        let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: getchar()) }
        reply = answer(command == "publish" ? .publisher : .viewer, String(decoding: bytes, as: UTF8.self))
    case "figures":
        let (received, forwarded, events) = forwarder.state.withLock { ($0.received, $0.forwarded, $0.events.count) }
        reply = "received \(received) forwarded \(forwarded) events \(events) peers \(port.peerCount) \(port.counts())\n"
    default: reply = "fault unknown command\n"
    }
    FileHandle.standardOutput.write(Data(reply.utf8))
}
port.close()
