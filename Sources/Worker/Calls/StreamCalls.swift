import Endpoint
import Media
import Packets
import Relay
import Transport
import WebRTC
import WorkerProtocol

/// The WebRTC calls of one stream: its UDP port, its publisher, and its viewers. Thread-safe.
final class StreamCalls: Sendable {
    private struct State {
        /// Every call that was answered and is not over.
        var peers: [UInt64: Peer] = [:]
        /// What answers to their restarts begin with.
        var restarts: [UInt64: RestartFragment] = [:]
        /// Those that are connected.
        var connected: [UInt64: Connected] = [:]
        /// The viewers' ends.
        var views: [UInt64: ViewerCall] = [:]
        /// Viewers whose programs show nothing but what the one more encode makes: VP8, or constrained baseline.
        var inVP8: Set<UInt64> = []
        var inBaseline: Set<UInt64> = []
        var publisher: UInt64?
        var viewers = 0
        var isClosed = false
    }

    private struct Connected {
        var side: CallSide
        var address: String
        var since: MonotonicTime
    }

    private let port: WebRTCPort
    private let inbox: CallInbox?
    /// The bits a second with which a publisher begins.
    private let startRate: Int
    /// Of each output that is called, by its place.
    private let outputs: [Int: RTPViewers]
    private let mostViewers: Int
    private let viewerRules: CallRules
    private let state = Lock(State())
    private let changed: @Sendable (UInt64, CallSide, PeerChange) -> Void
    private let remark: @Sendable (CallSide, String) -> Void

    /// The most bits a second with which a publisher begins. Left to itself Chromium begins with 300,000, and therefore sends 320x180
    /// of a camera's 640x360 for its first eight seconds. A network that cannot carry it shows that within a second.
    static let mostAtStart = 1_000_000

    /// A publisher of whom nothing has come for so long gives way to another one, as an SRT caller does. Only somebody who wants their
    /// place takes it: a browser that sends nothing now, not even reports, keeps it otherwise.
    static let silenceTimeout = Nanoseconds.seconds(1)
    private let silenceTimeout: Nanoseconds

    /// Opens the port.
    /// - Parameters:
    ///   - configuration: gets the source and the sinks of its legs that are called.
    ///   - silenceTimeout: tests have another one.
    ///   - remark: called with one line for people where a call has come about that may not be what its peer wants.
    ///   - changed: called with each change of a call, on the port's thread.
    /// - Returns: nil when none of the legs is called.
    init?(
        _ configuration: inout RelayConfiguration, identity: DTLSIdentity,
        silenceTimeout: Nanoseconds = StreamCalls.silenceTimeout,
        remark: @escaping @Sendable (CallSide, String) -> Void = { _, _ in },
        changed: @escaping @Sendable (UInt64, CallSide, PeerChange) -> Void
    ) throws(TransportError) {
        var endpoints: [CallEndpoint] = []
        var startRate = Self.mostAtStart
        if case .call(let endpoint) = configuration.input {
            endpoints.append(endpoint)
            if let most = endpoint.bitRate { startRate = min(startRate, most) }
        }
        var outputs: [Int: RTPViewers] = [:]
        for (index, url) in configuration.outputs.enumerated() {
            guard case .call(let endpoint) = url else { continue }
            endpoints.append(endpoint)
            outputs[index] = RTPViewers(capacity: url.readers)
        }
        guard let first = endpoints.first else { return nil }
        let number = endpoints.lazy.map(\.port).first { $0 > 0 } ?? 0
        port = try Self.open(
            number, endpoints.flatMap(\.addresses), place: "\(first)", identity, listener: configuration.callListener)
        self.outputs = outputs
        self.startRate = startRate
        self.changed = changed
        self.remark = remark
        self.silenceTimeout = silenceTimeout
        mostViewers = outputs.values.map(\.capacity).min() ?? 0
        viewerRules = configuration.servesVP8 ? .anyViewer : .viewer
        if case .call = configuration.input {
            let inbox = CallInbox()
            self.inbox = inbox
            configuration.inputCall = Source(calls: configuration.input, over: inbox)
        } else {
            inbox = nil
        }
        for (index, viewers) in outputs {
            configuration.outputCalls[index] = Sink(configuration.outputs[index], viewers: viewers)
        }
        port.start()
    }

    var localPort: UInt16 { port.local.port }

    /// Listens on all addresses of both families, or of IPv4 where there is no other.
    private static func open(
        _ number: UInt16, _ addresses: [String], place: String, _ identity: DTLSIdentity, listener: SharedDescriptor?
    ) throws(TransportError) -> WebRTCPort {
        let advertised = addresses.compactMap { PeerAddress(host: $0, port: 0) }
        func open(_ local: PeerAddress) throws(TransportError) -> WebRTCPort {
            try WebRTCPort(
                .init(local: local, advertised: advertised, mostPeers: CallEndpoint.mostViewers + 1), identity: identity,
                listener: listener)
        }
        do throws(TransportError) {
            return try open(PeerAddress(ipv6: 0, 0, port: number))
        } catch {
            return try open(PeerAddress(ipv4: 0, port: number))
        }
    }

    /// Answers an offer.
    /// - Parameter now: how long others have been silent is counted until then.
    func answer(_ offer: OfferedCall, at now: MonotonicTime = .now()) -> Result<String, CallRefusal> {
        do throws(CallRefusal) {
            let description: SessionDescription
            do throws(SDPFault) {
                description = try SessionDescription(parsing: offer.description)
            } catch {
                throw CallRefusal(.malformed, "the offer cannot be read: \(error)")
            }
            let rules = offer.side == .publish ? CallRules.publisher : try rules(for: offer)
            let call: CallOffer
            do throws(OfferFault) {
                call = try CallOffer(
                    description, kind: offer.side == .publish ? .publisher : .viewer, rules: rules)
            } catch {
                throw CallRefusal(.unacceptable, error.description)
            }
            try reserve(offer, at: now)
            let answer = try offer.side == .publish ? publish(offer.number, call) : watch(offer, call)
            if offer.layer != .sound, let reason = call.refusedPicture { refusePicture(of: offer, reason) }
            return .success(answer)
        } catch {
            return .failure(error)
        }
    }

    /// What a viewer may get. There is at most one more encode: who came first has it.
    private func rules(for viewer: OfferedCall) throws(CallRefusal) -> CallRules {
        if viewer.layer == .sound { return .listener }
        let (hasVP8, hasBaseline) = state.withLock { (!$0.inVP8.isEmpty, !$0.inBaseline.isEmpty) }
        guard viewer.profile == .baseline else { return hasBaseline ? .viewer : viewerRules }
        guard !hasVP8 else {
            throw CallRefusal(
                .noRoom,
                "the stream's one more encode makes VP8 for another viewer now: try again later, or without profile=baseline")
        }
        return .baselineViewer
    }

    /// Takes a place, which is free again when the call has ended or has not come about.
    private func reserve(_ offer: OfferedCall, at now: MonotonicTime) throws(CallRefusal) {
        var gone: Peer?
        let refusal: CallRefusal? = state.withLock { state in
            if state.isClosed { return CallRefusal(.unavailable, "the stream ends") }
            if offer.side == .publish {
                if let former = state.publisher {
                    // It is between its admission and its place among the peers.
                    guard let peer = state.peers[former] else { return Self.occupied(by: nil, silence: nil) }
                    let silence = port.silence(of: peer, at: now)
                    guard offer.takesOver || silence.map({ $0 > silenceTimeout }) ?? true else {
                        return Self.occupied(by: peer.address, silence: silence)
                    }
                    gone = peer
                }
                state.publisher = offer.number
            } else {
                if state.viewers >= mostViewers {
                    return CallRefusal(.noRoom, "\(mostViewers) watch already, as many as viewers= allows: try again later")
                }
                state.viewers += 1
            }
            return nil
        }
        if let refusal { throw refusal }
        if let gone { port.close(gone) }
    }

    /// The call has sound alone, although a picture was offered. Its peer need not notice.
    private func refusePicture(of offer: OfferedCall, _ reason: String) {
        if offer.side == .publish {
            inbox?.countRefusedPicture()
            remark(.publish, "input: call \(offer.number) publishes sound alone: \(reason)")
        } else {
            outputs.min(by: { $0.key < $1.key })?.value.countRefusedPicture()
            remark(.play, "the viewer of call \(offer.number) gets sound alone: \(reason)")
        }
    }

    private static func occupied(by address: PeerAddress?, silence: Nanoseconds?) -> CallRefusal {
        let who = address.map { "\($0)" } ?? "somebody who connects just now"
        let heard = silence.map { silence in
            let tenths = max(0, silence.count / 100_000_000)
            return ", heard \(tenths / 10).\(tenths % 10) s ago"
        }
        return CallRefusal(
            .occupied,
            "\(who) publishes to this stream\(heard ?? ""): try again in a second, or take their place with ?takeover=true")
    }

    private func publish(_ number: UInt64, _ offer: CallOffer) throws(CallRefusal) -> String {
        guard let inbox else {
            release(number, .publish)
            throw CallRefusal(.unavailable, "the stream's input is not whip:")
        }
        // Pictures first: they keep the time.
        let tracks = offer.tracks.sorted { $0.kind == .video && $1.kind != .video }.map { RTPTrack(receiving: $0) }
        let call = PublisherCall(inbox, tracks) { [weak self] in self?.follow(number, .publish, $0) }
        let (peer, transport) = try add(number, .publish, offer, call)
        call.use(peer)
        return offer.answer(transport, startRate: startRate, session: number).text
    }

    private func watch(_ offered: OfferedCall, _ offer: CallOffer) throws(CallRefusal) -> String {
        let number = offered.number
        // All outputs of a stream get the same.
        guard let viewers = outputs.min(by: { $0.key < $1.key })?.value else {
            release(number, .play)
            throw CallRefusal(.unavailable, "the stream has no output of whep:")
        }
        let name = RTPReceiveSession.randomName()
        var sources = CallSources(video: 0, videoRetransmission: 0, audio: 0, name: name)
        let tracks = offer.tracks.map { track in
            var new = RTPTrack(sending: track)
            if track.kind == .video, offered.profile == .baseline { new.formats[0].isBaseline = true }
            if track.kind == .video {
                (sources.video, sources.videoRetransmission) = (new.source ?? 0, new.retransmissionSource ?? 0)
            } else {
                sources.audio = new.source ?? 0
            }
            return new
        }
        let call = ViewerCall(viewers, tracks, name: name, layer: offered.layer) { [weak self] in
            self?.follow(number, .play, $0)
        }
        let (peer, transport) = try add(number, .play, offer, call)
        call.use(peer)
        state.withLock { state in
            guard state.peers[number] != nil else { return }
            state.views[number] = call
            guard let format = tracks.first(where: \.isVideo)?.formats[0] else { return }
            if format.codec == .vp8 { state.inVP8.insert(number) }
            if format.isBaseline { state.inBaseline.insert(number) }
        }
        return offer.answer(transport, sending: sources, session: number).text
    }

    private func add(
        _ number: UInt64, _ side: CallSide, _ offer: CallOffer, _ receiver: any PeerReceiver
    ) throws(CallRefusal) -> (Peer, PeerAnswer) {
        do throws(PeerRefusal) {
            let (peer, answer) = try port.add(offer.request, receiver: receiver)
            state.withLock {
                $0.peers[number] = peer
                $0.restarts[number] = RestartFragment(offer)
            }
            return (peer, answer)
        } catch {
            release(number, side)
            switch error {
            case .full: throw CallRefusal(.noRoom, "\(error): try again later")
            case .noFingerprint: throw CallRefusal(.unacceptable, "\(error)")
            case .library, .closed: throw CallRefusal(.unavailable, "\(error)")
            }
        }
    }

    /// Begins an ICE restart of a call, which goes on where it is until its peer has moved.
    func restart(_ call: RestartedCall) -> Result<String, CallRefusal> {
        guard let credentials = ICECredentials(userFragment: call.userFragment, password: call.password) else {
            return .failure(CallRefusal(.malformed, "the restart has no valid a=ice-ufrag and a=ice-pwd"))
        }
        let (peer, fragment) = state.withLock { ($0.peers[call.number], $0.restarts[call.number]) }
        guard let peer, let fragment, let answer = port.restart(peer, credentials) else { return .failure(Self.over) }
        return .success(fragment.text(answer))
    }

    static let over = CallRefusal(.over, "there is no such call, or it is over")

    private func follow(_ number: UInt64, _ side: CallSide, _ change: PeerChange) {
        switch change {
        case .connected(let address, _):
            state.withLock { $0.connected[number] = Connected(side: side, address: "\(address)", since: .now()) }
        case .moved(let address): state.withLock { $0.connected[number]?.address = "\(address)" }
        case .ended: release(number, side)
        }
        changed(number, side, change)
    }

    private func release(_ number: UInt64, _ side: CallSide) {
        state.withLock { state in
            state.peers[number] = nil
            state.restarts[number] = nil
            state.connected[number] = nil
            state.views[number] = nil
            state.inVP8.remove(number)
            state.inBaseline.remove(number)
            if side == .play { state.viewers -= 1 } else if state.publisher == number { state.publisher = nil }
        }
    }

    /// The calls that are connected. The figures of a publisher are those of the stream's input.
    var callers: [Caller] {
        let (connected, views) = state.withLock { ($0.connected, $0.views) }
        return connected.sorted { $0.key < $1.key }.map { number, call in
            let isPublisher = call.side == .publish
            var caller = Caller(
                id: Caller.firstCall | number, leg: isPublisher ? .input : .output, transport: isPublisher ? .whip : .whep,
                peer: call.address, streamID: "", connectedAt: call.since.nanoseconds)
            if let viewer = views[number]?.present {
                caller.figures = viewer.statistics()
                let feedback = viewer.feedback
                caller.loss = feedback.fractionLost
                caller.layer = viewer.layer
                caller.capacity = (feedback.capacity ?? feedback.bitRate).map { Double($0) }
            }
            return caller
        }
    }

    /// Gives a viewer another layer from now on; nil is the one that their link carries. A call that is over is no fault.
    func choose(_ layer: ViewerLayer?, forCall number: UInt64) { state.withLock { $0.views[number] }?.choose(layer) }

    /// Ends a call. One that is over is no fault.
    func hangUp(_ number: UInt64) {
        if let peer = state.withLock({ $0.peers[number] }) { port.close(peer) }
    }

    /// Ends all calls: the peers know when this returns.
    func close() {
        state.withLock { $0.isClosed = true }
        port.close()
    }
}

extension RTPTrack {
    /// What a publisher sends.
    init(receiving track: CallTrack) {
        self.init(track)
        layers =
            track.layers.count > 1
            ? track.layers.map { RTPLayer(name: $0) }
            : track.layerSources.map { RTPLayer(source: $0, retransmissionSource: track.retransmissionSources[$0]) }
        guard layers.count < 2 else { return }
        source = track.sources.first
        retransmissionSource = source.flatMap { track.retransmissionSources[$0] }
    }

    /// What a viewer gets, from sources of our own.
    init(sending track: CallTrack) {
        self.init(track)
        (source, retransmissionSource) = (.random(in: 1 ... .max), .random(in: 1 ... .max))
    }

    private init(_ track: CallTrack) {
        let codec: RTPFormat.Codec = track.kind == .audio ? .opus : track.encoding.lowercased() == "vp8" ? .vp8 : .h264
        self.init([
            RTPFormat(
                codec, payloadType: track.payloadType, clockRate: track.clockRate, channels: track.channels,
                retransmission: track.retransmissionPayloadType, redundancy: track.redundancyPayloadType)
        ])
        feedback = RTPFeedback(attributes: Array(track.feedback))
        extensions = RTPExtensionMap(track.extensions.map { SDPHeaderExtension(id: $1, uri: $0) })
        mid = track.mid
    }
}
