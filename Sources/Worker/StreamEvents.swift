import Endpoint
import Packets
import Relay
import WorkerProtocol

extension StreamURL {
    /// Whether its peers come by themselves.
    fileprivate var isCalled: Bool {
        switch self {
        case .srt(let endpoint): endpoint.mode == .listener
        case .call: true
        case .rtp, .sdp, .udp, .file, .standardStream: false
        }
    }
}

extension StreamEvent {
    /// A relay's event, as the supervisor's log and event list have it.
    /// - Parameter outputs: the relay's.
    init(_ event: RelayEvent, outputs: [StreamURL]) {
        let kind: Kind =
            switch event {
            case .input(.connected): .inputUp
            case .input(.disconnected): .inputDown
            case .input(.refused): .inputRefused
            case .loss: .inputGap
            case .output(.connected, _): .outputUp
            case .output(.disconnected, _): .outputDown
            case .output(.refused, _): .outputRefused
            case .picture: .picture
            case .recording: .recording
            case .recordingFailed: .recordingFailed
            default: .message
            }
        var isUsual = false
        // Those who call an output come and go as they like.
        if case .output(.disconnected, let number) = event, let url = outputs.dropFirst((number ?? 1) - 1).first {
            isUsual = url.isCalled
        }
        self.init(kind, "\(event)", isUsual: isUsual)
    }
}

extension StreamTrouble {
    init(_ trouble: RelayTrouble) {
        let kind: Kind =
            switch trouble.trouble.kind {
            case .unresolvable: .unresolvable
            case .unreachable: .unreachable
            case .refused: .refused
            case .callerRefused: .callerRefused
            case .unusable: .unusable
            case .broken: .broken
            }
        self.init(output: trouble.output, kind, trouble.trouble.text)
    }
}
